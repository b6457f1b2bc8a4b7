/* thread_tree.c - a thread's working tree, and its sandbox where it lives. */
/* SPDX-License-Identifier: MIT */
#include "cmd/workspace/thread_tree.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cmd/credential.h"
#include "cmd/sandbox/sandbox_cmd.h"
#include "workspace/fetch.h"
#include "workspace/user_repo.h"

#define FETCH_FILE ((int64_t)100 << 20)
#define FETCH_ALL ((int64_t)2 << 30)

/* Label of a workspace without a sandbox. */
#define NO_LABEL "here"

/* Root of the tree that a directory is in; owned, NULL when there is none. */
static char *root_of(const char *directory)
{
	struct error ignored = { 0 };
	bool is_repository;

	return directory[0]
		       ? user_repo_root(directory, &is_repository, &ignored)
		       : NULL;
}

static int open_label(struct workspace *w, struct app *app, const char *root,
		      const char *label, const struct stop *stop,
		      struct error *err)
{
	struct settings *set;
	char *state;
	int rc;

	if (app_settings(app, &set, err) < 0)
		return -1;
	state = credential_dir(set);
	rc = workspace_open(w, state, root, label, stop, err);
	free(state);
	return rc;
}

struct search {
	struct thread_tree *tree;
	const char *root;
	const struct stop *stop;
};

/* Whether its sandbox ever got this tree. */
static bool has_tree(struct search *s, const struct thread *t)
{
	struct error ignored = { 0 };
	char *root = root_of(t->cwd);
	bool same = t->label[0] && root && !strcmp(root, s->root);

	free(root);
	if (!same || open_label(&s->tree->workspace, s->tree->app, s->root,
				t->label, s->stop, &ignored) < 0)
		return false;
	if (s->tree->workspace.base[0])
		return true;
	workspace_close(&s->tree->workspace);
	return false;
}

static bool on_thread(void *arg, struct thread *t)
{
	struct search *s = arg;

	if (!has_tree(s, t))
		return true;
	s->tree->thread = *t;
	*t = (struct thread){ 0 };
	return false;
}

static int no_tree(struct error *err)
{
	error_set(err, ERR_NOT_FOUND,
		  "no thread of this directory has sent its tree to a sandbox");
	return error_hint(err, "dcode threads list shows the threads;"
			       " --workspace repo sends the tree.");
}

static int open_named(struct search *s, struct store *store, const char *name,
		      struct error *err)
{
	struct thread *t = &s->tree->thread;
	char *root;

	if (thread_find(store, name, NULL, t, err) < 0)
		return -1;
	if (has_tree(s, t))
		return 0;
	root = root_of(t->cwd);
	if (root && strcmp(root, s->root) != 0)
		error_set(err, ERR_USAGE, "thread %s belongs to %s", t->id,
			  root);
	else
		error_set(err, ERR_NOT_FOUND,
			  "thread %s has sent no tree to a sandbox", t->id);
	if (err->code == ERR_USAGE)
		error_hint(err, "cd %s first", root);
	free(root);
	return -1;
}

int thread_tree_open(struct thread_tree *t, struct app *app, const char *name,
		     const struct stop *stop, struct error *err)
{
	struct search s = { .tree = t, .stop = stop };
	struct settings *set;
	struct store *store;
	char *root;
	int rc;

	t->app = app;
	if (app_settings(app, &set, err) < 0 || app_store(app, &store, err) < 0)
		return -1;
	root = root_of(settings_cwd(set));
	if (!root)
		return no_tree(err);
	s.root = root;
	if (name && name[0] && strcmp(name, "latest") != 0)
		rc = open_named(&s, store, name, err);
	else
		rc = thread_each(store, &(struct thread_filter){ 0 }, on_thread,
				 &s, err);
	free(root);
	if (rc == 0 && !t->thread.id)
		rc = no_tree(err);
	return rc;
}

int thread_tree_here(struct workspace *w, struct app *app,
		     const struct stop *stop, struct error *err)
{
	bool is_repository;
	struct settings *set;
	char *root;
	int rc;

	if (app_settings(app, &set, err) < 0)
		return -1;
	root = user_repo_root(settings_cwd(set), &is_repository, err);
	rc = root ? open_label(w, app, root, NO_LABEL, stop, err) : -1;
	free(root);
	return rc;
}

static int fetch_live(struct thread_tree *t, struct target *target,
		      char theirs[GIT_OID], const struct stop *stop,
		      struct error *err)
{
	struct sandbox sb = { 0 };
	struct fetch f = { 0 };
	struct fetch_request r = { .sandbox = &sb,
				   .file_max = FETCH_FILE,
				   .total_max = FETCH_ALL };
	int rc = target_attach(target, &sb, stop, err);

	if (rc < 0)
		return -1;
	rc = fetch_changes(&t->workspace, &r, &f, stop, err);
	if (rc == 0)
		memcpy(theirs, f.theirs, GIT_OID);
	for (size_t i = 0; rc == 0 && i < f.n_refused; i++)
		app_warn("%s %s: refused", f.refused[i].path, f.refused[i].why);
	for (size_t i = 0; rc == 0 && i < f.n_left; i++)
		app_warn("%s %s: left in the sandbox", f.left[i].path,
			 f.left[i].why);
	fetch_release(&f);
	sandbox_release(&sb);
	return rc;
}

static int fetch_stored(struct thread_tree *t, const char *why,
			char theirs[GIT_OID], const struct stop *stop,
			struct error *err)
{
	struct workspace *w = &t->workspace;
	struct error none = { 0 };

	if (odb_ref_get(&w->git, w->theirs_ref, theirs, stop, &none) == 0) {
		app_warn("sandbox %s: %s; this is what was last seen there",
			 w->label, why);
		return 0;
	}
	if (none.code != ERR_NOT_FOUND) {
		*err = none;
		return -1;
	}
	error_set(err, ERR_GONE,
		  "sandbox %s: %s, and nothing of its changes is stored",
		  w->label, why);
	return -1;
}

int thread_tree_fetch(struct thread_tree *t, char theirs[GIT_OID],
		      const struct stop *stop, struct error *err)
{
	static const struct args no_args;
	struct target target = { 0 };
	struct error why = { 0 };
	int rc;

	(void)app_http(t->app);
	rc = target_open(&target, t->app, &no_args, t->workspace.label, &why);
	if (rc == 0 && target.state == LEDGER_GONE) {
		rc = error_set(&why, ERR_GONE, "it is gone");
	} else if (rc == 0) {
		rc = fetch_live(t, &target, theirs, stop, &why);
	}
	target_close(&target);
	if (rc == 0)
		return 0;
	if (why.code == ERR_GONE || why.code == ERR_NOT_FOUND)
		return fetch_stored(t, why.message, theirs, stop, err);
	*err = why;
	return -1;
}

void thread_tree_close(struct thread_tree *t)
{
	thread_release(&t->thread);
	workspace_close(&t->workspace);
}
