/* save.c - applies or saves a sandbox's changes before it is deleted. */
/* SPDX-License-Identifier: MIT */

/*
 * Changes must not be lost with their sandbox. Before src/lifecycle deletes a
 * sandbox, it calls run_save(), which fetches the changes and writes them as a
 * patch. run_apply_changes() implements --apply and --branch of dcode -n, while
 * the sandbox still exists. save_removed() does the same as run_save() for a
 * sandbox without a run (dcode sandbox rm, gc). Begin reading at save_work().
 */
#include "cmd/session/save.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/sanitize.h"
#include "base/str.h"
#include "cmd/session/changes.h"
#include "cmd/session/options.h"
#include "cmd/session/push_branch.h"
#include "cmd/session/run.h"
#include "cmd/session/tree.h"
#include "session/records.h"
#include "worktree/patch.h"
#include "worktree/user_repo.h"

enum { WRITE_MS = 8000 }; /* reserved to write the last patch */

struct saving {
	struct saved_work *work;
	struct app *app;
	struct workspace *workspace;
	struct fetch fetch;
	struct fetch_request with;
	const char *thread;
	const struct stop *stop;
};

struct owner { /* the thread that used the sandbox of a label */
	const char *label;
	char *id, *cwd; /* owned; NULL if there is no such thread */
};

void saved_work_release(struct saved_work *s)
{
	free(s->patch);
	free(s->failed);
	*s = (struct saved_work){ 0 };
}

bool save_is_on(struct app *app)
{
	struct error ignored = { 0 };
	bool on = true;

	(void)settings_bool(app->settings, NULL, "workspace.save", &on,
			    &ignored);
	return on;
}

/* Deletes old patches after a new one was written. */
static void sweep_patches(struct app *app, const char *directory)
{
	struct error ignored = { 0 };
	int64_t days = 0;
	int64_t mib = 0;

	if (settings_int(app->settings, NULL, "workspace.patches_days", &days,
			 &ignored) == 0 &&
	    settings_int(app->settings, NULL, "workspace.patches_mb", &mib,
			 &ignored) == 0 &&
	    days > 0 && mib > 0 && days < 100000 && mib < INT64_MAX >> 20)
		(void)patch_sweep(directory, days, mib << 20);
}

/* Writes the patch. If an earlier attempt has written one, replaces it. */
static int write_patch(struct saving *v, struct error *err)
{
	char *directory = app_state_path(v->app, "patches", err);
	const struct workspace *w = v->workspace;
	struct saved_work *s = v->work;
	const struct patch_save save = { .directory = directory,
					 .thread = v->thread,
					 .workspace = w,
					 .fetch = &v->fetch,
					 .replace = s->patch };
	struct review changes = { 0 };
	char *path = NULL;
	int rc = directory ? 0 : -1;

	if (rc == 0)
		rc = review_read(&changes, &w->git, w->base, v->fetch.theirs,
				 v->stop, err);
	s->files = changes.n;
	if (rc == 0 && changes.n)
		rc = patch_save(&save, &path, v->stop, err);
	if (path) {
		free(s->patch);
		s->patch = path;
		sweep_patches(v->app, directory);
	}
	review_release(&changes);
	free(directory);
	return rc;
}

/* After everything else is saved, fetches the large files within the time that
 * is left. Then replaces the patch by one that includes them. */
static void save_large_files(struct saving *v)
{
	struct error err = { 0 };
	struct stop limit = *v->stop;

	limit.deadline -= WRITE_MS;
	if (!v->fetch.n_later)
		return;
	(void)tree_fetch_later(v->workspace, v->app, &v->with, &v->fetch,
			       &limit, &err);
	err = (struct error){ 0 };
	if (!v->fetch.same && write_patch(v, &err) < 0)
		app_warn("large files are not in the patch: %s", err.message);
}

/* Saves the changes and fills in s. A failure is recorded in s->failed: the
 * caller deletes the sandbox in any case. */
static void save_work(struct saved_work *s, struct app *app,
		      struct workspace *w, struct sandbox *sb,
		      const struct save_terms *terms)
{
	struct error err = { 0 };
	struct saving v = { .work = s,
			    .app = app,
			    .workspace = w,
			    .with = { .sandbox = sb,
				      .include = terms->include,
				      .n_include = terms->n_include,
				      .small_first = !changes_have_branched(
					      w, terms->stop) },
			    .thread = terms->thread,
			    .stop = terms->stop };
	bool branched;
	int rc;

	free(s->failed); /* may be set by an earlier attempt */
	s->failed = NULL;
	limits_read_or_default(app->settings, &v.with);
	rc = tree_fetch_from(w, app, &v.with, &v.fetch, v.stop, &err);
	s->looked = true;
	branched = rc == 0 && !v.with.small_first &&
		   changes_are_branched(w, v.fetch.theirs, v.stop);
	if (rc == 0 && !v.fetch.same && !branched)
		rc = write_patch(&v, &err);
	if (rc == 0)
		save_large_files(&v);
	s->refused = v.fetch.n_refused;
	s->left = v.fetch.n_left;
	if (rc == 0)
		tree_report(app, &v.fetch, true);
	else
		s->failed = xstrdup(err.message);
	fetch_release(&v.fetch);
}

/* Prints where the patch is and the command that applies it. */
static void report_saved(const struct saved_work *s,
			 const struct save_terms *terms)
{
	struct buf line = BUF_INIT(1 << 12);

	if (s->failed) {
		app_warn("cannot save the sandbox's changes: %s", s->failed);
	} else if (s->patch && !terms->quiet) {
		sanitize_line(str_of(s->patch), &line);
		fprintf(stderr, "Saved %zu changed file%s: %s\n", s->files,
			s->files == 1 ? "" : "s", line.ptr);
		if (terms->elsewhere)
			fprintf(stderr,
				"To apply %s, run `git apply` with that file "
				"in its repository.\n",
				s->files == 1 ? "it" : "them");
		else
			fprintf(stderr, "`dcode apply %s` applies %s here.\n",
				terms->name, s->files == 1 ? "it" : "them");
	}
	buf_release(&line);
}

void save_sandbox(struct saved_work *s, struct app *app, struct workspace *w,
		  struct sandbox *sb, const struct save_terms *terms)
{
	save_work(s, app, w, sb, terms);
	report_saved(s, terms);
}

/* thread_label_each() callback: copies the newest thread that used the sandbox
 * of the label. */
static bool copy_owner(void *arg, const struct thread_label *l)
{
	struct owner *o = arg;

	o->id = xstrdup(l->thread);
	o->cwd = xstrdup(l->cwd);
	return false;
}

/* ledger_find() callback: copies the thread's id from the ledger, if no stored
 * thread names the label any more. */
static bool copy_thread(void *arg, const struct ledger_row *row)
{
	struct owner *o = arg;

	o->id = xstrdup(row->thread[0] ? row->thread : row->label);
	return false;
}

int save_check(const struct saved_work *s, struct error *err)
{
	if (!s->failed)
		return 0;
	return error_set(err, ERR_REMOTE,
			 "cannot save a patch of the sandbox's changes");
}

/* Saves the work of the sandbox id. Returns -1 only if that failed, 0 also if
 * there is nothing to save. */
static int save_owned(struct app *app, struct sandbox_client *client,
		      const char *id, const struct owner *o, struct error *lost)
{
	struct stop limit = stop_cleanup(LIFECYCLE_SAVE_MS);
	struct save_terms terms = { .thread = o->id,
				    .name = tree_short_name(o->label),
				    .stop = &limit };
	struct saved_work s = { 0 };
	struct sandbox sb = { 0 };
	struct error err = { 0 };
	const char **include = include_read(app, NULL, &terms.n_include, &err);
	const struct tree_place place = { o->cwd, o->label };
	struct workspace w;
	int rc = tree_find_any(&w, app, &place, &terms.elsewhere, &limit, &err);

	int saved = 0;

	terms.include = include;
	if (rc > 0)
		goto done;
	if (rc == 0 && sandbox_attach(&sb, client, id, &limit, &err) == 0)
		save_work(&s, app, &w, &sb, &terms);
	else if (rc < 0 || (err.code != ERR_NOT_FOUND && err.code != ERR_GONE))
		s.failed = xstrdup(err.message);
	report_saved(&s, &terms);
	saved = save_check(&s, lost);
	sandbox_release(&sb);
	saved_work_release(&s);
	if (rc == 0)
		workspace_close(&w);
done:
	free(include);
	return saved;
}

/* If neither the database nor the ledger names a thread, the label takes the
 * place of its id in the patch. */
int save_removed(struct app *app, struct sandbox_client *client, const char *id,
		 const char *label, struct error *err)
{
	struct owner o = { .label = label };
	struct error ignored = { 0 };
	struct settings *set;
	struct store *store;
	int rc;

	if (!label[0] || app_settings(app, &set, &ignored) < 0 ||
	    !save_is_on(app) || app_store(app, &store, &ignored) < 0)
		return 0;
	(void)thread_label_each(store, 0, label, copy_owner, &o, &ignored);
	if (!o.id)
		(void)ledger_find(store, label, copy_thread, &o, &ignored);
	if (!o.id)
		o.id = xstrdup(label);
	rc = save_owned(app, client, id, &o, err);
	free(o.id);
	free(o.cwd);
	return rc;
}

void save_json(const struct saved_work *s, struct buf *out)
{
	if (!s->looked)
		return;
	buf_addf(out, "{\"files\":%zu,\"refused\":%zu,\"left\":%zu,", s->files,
		 s->refused, s->left);
	if (s->patch)
		json_member_bytes(out, "patch", str_of(s->patch));
	else
		buf_adds(out, "\"patch\":null");
	buf_adds(out, ",\"error\":");
	if (s->failed)
		json_quote(out, str_of(s->failed));
	else
		buf_adds(out, "null");
	buf_addc(out, '}');
}

enum { CHECK_MS = 30000 };

/* Also reports what is lost if nothing is saved. */
void run_save(void *arg, struct sandbox *sb, const struct stop *stop)
{
	struct run *r = arg;
	struct error err = { 0 };
	struct workspace w;
	struct save_terms terms = { .stop = stop,
				    .include = r->options.include,
				    .n_include = r->options.n_include,
				    .quiet = r->options.quiet };
	int rc;

	if (r->move) /* the thread stays in the old sandbox, which has it all */
		return;
	/* if the setup script failed, there is no thread yet */
	terms.thread = r->session ? session_id(r->session) : r->box.label;
	terms.name = r->session ? terms.thread : tree_short_name(r->box.label);
	rc = tree_find(&w, r->app, settings_cwd(r->app->settings), r->box.label,
		       stop, &err);
	terms.elsewhere = rc > 0;
	if (rc > 0)
		rc = tree_find_label(&w, r->app, r->box.label, stop, &err);
	if (rc > 0 && !run_bound_directory(sb))
		run_report_lost(r, false);
	if (rc < 0)
		app_warn("cannot save the sandbox's changes: %s", err.message);
	if (rc < 0 && save_is_on(r->app)) {
		free(r->saved.failed);
		r->saved.failed = xstrdup(err.message);
	}
	if (rc != 0)
		return;
	if (save_is_on(r->app))
		save_sandbox(&r->saved, r->app, &w, sb, &terms);
	else if (!r->applied.len)
		run_report_lost(r, true);
	workspace_close(&w);
}

/* Returns the number of files that the sandbox has changed, or 0 if unknown. */
static size_t count_files(const struct workspace *w, const struct fetch *f,
			  const struct stop *stop)
{
	struct review changes = { 0 };
	struct error ignored = { 0 };
	size_t n = 0;

	if (review_read(&changes, &w->git, w->base, f->theirs, stop,
			&ignored) == 0)
		n = changes.n;
	review_release(&changes);
	return n;
}

/* Asks the sandbox only if a tool of this run, or another user of the sandbox,
 * may have written something. */
bool run_has_unreturned_work(struct run *r, size_t *files)
{
	struct stop limit = stop_cleanup(CHECK_MS);
	struct error err = { 0 };
	const struct fetch_request with = { .sandbox = &r->box.sandbox,
					    .include = r->options.include,
					    .n_include = r->options.n_include };
	bool may_have = r->wrote.any || r->box.resumed || !r->box.ours;
	struct fetch f = { 0 };
	struct workspace w;
	bool same;

	*files = 0;
	if (run_bound_directory(&r->box.sandbox))
		return false;
	if (!may_have || tree_find(&w, r->app, settings_cwd(r->app->settings),
				   r->box.label, &limit, &err) != 0)
		return r->wrote.any;
	same = tree_fetch_from(&w, r->app, &with, &f, &limit, &err) == 0 &&
	       (f.same || changes_are_branched(&w, f.theirs, &limit)) &&
	       !f.n_left && !f.n_refused;
	if (!same && !err.code)
		*files = count_files(&w, &f, &limit);
	fetch_release(&f);
	workspace_close(&w);
	if (same) /* the user has all changes already, in the tree or on a
		     branch */
		run_wrote_release(&r->wrote);
	return !same;
}

enum { APPLY_MS = 10 * 60000 };

static const char *flag_name(const struct run *r)
{
	return r->options.branch ? "--branch" : "--apply";
}

static bool is_merge_requested(const struct run *r)
{
	return r->options.apply || r->options.branch;
}

/* Opens the workspace of the run's sandbox. -1 with err if the tree was not
 * sent to it. */
static int open_tree(struct run *r, struct workspace *w,
		     const struct stop *stop, struct error *err)
{
	int rc = tree_find(w, r->app, settings_cwd(r->app->settings),
			   r->box.label, stop, err);

	if (rc <= 0)
		return rc;
	error_set(err, ERR_USAGE,
		  "%s: the sandbox has no copy of this repository",
		  flag_name(r));
	return error_hint(err, "Add --workspace repo to send it.");
}

static struct push_job make_push(struct run *r, const struct workspace *w)
{
	return (struct push_job){ .app = r->app,
				  .workspace = w,
				  .branch = r->options.branch,
				  .remote = r->options.remote,
				  .requests = r->options.pr,
				  .quiet = r->options.quiet };
}

/* Checks --push before the sandbox exists. Reads from the server, too. */
static int check_push(struct run *r, const struct workspace *w,
		      struct error *err)
{
	struct push_job job = make_push(r, w);
	int rc;

	job.early = true;
	rc = push_job_open(&job, &r->stop, err);
	push_job_close(&job);
	return rc;
}

/* Checks the branch name and the repository. Called before the sandbox
 * exists. */
static int check_branch(struct run *r, struct workspace *w, struct error *err)
{
	struct change_set ch = { .app = r->app,
				 .given = { [CHANGES_BRANCH] =
						    r->options.branch },
				 .workspace = w };
	bool is_repository;
	char *state = app_state_path(r->app, "", err);
	char *root = state ? user_repo_root(settings_cwd(r->app->settings),
					    &is_repository, err)
			   : NULL;
	int rc = root ? workspace_open(w, state, root, WORKSPACE_NO_SANDBOX,
				       &r->stop, err)
		      : -1;

	if (rc == 0 && r->options.push)
		rc = check_push(r, w, err);
	if (rc == 0)
		rc = changes_check_branch(&ch, &r->stop, err);
	free(state);
	free(root);
	return rc;
}

int run_branch_check(struct run *r, struct error *err)
{
	struct workspace w = { 0 };
	int rc = r->options.branch ? check_branch(r, &w, err) : 0;

	workspace_close(&w);
	return rc;
}

int run_apply_check(struct run *r, struct error *err)
{
	struct workspace w = { 0 };
	int rc = is_merge_requested(r) ? open_tree(r, &w, &r->stop, err) : 0;

	workspace_close(&w);
	return rc;
}

/* Returns -1 with err if some changes were not applied. */
static int check_result(const struct run *r, const struct change_set *ch,
			struct error *err)
{
	if (changes_status(ch) == 0)
		return 0;
	error_set(err, ERR_BUSY,
		  "%s: not all changes of the sandbox were applied",
		  flag_name(r));
	return error_hint(err, "`dcode apply %s` applies the rest.",
			  ch->thread);
}

/* Merges the changes, pushes the branch if that is requested, and prints the
 * result. */
static int merge_and_push(struct run *r, struct change_set *ch,
			  const struct stop *stop, struct error *err)
{
	struct push_job job = make_push(r, ch->workspace);
	struct push_record record = { 0 };
	bool pushes = r->options.push;
	bool merged;
	int rc = 0;

	if (pushes) {
		push_record_read(&record, ch->workspace);
		ch->pushed = &record;
		ch->confirm = push_job_confirm;
		ch->confirm_arg = &job;
		job.thread = ch->thread;
		job.title = ch->task;
		rc = push_job_open(&job, stop, err);
	}
	if (rc == 0)
		rc = changes_apply(ch, stop, err);
	if (rc == 0 && !r->options.quiet)
		changes_print(ch);
	merged = rc == 0;
	if (rc == 0 && pushes && ch->commit[0])
		rc = push_job_run(&job, stop, err);
	if (merged) { /* a commit that could not be pushed is named, too */
		buf_addc(&r->applied, '{');
		changes_json(ch, &r->applied);
		if (job.p.commit) {
			buf_adds(&r->applied, ",\"push\":");
			push_job_json(&job, &r->applied);
		}
		buf_addc(&r->applied, '}');
	}
	if (rc == 0)
		rc = check_result(r, ch, err);
	ch->pushed = NULL;
	ch->confirm = NULL;
	ch->confirm_arg = NULL;
	push_job_close(&job);
	free(record.branch);
	return rc;
}

/* Fetches the changes, asks about files with refused names, and merges the
 * changes. */
static int fetch_and_merge(struct run *r, struct change_set *ch,
			   const struct stop *stop, struct error *err)
{
	struct fetch f = { 0 };
	const struct fetch_request with = { .sandbox = &r->box.sandbox,
					    .include = r->options.include,
					    .n_include = r->options.n_include };
	int rc = tree_fetch_from(ch->workspace, r->app, &with, &f, stop, err);

	if (rc == 0)
		rc = tree_confirm(r->app, &f, false, err);
	if (rc == 0) {
		memcpy(ch->theirs, f.theirs, sizeof(ch->theirs));
		rc = loud_changes(r->app, ch->workspace, ch->theirs, stop, err);
	}
	if (rc == 0)
		rc = merge_and_push(r, ch, stop, err);
	fetch_release(&f);
	return rc;
}

/* Call before the sandbox is closed. Takes at most APPLY_MS. */
int run_apply_changes(struct run *r, struct error *err)
{
	struct stop signals = app_stop(r->app);
	struct stop stop = stop_within(&signals, APPLY_MS);
	struct workspace w = { 0 };
	struct change_set ch = {
		.app = r->app,
		.given = { [CHANGES_BRANCH] = r->options.branch },
		.workspace = &w,
		.thread = session_id(r->session),
		.task = r->options.task,
	};
	char *branch;
	char *title = NULL;
	int rc;

	if (!is_merge_requested(r))
		return 0;
	r->applied = BUF_INIT(64 << 20);
	branch = changes_came_from(r->app, ch.thread, &title);
	ch.from_branch = branch;
	if (!ch.task || !ch.task[0]) /* the task was piped */
		ch.task = title;
	rc = open_tree(r, &w, &stop, err);
	if (rc == 0)
		rc = fetch_and_merge(r, &ch, &stop, err);
	/* The branch was checked when the run began: a conflict with it now is
	 * not the user's wrong usage. */
	if (rc < 0 && r->options.branch && err->code == ERR_USAGE) {
		err->code = ERR_BUSY;
		error_hint(err,
			   "`dcode apply %s --branch OTHER%s` commits to "
			   "another branch.",
			   ch.thread, r->options.push ? " --push" : "");
	}
	changes_release(&ch);
	workspace_close(&w);
	free(branch);
	free(title);
	return rc;
}
