/* slash_sandbox.c - /sandbox, /move, /jobs and /agents. */
/* SPDX-License-Identifier: MIT */
/*
 * /sandbox switch and /move replace the run: when the command returns, the new
 * run is in run.next. Begin reading at slash_cmd_sandbox().
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/ids.h"
#include "base/mem.h"
#include "base/str.h"
#include "cmd/chat/ends.h"
#include "cmd/chat/slash_cmd.h"
#include "cmd/print.h"
#include "cmd/secret.h"
#include "cmd/session/move.h"
#include "cmd/session/open.h"
#include "cmd/session/run.h"
#include "cmd/session/sandbox.h"
#include "cmd/session/target.h"
#include "cmd/session/tree.h"
#include "cmd/subagents/run_subagents.h"
#include "providers/registry.h"
#include "sandbox/jobs/jobs.h"

enum { MOST_PLACES = 100, LINE_MOST = 1 << 12 };

/* The places that the thread can be moved to. */
struct place_choice {
	struct run *run;
	struct fuzzy_item items[MOST_PLACES]; /* texts owned */
	char *provider[MOST_PLACES];          /* owned */
	char *id[MOST_PLACES]; /* owned; NULL: create a new sandbox */
	size_t n;
};

static void print_state(void *arg, const struct sandbox_info *info)
{
	char room[20];

	(void)arg;
	fprintf(stderr, "  state      %s\n", sandbox_state_name(info->state));
	if (info->ends)
		fprintf(stderr, "  ends       %s\n",
			sandbox_time(info->ends, room));
}

static const char *describe_exit(const struct run *r)
{
	static const char *const words[] = {
		[LIFECYCLE_DELETE] = "deleted",
		[LIFECYCLE_STOP] = "stopped, its files are kept",
		[LIFECYCLE_KEEP] = "kept running",
	};

	return r->box.ours || run_is_late(r)
		       ? words[r->box.request.on_exit]
		       : "not changed, because dcode did not create it";
}

/* Prints where the tools of this chat run. */
static void print_status(struct run *r)
{
	const struct info_sink sink = { print_state, NULL };
	struct stop stop = app_stop(r->app);
	struct error err = { 0 };
	struct buf line = BUF_INIT(LINE_MOST);
	char id[IDS_SHOWN];

	if (!run_has_sandbox(r)) {
		fputs("Tools run on this machine, without a sandbox. /sandbox "
		      "switch PROVIDER\nmoves this thread into one.\n",
		      stderr);
		return;
	}
	fprintf(stderr, "  provider   %s\n", r->client.provider->name);
	if (run_is_late(r)) {
		fputs("  id         not created yet: the first tool call does "
		      "that\n",
		      stderr);
		return;
	}
	print_text(r->app, "  id         ", ids_shown(r->box.sandbox.id, id),
		   "");
	if (r->box.ours)
		fprintf(stderr, "  name       %s\n", r->box.label);
	print_add_line(r->app, &line, r->box.sandbox.workdir);
	run_mounts(r, &line);
	fprintf(stderr, "  directory  %s\n", line.len ? line.ptr : "?");
	buf_release(&line);
	if (sandbox_can_get(&r->client) &&
	    sandbox_get(&r->client, r->box.sandbox.id, &sink, &stop, &err) < 0)
		(void)app_fail(r->app, &err);
	fprintf(stderr, "  at the end %s%s\n", describe_exit(r),
		r->box.ours ? " (/sandbox on-exit changes it)" : "");
}

static int fail_no_sandbox(struct error *err, const char *what)
{
	error_set(err, ERR_USAGE, "%s", what);
	return error_hint(err, "/sandbox switch PROVIDER moves this thread "
			       "into a sandbox.");
}

/* Sets what happens to the sandbox when the chat leaves it. */
static int set_exit(struct run *r, const char *word, struct error *err)
{
	static const char *const words[] = { "delete", "stop", "keep" };
	static const enum lifecycle_exit exits[] = { LIFECYCLE_DELETE,
						     LIFECYCLE_STOP,
						     LIFECYCLE_KEEP };

	if (!run_has_sandbox(r))
		return fail_no_sandbox(err,
				       "tools run on this machine: there is no "
				       "sandbox");
	if (!r->box.ours && !run_is_late(r))
		return error_set(err, ERR_USAGE,
				 "dcode did not create this sandbox and does "
				 "not delete or stop it");
	for (size_t i = 0; word && i < sizeof(words) / sizeof(*words); i++) {
		if (strcmp(word, words[i]) != 0)
			continue;
		if (exits[i] == LIFECYCLE_STOP && !sandbox_can_stop(&r->client))
			return error_set(err, ERR_USAGE,
					 "provider '%s' cannot stop sandboxes",
					 r->client.provider->name);
		r->box.request.on_exit = r->options.on_exit = exits[i];
		r->options.exit_given = true;
		fprintf(stderr, "At the end of this chat the sandbox is %s.\n",
			describe_exit(r));
		return 0;
	}
	return error_set(err, ERR_USAGE,
			 "usage: /sandbox on-exit delete|stop|keep");
}

/* Adds a place. Takes ownership of name and summary. */
static void add_place(struct place_choice *c, const char *provider,
		      const char *id, char *name, char *summary)
{
	struct fuzzy_item *item = &c->items[c->n];

	if (c->n == MOST_PLACES) {
		free(name);
		free(summary);
		return;
	}
	item->name = str_of(name);
	item->summary = str_of(summary);
	c->provider[c->n] = xstrdup(provider);
	c->id[c->n++] = id ? xstrdup(id) : NULL;
}

/* Adds a kept sandbox that no running dcode uses. */
static bool add_kept(void *arg, const struct ledger_row *row)
{
	struct place_choice *c = arg;
	char id[IDS_SHOWN];
	char room[20];

	if (row->held && !row->owned_by_live && row->id[0])
		add_place(c, row->provider, row->id,
			  xasprintf("%s %s", row->provider,
				    ids_shown(row->id, id)),
			  xasprintf("%s, kept until %s",
				    ledger_state_name(row->state),
				    sandbox_time(row->ends, room)));
	return true;
}

/* Lists the places that the thread can move to: this machine, kept sandboxes,
 * and a new sandbox of each provider. */
static struct place_choice *list_places(struct run *r)
{
	struct place_choice *c = xcalloc(1, sizeof(*c));
	const struct sandbox_provider *const *all;
	struct registry *registry;
	struct store *store;
	struct error ignored = { 0 };

	c->run = r;
	if (run_has_sandbox(r))
		add_place(c, "none", NULL, xstrdup("none"),
			  xstrdup("this machine, without a sandbox"));
	if (app_store(r->app, &store, &ignored) == 0)
		(void)ledger_each(store, false, add_kept, c, &ignored);
	if (app_providers(r->app, &registry, &ignored) < 0)
		return c;
	all = registry_list(registry);
	for (size_t i = 0; all[i]; i++) {
		const char *also = all[i]->also;

		if (all[i]->flags & SANDBOX_UNISOLATED)
			continue;
		add_place(c, all[i]->name, NULL, xstrdup(all[i]->name),
			  xstrdup("a new sandbox"));
		if (also && registry_find(registry, also) == all[i])
			add_place(c, also, NULL, xstrdup(also),
				  xstrdup("a new sandbox"));
	}
	return c;
}

static void release_places(struct place_choice *c)
{
	for (size_t i = 0; i < c->n; i++) {
		free((char *)c->items[i].name.ptr);
		free((char *)c->items[i].summary.ptr);
		free(c->provider[i]);
		free(c->id[i]);
	}
	free(c);
}

void slash_list_providers(struct run *r, struct buf *out)
{
	struct place_choice *c = list_places(r);

	for (size_t i = 0; i < c->n; i++)
		if (!c->id[i])
			buf_addf(out, "%s\t%.*s\n", c->provider[i],
				 (int)c->items[i].summary.len,
				 c->items[i].summary.ptr);
	release_places(c);
}

void slash_list_sandbox_words(struct run *r, struct buf *out)
{
	struct place_choice *c = list_places(r);

	buf_adds(out,
		 "status\tshow where tools run\non-exit delete\tdelete the "
		 "sandbox at the end\non-exit stop\tstop the sandbox, keep its "
		 "files\non-exit keep\tleave the sandbox running\n");
	for (size_t i = 0; i < c->n; i++) {
		buf_addf(out, "switch %s", c->provider[i]);
		if (c->id[i])
			buf_addf(out, " %s", c->id[i]);
		buf_addc(out, '\t');
		buf_addstr(out, c->items[i].summary);
		buf_addc(out, '\n');
	}
	slash_list_subcommands(chat_shell_command(r->app, "/sandbox"), out);
	release_places(c);
}

/* Opens a run with the other sandbox, then leaves the current one. */
static int switch_sandbox(struct run *r, const char *provider, const char *id,
			  struct error *err)
{
	const char *words[] = { "--sandbox", provider, "--sandbox-id", id };
	bool host = sandbox_is_none(provider);

	if (host && !run_has_sandbox(r))
		return error_set(err, ERR_USAGE,
				 "tools already run on this machine");
	if (next_open(r, words, id ? 4 : 2, true, NULL, err) < 0)
		return -1;
	(void)chat_ask_exit(r, false);
	next_leave(r);
	if (host)
		fputs("This thread's tools now run on this machine.\n", stderr);
	else
		fprintf(stderr,
			"This thread's tools now run in a sandbox of %s.\n",
			r->next->client.provider->name);
	return 0;
}

/* 1: the run's sandbox has a copy of this directory. */
static int has_tree(struct run *r, struct error *err)
{
	struct stop stop = app_stop(r->app);
	struct workspace w = { 0 };
	int rc = run_await(r, err);

	if (rc == 0)
		rc = r->box.label[0] ? tree_find(&w, r->app,
						 settings_cwd(r->app->settings),
						 r->box.label, &stop, err)
				     : 1;
	workspace_close(&w);
	return rc < 0 ? -1 : !rc;
}

/* Goes on without a sandbox that has no changes to apply. */
static int leave_for_here(struct run *r, struct error *err)
{
	int rc;

	fputs("The sandbox has no copy of this directory, so nothing is "
	      "applied. After that, tools act on this machine.\n",
	      stderr);
	rc = secret_confirm(r->app, "Move this thread to this machine? [y/N] ",
			    err);
	return rc > 0 ? switch_sandbox(r, "none", NULL, err) : rc;
}

/* Merges the sandbox's changes into the user's tree, and goes on without a
 * sandbox. */
static int move_here(struct run *r, struct error *err)
{
	char *none[] = { NULL };
	const struct command *apply = chat_shell_command(r->app, "/apply");
	int applies;
	int rc;

	if (!run_has_sandbox(r))
		return error_set(err, ERR_USAGE,
				 "tools already run on this machine");
	if (run_is_late(r) || (applies = has_tree(r, err)) == 0)
		return leave_for_here(r, err);
	if (applies < 0)
		return -1;
	fputs("dcode applies the sandbox's changes to your working tree. After "
	      "that, tools act on this machine.\n",
	      stderr);
	rc = secret_confirm(r->app, "Move this thread to this machine? [y/N] ",
			    err);
	if (rc <= 0)
		return rc;
	if (command_run_at_terminal(r->app, apply, 0, none) != 0) {
		error_set(err, ERR_REMOTE,
			  "the changes could not all be applied, so the thread "
			  "stays in its sandbox");
		return error_hint(err, "/sandbox switch none goes on without "
				       "them.");
	}
	r->box.request.thread = NULL; /* it does not continue there */
	if (switch_sandbox(r, "none", NULL, err) < 0) {
		r->box.request.thread = session_id(r->session);
		return -1;
	}
	r->next->moved = true;
	return 0;
}

/* Opens a run whose sandbox gets the files of the current one, then leaves the
 * current one. */
static int move_work(struct run *r, const char *provider, struct error *err)
{
	const char *words[] = { "--sandbox", provider, "--workspace", "repo" };
	struct stop stop = app_stop(r->app);
	struct move m = { .app = r->app,
			  .label = r->box.label,
			  .sandbox = &r->box.sandbox,
			  .stop = &stop,
			  .include = r->options.include,
			  .n_include = r->options.n_include };
	struct sandbox_client client = { 0 };
	int rc = app_client_check(r->app, provider, &client, err);

	if (rc == 0)
		sandbox_client_close(&client);
	if (rc == 0)
		rc = move_open(&m, settings_cwd(r->app->settings), err);
	if (rc == 0)
		rc = move_confirm(&m, r->client.provider->name, provider, true,
				  err);
	if (rc > 0)
		rc = next_open(r, words, 4, true, &m, err) < 0 ? -1 : 1;
	if (rc > 0)
		move_print_left(&m, r->client.provider->name);
	move_close(&m);
	if (rc <= 0)
		return rc;
	print_line(r->app, "%s %zu changed file%s moved and compared.",
		   print_sign(r->app, GLYPH_CHECK), m.files,
		   m.files == 1 ? "" : "s");
	r->box.request.thread = NULL; /* it does not continue there */
	(void)chat_ask_exit(r, false);
	next_leave(r);
	fprintf(stderr,
		"This thread's tools now run in a sandbox of %s, on the same "
		"files.\n",
		r->next->client.provider->name);
	return 0;
}

bool slash_cmd_move(struct run *r, int n, char **words)
{
	struct error err = { 0 };
	int rc;

	if (n != 1)
		rc = error_set(&err, ERR_USAGE, "usage: /move PROVIDER");
	else if (sandbox_is_none(words[0]))
		rc = move_here(r, &err);
	else if (run_has_sandbox(r) && !run_is_late(r))
		rc = move_work(r, words[0], &err);
	else /* there is no sandbox with work in it */
		rc = switch_sandbox(r, words[0], NULL, &err);
	if (rc < 0)
		(void)app_fail(r->app, &err);
	return true;
}

static int choose_place(struct run *r, struct error *err)
{
	struct place_choice *c = list_places(r);
	const struct pick p = { .title = "Where tools run",
				.items = c->items,
				.n = c->n };
	int chosen = r->pick(r->ui.arg, &p);
	int rc = 0;

	if (chosen >= 0)
		rc = switch_sandbox(r, c->provider[chosen], c->id[chosen], err);
	release_places(c);
	return rc;
}

/* Runs /sandbox switch. Without arguments, the user chooses from a list. */
static int run_switch(struct run *r, int n, char **words, struct error *err)
{
	if (n == 0)
		return choose_place(r, err);
	if (n <= 2)
		return switch_sandbox(r, words[0], n == 2 ? words[1] : NULL,
				      err);
	error_set(err, ERR_USAGE, "usage: /sandbox switch [PROVIDER [ID]]");
	return error_hint(err,
			  "/sandbox switch PROVIDER creates a new sandbox, "
			  "/sandbox switch PROVIDER ID uses an existing one, "
			  "/sandbox switch none uses this machine.");
}

/* Runs the shell's `dcode sandbox` command. info and snapshot without a name
 * mean this chat's sandbox. */
static int run_command(struct run *r, int n, char **words, struct error *err)
{
	char *own[] = { words[0], r->box.label, n > 1 ? words[1] : NULL, NULL };
	bool snapshot = !strcmp(words[0], "snapshot") && n == 2;
	bool means_own = snapshot || (!strcmp(words[0], "info") && n == 1);

	if (means_own && run_await(r, err) < 0)
		return -1;
	if (means_own && !r->box.label[0] && run_has_sandbox(r))
		own[1] = r->box.sandbox.id;
	else if (means_own && !run_has_sandbox(r))
		return fail_no_sandbox(err,
				       "tools run on this machine: there is no "
				       "sandbox");
	(void)command_run_at_terminal(
		r->app, chat_shell_command(r->app, "/sandbox"),
		means_own ? n + 1 : n, means_own ? own : words);
	return 0;
}

bool slash_cmd_sandbox(struct run *r, int n, char **words)
{
	struct error err = { 0 };
	int rc = 0;

	if (!n || (n == 1 && !strcmp(words[0], "status")))
		print_status(r);
	else if (!strcmp(words[0], "switch"))
		rc = run_switch(r, n - 1, words + 1, &err);
	else if (!strcmp(words[0], "on-exit"))
		rc = set_exit(r, n == 2 ? words[1] : NULL, &err);
	else if (!strcmp(words[0], "stop") && n == 1)
		rc = set_exit(r, "stop", &err);
	else
		rc = run_command(r, n, words, &err);
	if (rc < 0)
		(void)app_fail(r->app, &err);
	return true;
}

/* the screen's thread waits this long for the job to end */
enum { KILL_MS = 1000 };

static void add_job(void *arg, const struct job_state *s)
{
	struct buf *out = arg;

	buf_addf(out, "job %-3u ", s->number);
	jobs_describe(s, out);
	buf_addf(out, ", %lld bytes: %.200s\n", (long long)s->bytes,
		 s->command);
}

/* Kills a background job and reports its state. */
static void kill_job(struct run *r, const char *word, struct buf *out)
{
	struct stop stop = stop_on(NULL);
	struct job_kill what = { .wait_ms = KILL_MS };
	struct error err = { 0 };
	struct job_state s;
	int64_t number = 0;

	if (!str_to_int(str_of(word), &number) || number < 1 ||
	    number > UINT32_MAX) {
		buf_addf(out, "Unknown job '%.40s'. /jobs lists them.\n", word);
		return;
	}
	what.number = (unsigned)number;
	if (jobs_kill(r->box.sandbox.jobs, &what, &stop, &s, &err) < 0) {
		buf_addf(out, "Error: %s; /jobs lists them.\n", err.message);
		return;
	}
	buf_addf(out, s.running ? "Killing job %u, which has been " : "job %u ",
		 s.number);
	jobs_describe(&s, out);
	buf_addc(out, '\n');
}

void slash_cmd_jobs(struct run *r, int n, char **words, size_t columns,
		    struct buf *out)
{
	size_t before = out->len;

	(void)columns;
	if (n == 2 && !strcmp(words[0], "kill")) {
		kill_job(r, words[1], out);
		return;
	}
	if (n) {
		buf_adds(out, "Usage: /jobs, or /jobs kill NUMBER\n");
		return;
	}
	jobs_each(r->box.sandbox.jobs, add_job, out);
	if (out->len == before)
		buf_adds(out, "No background commands.\n");
}

static void cancel_subagent(struct run *r, const char *word, struct buf *out)
{
	int64_t number = 0;

	if (!str_to_int(str_of(word), &number) || number < 1 ||
	    number > UINT32_MAX || !run_subagents_cancel(r, (unsigned)number))
		buf_addf(out,
			 "Unknown subagent %.40s, or it has ended. /agents "
			 "lists them.\n",
			 word);
	else
		buf_addf(out, "Stopping subagent %lld.\n", (long long)number);
}

void slash_cmd_agents(struct run *r, int n, char **words, size_t columns,
		      struct buf *out)
{
	(void)columns;
	if (n == 2 && !strcmp(words[0], "cancel"))
		cancel_subagent(r, words[1], out);
	else if (n)
		buf_adds(out, "Usage: /agents, or /agents cancel NUMBER\n");
	else
		run_subagents_list(r, out);
}
