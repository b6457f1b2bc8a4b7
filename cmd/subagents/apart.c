/* apart.c - a sandbox of a subagent's own: filled, merged back, deleted. */
/* SPDX-License-Identifier: MIT */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "cmd/session/money.h"
#include "cmd/session/save.h"
#include "cmd/session/tree.h"
#include "cmd/subagents/subagents_impl.h"
#include "cmd/subagents/write_tree.h"
#include "git/merge.h"
#include "workspace/patch.h"
#include "workspace/select.h"
#include "workspace/send.h"

enum {
	NAMES_BYTES = 8 << 10,  /* of changed files, in a result */
	PATCH_BYTES = 40 << 10, /* of what could not be merged */
	BRING_MS = 120000,
	SAVE_MS = 30000,
	STOPPED_MS = 15000,      /* for all, once all were stopped, */
	STOPPED_SAVE_MS = 15000, /* and then for patches */
};

struct apart {
	struct run run; /* its host, its sandbox, what that costs */
	struct store *store;
	struct workspace theirs; /* of the parent's sandbox */
	struct workspace own;    /* of this one: in the same repository */
	char before[GIT_OID];    /* what both had at the beginning */
	bool has_client;
};

/* The parent's files are a tree that dcode sent to a sandbox of its own. */
static int find_tree(struct child *c, struct apart *a, struct error *err)
{
	struct run *r = c->run;
	int rc = 1;

	if (!(r->client.provider->flags & SANDBOX_UNISOLATED) &&
	    !r->box.sandbox.mounts.n && r->box.label[0])
		rc = tree_find(&a->theirs, r->app,
			       settings_cwd(r->app->settings), r->box.label,
			       &c->stop, err);
	if (rc <= 0)
		return rc;
	return error_set(err, ERR_USAGE,
			 "a subagent's own sandbox needs --sandbox with "
			 "--workspace repo");
}

static int fetch_tree(struct child *c, struct workspace *w, struct sandbox *sb,
		      char oid[GIT_OID], const struct stop *stop,
		      struct error *err)
{
	struct fetch_request with = { .sandbox = sb,
				      .include = c->run->options.include,
				      .n_include = c->run->options.n_include };
	struct fetch f = { 0 };
	int rc = tree_fetch_from(w, c->run->app, &with, &f, stop, err);

	if (rc == 0)
		memcpy(oid, f.theirs, GIT_OID);
	fetch_release(&f);
	return rc;
}

/* The user's tree, and then what the parent's sandbox has other than that. */
static int fill(void *arg, struct sandbox *sb, const struct stop *stop,
		struct error *err)
{
	struct child *c = arg;
	struct apart *a = c->apart;
	struct run *r = c->run;
	const char *home = settings_home(r->app->settings);
	const struct select_request q = { .home = home,
					  .include = r->options.include,
					  .n_include = r->options.n_include };
	const struct send_request send = { .sandbox = sb,
					   .home = home,
					   .include = r->options.include,
					   .n_include = r->options.n_include,
					   .mask = r->app->mask };
	struct selection s = { 0 };
	struct send_result sent = { 0 };
	char *state = app_state_path(r->app, "", err);
	int rc = state ? 0 : -1;

	pthread_mutex_lock(&c->all->merging);
	if (rc == 0)
		rc = workspace_open(&a->own, state, a->theirs.root,
				    a->run.box.label, stop, err);
	if (rc == 0)
		rc = select_files(&s, &a->own, &q, stop, err);
	if (rc == 0)
		rc = workspace_send(&a->own, &s, &send, &sent, stop, err);
	if (rc == 0) {
		struct write_tree w = { .git = &a->own.git,
					.before = a->own.base,
					.after = a->before,
					.sandbox = sb };

		rc = write_tree(&w, stop, err);
	}
	pthread_mutex_unlock(&c->all->merging);
	select_release(&s);
	free(state);
	return rc;
}

static void on_warning(void *arg, const char *line)
{
	(void)arg;
	app_warn_line(line);
}

static int open_box(struct child *c, struct error *err)
{
	struct run *r = c->run;
	struct apart *a = c->apart;
	const struct lifecycle_request request = {
		.client = &a->run.client,
		.store = a->store,
		.mask = r->app->mask,
		.snapshot = r->options.snapshot,
		.setup = r->options.setup,
		.network = r->options.network,
		.fill = fill,
		.fill_arg = c,
		.trust_project = r->options.trust_project,
		.on_exit = LIFECYCLE_DELETE,
		.ui = { .warn = on_warning, .arg = c },
	};
	struct stop limit = run_money_stop(&a->run, &c->stop);

	return lifecycle_open(&a->run.box, &request, &limit, err);
}

static int open_client(struct child *c, struct error *err)
{
	struct run *r = c->run;
	struct apart *a = c->apart;
	struct store *store;

	a->run.app = r->app;
	a->run.options.snapshot = r->options.snapshot;
	if (app_client(r->app, sandbox_client_name(&r->client), &a->run.client,
		       err) < 0)
		return -1;
	a->has_client = true;
	if (app_store(r->app, &store, err) < 0)
		return -1;
	a->store = store_again(store);
	return run_money_sandbox(&a->run, err);
}

int apart_open(struct child *c, struct error *err)
{
	struct apart *a = c->apart = xcalloc(1, sizeof(*a));
	int rc;

	pthread_mutex_lock(&c->all->merging);
	rc = find_tree(c, a, err);
	if (rc == 0)
		rc = fetch_tree(c, &a->theirs, &c->run->box.sandbox, a->before,
				&c->stop, err);
	pthread_mutex_unlock(&c->all->merging);
	pthread_mutex_lock(&c->all->opening);
	if (rc == 0)
		rc = open_client(c, err);
	pthread_mutex_unlock(&c->all->opening);
	if (rc == 0)
		rc = open_box(c, err);
	if (rc == 0)
		c->agent.sandbox = &a->run.box.sandbox;
	return rc;
}

static int on_patch(void *arg, struct str chunk, struct error *err)
{
	struct buf *out = arg;

	(void)err;
	if (out->len + chunk.len <= PATCH_BYTES)
		buf_addstr(out, chunk);
	return 0;
}

/* What both sides changed stays as the caller has it; the rest of the patch is
 * for him to see. */
static void add_conflicts(struct apart *a, const struct merge *m,
			  const char *mine, const struct stop *stop,
			  struct buf *out)
{
	struct buf patch = BUF_INIT(SIZE_MAX / 2);
	const struct patch_output to = { on_patch, &patch };
	struct error ignored = { 0 };

	buf_adds(out, "\n\nNot merged, because you changed the same; these "
		      "files keep your version.\n");
	for (size_t i = 0; i < m->n && out->len < out->max / 2; i++)
		buf_addf(out, "  %s (%s)\n", m->conflicts[i].path,
			 m->conflicts[i].kind);
	(void)patch_write(&a->own.git, a->before, mine, &to, stop, &ignored);
	buf_adds(out, "All changes of the subagent, as a patch:\n");
	buf_addstr(out, buf_str(&patch));
	buf_release(&patch);
}

/* As with any sandbox that goes before all of its work has come. out: is told
 * where, instead of the user. */
static void save(struct child *c, const struct stop *stop, struct buf *out)
{
	struct apart *a = c->apart;
	struct saved_work saved = { 0 };
	const struct save_terms terms = { .thread = a->run.box.label,
					  .name = a->run.box.label,
					  .quiet = out != NULL,
					  .stop = stop };

	if (save_is_on(c->run->app))
		save_sandbox(&saved, c->run->app, &a->own, &a->run.box.sandbox,
			     &terms);
	if (out && saved.patch)
		buf_addf(out, "\nThe user can find all of it in %s\n",
			 saved.patch);
	saved_work_release(&saved);
}

static int merge(struct child *c, const char *mine, const char *yours,
		 const struct stop *stop, struct buf *out, struct error *err)
{
	struct apart *a = c->apart;
	const struct merge_sides sides = { .base = a->before,
					   .ours = yours,
					   .theirs = mine };
	struct buf names = BUF_INIT(NAMES_BYTES);
	struct merge m = { 0 };
	struct write_tree w = { .git = &a->own.git,
				.before = yours,
				.after = m.tree,
				.skip = &m,
				.sandbox = &c->run->box.sandbox,
				.names = &names };
	int rc = merge_compute(&m, &a->own.git, &sides, stop, err);

	if (rc == 0 && m.unwritable)
		rc = error_set(err, ERR_REMOTE,
			       "a file and a directory have the same name");
	if (rc == 0)
		rc = write_tree(&w, stop, err);
	if (rc == 0 && names.len) {
		pthread_mutex_lock(&c->all->events);
		c->run->wrote.any = true;
		pthread_mutex_unlock(&c->all->events);
		buf_addf(out, "\n\nMerged into your files:\n%.*s",
			 (int)names.len, names.ptr);
	}
	if (rc == 0 && m.n) {
		add_conflicts(a, &m, mine, stop, out);
		save(c, stop, out);
	}
	merge_release(&m);
	buf_release(&names);
	return rc;
}

/* The user, who has stopped all, waits for the last one: the first begins the
 * time of all. */
static struct stop common_stop(struct child *c, int64_t more_ms)
{
	int64_t until = 0;
	int64_t mine = clock_ms() + STOPPED_MS;

	if (atomic_compare_exchange_strong(&c->all->brings_until, &until, mine))
		until = mine;
	return stop_cleanup(until + more_ms - clock_ms());
}

static int bring(struct child *c, const struct stop *stop, struct buf *out,
		 struct error *err)
{
	struct apart *a = c->apart;
	char mine[GIT_OID];
	char yours[GIT_OID];

	if (fetch_tree(c, &a->own, &a->run.box.sandbox, mine, stop, err) < 0)
		return -1;
	if (!strcmp(mine, a->before))
		return 0;
	if (fetch_tree(c, &a->theirs, &c->run->box.sandbox, yours, stop, err) <
	    0)
		return -1;
	return merge(c, mine, yours, stop, out, err);
}

void apart_bring(struct child *c, struct buf *out)
{
	const struct stop *all = c->order->stop;
	struct stop stop = stop_within(all, BRING_MS);
	struct apart *a = c->apart;
	struct error stopped = { 0 };
	struct error err = { 0 };
	int rc;

	if (!a || c->agent.sandbox != &a->run.box.sandbox)
		return;
	pthread_mutex_lock(&c->all->merging);
	rc = bring(c, &stop, out, &err);
	if (rc < 0 && stop_check(all, &stopped) < 0) {
		stop = common_stop(c, 0);
		rc = bring(c, &stop, out, &err);
	}
	if (rc < 0) {
		stop = stopped.code ? common_stop(c, STOPPED_SAVE_MS)
				    : stop_cleanup(SAVE_MS);
		buf_addf(out, "\n\nIts changes were not merged: %s.",
			 err.message);
		save(c, &stop, NULL);
	}
	pthread_mutex_unlock(&c->all->merging);
}

void apart_close(struct child *c)
{
	struct apart *a = c->apart;
	struct error ignored = { 0 };

	if (!a)
		return;
	(void)lifecycle_close(&a->run.box, &ignored); /* it warned already */
	run_money_sandbox_end(&a->run);
	if (a->has_client)
		sandbox_client_close(&a->run.client);
	if (a->store)
		store_close(a->store);
	workspace_close(&a->own);
	workspace_close(&a->theirs);
	free(a);
	c->apart = NULL;
}
