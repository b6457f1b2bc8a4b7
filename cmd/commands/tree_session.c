/* tree_session.c - finds the tree and the sandbox that a command names. */
/* SPDX-License-Identifier: MIT */

/*
 * dcode diff, apply and sync accept the name of a thread or a sandbox, or no
 * name. tree_open() finds the sandbox, opens its tree and connects to the
 * sandbox. If the sandbox is gone or does not answer, its last known state is
 * used. A thread may have had several sandboxes: the newest one with changes is
 * used, and older ones with changes are named. Begin reading at tree_search().
 */
#include "cmd/commands/tree_session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "cmd/print.h"
#include "cmd/session/changes.h"
#include "session/records.h"
#include "session/thread.h"
#include "worktree/send.h"
#include "worktree/user_repo.h"

enum { OLDER_MOST = 8 }; /* older sandboxes that are examined */

struct search {
	struct tree_session *session;
	struct app *app;
	struct store *store;
	const struct stop *stop;
	bool found;     /* session->workspace is the tree of a sandbox */
	bool settled;   /* that sandbox may have changes */
	bool bound;     /* found a sandbox in which the user's directory is
			 mounted */
	bool elsewhere; /* found a tree, but it is that of another directory */
	const char *root; /* accept only trees with this root; NULL: any */
	const char *own;  /* label of the chat's sandbox, which is not an older
			     one; or NULL */
	int n_older;
	struct buf older;
	struct error err;
	int rc; /* -1: failed, see err */
};

/* Sets the error that no tree was found. name: the thread or sandbox as the
 * user typed it, or NULL. */
static int fail_missing(const char *name, bool bound, struct error *err)
{
	if (bound) {
		error_set(err, ERR_NOT_FOUND,
			  "the sandbox uses this directory itself (--workspace "
			  "bind): there is nothing to send or apply");
		return error_hint(err, "`git diff` shows what changed.");
	}
	if (name)
		error_set(
			err, ERR_NOT_FOUND,
			"the sandbox of thread %s has no copy of a repository",
			name);
	else
		error_set(err, ERR_NOT_FOUND,
			  "no thread of this directory has sent the repository "
			  "to a sandbox");
	return error_hint(err, "Start one with --workspace repo.");
}

static int tree_missing_in_chat(const struct sandbox *sb, struct error *err)
{
	if (sb->mounts.n)
		return fail_missing(NULL, true, err);
	if (sb->client->provider->flags & SANDBOX_UNISOLATED) {
		error_set(err, ERR_NOT_FOUND,
			  "this chat runs on this machine, without a sandbox");
		return error_hint(err, "Use !git diff here, or start dcode "
				       "with --sandbox NAME --workspace "
				       "repo.");
	}
	if (!sb->id)
		return error_set(err, ERR_NOT_FOUND,
				 "the sandbox of this chat does not exist yet: "
				 "the first tool call creates it");
	error_set(err, ERR_NOT_FOUND,
		  "the sandbox of this chat has no copy of the repository");
	return error_hint(err, "Start a chat with --workspace repo to send "
			       "one.");
}

/* True if the user's directory is mounted in the sandbox, so that there is
 * nothing to send or apply. */
static bool is_bound(struct app *app, const char *cwd, const char *label)
{
	struct error ignored = { 0 };
	bool repository;
	char *root = user_repo_root(cwd, &repository, &ignored);
	char *state = app_state_path(app, "", &ignored);
	bool bound = root && state &&
		     (workspace_is_bound(state, root, label) ||
		      workspace_is_bound(state, cwd, label));

	free(root);
	free(state);
	return bound;
}

static bool store_existence(void *arg, const struct ledger_row *row)
{
	*(bool *)arg = row->state != LEDGER_GONE;
	return false;
}

/* True if the sandbox may have changes. If it still exists, it may have changed
 * since it was last seen. If session->living, only an existing sandbox
 * counts. */
static bool has_work(struct search *s, const struct workspace *w)
{
	struct error ignored = { 0 };
	char theirs[GIT_OID];
	bool exists = false;

	(void)ledger_find(s->store, w->label, store_existence, &exists,
			  &ignored);
	if (exists || s->session->living)
		return exists;
	return odb_ref_get(&w->git, w->theirs_ref, theirs, s->stop, &ignored) ==
		       0 &&
	       strcmp(theirs, w->base) != 0;
}

/* Makes w the session's tree. Takes ownership of w. */
static void set_workspace(struct search *s, struct workspace *w,
			  const struct thread_label *l)
{
	struct tree_session *t = s->session;

	workspace_close(&t->workspace);
	free(t->thread);
	free(t->branch);
	t->workspace = *w;
	t->thread = xstrdup(l->thread);
	t->branch = xstrdup(l->branch);
	s->found = true;
}

/* Opens the tree that was sent to the sandbox. Tries the directory where the
 * thread was last used, then the current one: the thread may have been
 * continued in another directory after the tree was sent. Returns 1 if there is
 * no such tree, -1 with an error in s->err. */
static int find_tree(struct search *s, struct workspace *w,
		     const struct thread_label *l)
{
	const char *here = settings_cwd(s->app->settings);
	struct error ignored = { 0 };
	int rc = tree_find(w, s->app, l->cwd, l->label, s->stop, &s->err);

	if (rc > 0 && strcmp(l->cwd, here) != 0)
		rc = tree_find(w, s->app, here, l->label, s->stop, &s->err);
	if (rc <= 0 || s->root)
		return rc;
	if (tree_find_label(w, s->app, l->label, s->stop, &ignored) == 0) {
		if (s->session->anywhere) {
			print_text(s->app, "This sandbox has a copy of ",
				   l->cwd, "");
			return 0;
		}
		s->elsewhere = true;
		workspace_close(w);
	}
	return rc;
}

static void print_older(const struct search *s)
{
	struct buf out = BUF_INIT(1 << 17);

	app_add_advice(s->app, s->older.ptr, &out);
	fputs(out.ptr, stderr);
	buf_release(&out);
}

/* thread_label_each() callback; the newest sandbox of a thread comes first.
 * Returns false to end the search. */
static bool try_label(void *arg, const struct thread_label *l)
{
	struct search *s = arg;
	struct workspace w;
	bool work;
	int rc;

	if (s->own && !strcmp(s->own, l->label))
		return true;
	if (s->settled && s->n_older++ == OLDER_MOST) {
		buf_adds(&s->older, "`dcode threads show` lists all sandboxes "
				    "of this thread.\n");
		return false;
	}
	rc = find_tree(s, &w, l);
	if (rc == 0 && s->root && strcmp(w.root, s->root) != 0) {
		workspace_close(&w);
		return true;
	}
	if (rc != 0) {
		s->bound |= rc > 0 && is_bound(s->app, l->cwd, l->label);
		s->rc = rc < 0 ? -1 : 0;
		return rc > 0;
	}
	/* The newest sandbox with changes is used or, if none has any, the
	 * newest one. */
	work = has_work(s, &w);
	if (!s->found || (work && !s->settled)) {
		set_workspace(s, &w, l);
		s->settled = work;
		return true;
	}
	if (work)
		buf_addf(&s->older,
			 "This thread also has changes in an older %s sandbox: "
			 "`dcode diff %s`\n",
			 l->provider, tree_short_name(l->label));
	workspace_close(&w);
	return true;
}

/* thread_each() callback: searches the sandboxes of a thread. Returns false to
 * end the search when a tree was found. */
static bool try_thread(void *arg, struct thread *t)
{
	struct search *s = arg;

	if (thread_label_each(s->store, t->no, NULL, try_label, s, &s->err) < 0)
		s->rc = -1;
	return s->rc == 0 && !s->found;
}

static bool copy_row(void *arg, const struct ledger_row *row)
{
	struct thread_label *l = arg;

	l->label = xstrdup(row->label);
	l->provider = xstrdup(row->provider);
	l->thread = xstrdup(row->thread[0] ? row->thread : row->label);
	return false;
}

/* Finds a sandbox by its name, even if its thread was deleted. */
static int search_sandbox(struct search *s, const char *name, struct error *err)
{
	struct thread_label l = { .cwd = settings_cwd(s->app->settings),
				  .branch = "" };
	int rc = ledger_find(s->store, name, copy_row, &l, err);

	if (rc == 0)
		rc = thread_label_each(s->store, 0, l.label, try_label, s, err);
	if (rc == 0 && s->rc == 0 && !s->found)
		(void)try_label(s, &l);
	free((char *)l.label);
	free((char *)l.provider);
	free((char *)l.thread);
	return rc;
}

/* Finds a thread by its name or, if there is none, a sandbox. */
static int search_name(struct search *s, const char *name, struct error *err)
{
	struct error why = { 0 };
	struct thread t = { 0 };
	int rc = thread_find(s->store, name, settings_cwd(s->app->settings), &t,
			     err);

	if (rc == 0)
		(void)try_thread(s, &t);
	else if (err->code == ERR_NOT_FOUND)
		rc = search_sandbox(s, name, &why);
	thread_release(&t);
	return rc;
}

static int fail_other_directory(const char *name, struct error *err)
{
	error_set(err, ERR_NOT_FOUND,
		  "the sandbox of %s was filled from another directory",
		  name ? name : "the thread");
	return error_hint(err,
			  "Run this in the directory that the files were sent "
			  "from. If that directory has moved: dcode diff %s "
			  ">FILE, then dcode apply --patch FILE",
			  name ? name : "ID");
}

/* Finds the newest thread of this directory whose tree was sent to a sandbox.
 * If there is none, searches the threads of all directories in this
 * repository. */
static int search_directory(struct search *s, const char *cwd,
			    struct error *err)
{
	struct thread_filter newest = { .cwd = cwd };
	struct error ignored = { 0 };
	bool repository = false;
	char *root;
	int rc = thread_each(s->store, &newest, try_thread, s, err);

	if (rc < 0 || s->rc < 0 || s->found || s->bound)
		return rc;
	root = user_repo_root(cwd, &repository, &ignored);
	if (root && repository) {
		newest = (struct thread_filter){ .below = root };
		s->root = root;
		rc = thread_each(s->store, &newest, try_thread, s, err);
		s->root = NULL;
	}
	free(root);
	return rc;
}

/* Finds the tree that the command line names. Fails if there is none. */
static int tree_search(struct tree_session *t, struct app *app,
		       const char *name, const struct stop *stop,
		       struct error *err)
{
	struct search s = { .session = t,
			    .app = app,
			    .stop = stop,
			    .older = BUF_INIT(1 << 16) };
	struct settings *set;
	int rc;

	if (app_settings(app, &set, err) < 0 ||
	    app_store(app, &s.store, err) < 0)
		return -1;
	if (name && strcmp(name, "latest") != 0) {
		rc = search_name(&s, name, err);
	} else {
		name = NULL;
		rc = search_directory(&s, settings_cwd(set), err);
	}
	if (rc == 0 && s.rc < 0) {
		*err = s.err;
		rc = -1;
	}
	if (rc == 0 && !s.found && s.elsewhere)
		rc = fail_other_directory(name, err);
	else if (rc == 0 && !s.found)
		rc = fail_missing(name, s.bound, err);
	if (rc == 0 && s.older.len)
		print_older(&s);
	buf_release(&s.older);
	return rc;
}

/* Prints which older sandboxes of the chat's thread still have changes. */
static void report_older_trees(struct app *app, const char *thread,
			       const char *label, const struct stop *stop)
{
	struct tree_session none = { 0 };
	struct search s = { .session = &none,
			    .app = app,
			    .stop = stop,
			    .found = true,
			    .settled = true,
			    .own = label,
			    .older = BUF_INIT(1 << 16) };
	struct error ignored = { 0 };
	struct thread t = { 0 };

	if (app_store(app, &s.store, &ignored) == 0 &&
	    thread_find(s.store, thread, NULL, &t, &ignored) == 0)
		(void)thread_label_each(s.store, t.no, NULL, try_label, &s,
					&ignored);
	if (s.older.len)
		print_older(&s);
	thread_release(&t);
	buf_release(&s.older);
}

/* Connects to the sandbox with a separate connection. On failure t->sandbox
 * stays NULL and t->gone is the error. */
static void attach_sandbox(struct tree_session *t, struct app *app,
			   const char *label, const struct stop *stop)
{
	const struct args none = { 0 };
	int rc = target_open(&t->target, app, &none, label, &t->gone);

	if (rc == 0)
		rc = target_attach(&t->target, &t->attached, stop, &t->gone);
	if (rc == 0)
		t->sandbox = &t->attached;
	t->app = app;
}

/* Uses the connection of the chat in which the command was typed. Returns 1 if
 * the chat's sandbox has no tree. */
static int open_chat(struct tree_session *t, struct app *app,
		     const struct stop *stop, struct error *err)
{
	const struct app_chat *chat = app->chat;
	int rc = tree_find(&t->workspace, app, settings_cwd(app->settings),
			   chat->label, stop, err);

	if (rc == 0) {
		t->thread = xstrdup(chat->thread);
		t->branch = changes_came_from(app, chat->thread, NULL);
		t->sandbox = chat->sandbox;
	}
	if (rc >= 0 && chat->label[0])
		report_older_trees(app, chat->thread, chat->label, stop);
	return rc;
}

/* If the sandbox does not answer, that is not an error here: t->sandbox is then
 * NULL. An interrupt is. */
int tree_open(struct tree_session *t, struct app *app, const char *name,
	      const struct stop *stop, struct error *err)
{
	int rc;

	if (app->chat && !name) {
		rc = open_chat(t, app, stop, err);
		if (rc > 0)
			rc = tree_missing_in_chat(app->chat->sandbox, err);
		return rc;
	}
	rc = tree_search(t, app, name, stop, err);
	if (rc == 0 && !t->offline)
		attach_sandbox(t, app, t->workspace.label, stop);
	if (t->gone.code == ERR_CANCELLED) {
		*err = t->gone;
		return -1;
	}
	return rc;
}

int tree_open_label(struct tree_session *t, struct app *app,
		    const struct tree_place *p, const struct stop *stop,
		    struct error *err)
{
	bool elsewhere;
	int rc = tree_find_any(&t->workspace, app, p, &elsewhere, stop, err);

	if (rc == 0)
		attach_sandbox(t, app, p->label, stop);
	if (t->gone.code != ERR_CANCELLED)
		return rc;
	*err = t->gone;
	return -1;
}

void tree_close(struct tree_session *t)
{
	if (t->sandbox == &t->attached && t->sandbox) {
		sandbox_release(&t->attached);
		target_stop_again(&t->target, t->app);
	}
	target_close(&t->target);
	workspace_close(&t->workspace);
	free(t->thread);
	free(t->branch);
	*t = (struct tree_session){ 0 };
}

/* Uses the commit that was fetched last, because the sandbox cannot be
 * reached. */
static int use_last_state(struct tree_session *t, struct fetch *f,
			  const struct stop *stop, struct error *err)
{
	struct workspace *w = &t->workspace;

	if (odb_ref_get(&w->git, w->theirs_ref, f->theirs, stop, err) < 0) {
		if (err->code == ERR_NOT_FOUND)
			*err = t->gone;
		return -1;
	}
	if (fetch_recall(w, f, stop, err) < 0)
		return -1;
	f->same = !strcmp(f->theirs, w->base);
	app_warn("cannot read the sandbox (%s): this is its last known state",
		 t->gone.message);
	return 0;
}

int tree_fetch(struct tree_session *t, struct app *app,
	       const struct fetch_request *with, struct fetch *f,
	       const struct stop *stop, struct error *err)
{
	struct fetch_request r = *with;

	*f = (struct fetch){ 0 };
	r.sandbox = t->sandbox;
	return t->sandbox
		       ? tree_fetch_from(&t->workspace, app, &r, f, stop, err)
		       : use_last_state(t, f, stop, err);
}

bool tree_is_gone(const struct tree_session *t)
{
	return !t->sandbox &&
	       (t->gone.code == ERR_NOT_FOUND || t->gone.code == ERR_GONE);
}
