/* tree.h - the copy of the user's tree in a sandbox: opens, fetches,
 * reports. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_SESSION_TREE_H
#define CMD_SESSION_TREE_H

#include "cmd/app.h"
#include "worktree/fetch.h"
#include "worktree/patch.h"

/* Returns the name that users type: "abcd2345" for "dcode-abcd2345". */
const char *tree_short_name(const char *label);
struct tree_place {        /* borrowed */
	const char *cwd;   /* the thread's last directory; NULL: unknown */
	const char *label; /* label of the sandbox */
};
/* Opens the workspace of the sandbox label for the tree that contains the
 * directory cwd. Returns 1 if there is none, -1 with err. */
int tree_find(struct workspace *w, struct app *app, const char *cwd,
	      const char *label, const struct stop *stop, struct error *err);
/*
 * Like tree_find(), but for a tree anywhere, even if its directory was deleted.
 * w->root is "". Used to save the sandbox's changes.
 */
int tree_find_label(struct workspace *w, struct app *app, const char *label,
		    const struct stop *stop, struct error *err);

/* Tries tree_find() for p->cwd, then for the current directory, then
 * tree_find_label(). *elsewhere: only the last found it. */
int tree_find_any(struct workspace *w, struct app *app,
		  const struct tree_place *p, bool *elsewhere,
		  const struct stop *stop, struct error *err);
/* If the sandbox has a copy of the repository, waits for its first commit, like
 * the commands of the agent do. Another dcode may still be making the commit,
 * or may have been killed before that. */
void tree_await_commit(struct app *app, const char *label, struct sandbox *sb,
		       const struct stop *stop);
/* Fetches the changes from with->sandbox, which must be running. Uses the size
 * limits in with, or those of the settings if with->total_max is 0. */
int tree_fetch_from(struct workspace *w, struct app *app,
		    const struct fetch_request *with, struct fetch *f,
		    const struct stop *stop, struct error *err);
/* fetch_later() with the limits of tree_fetch_from(). */
int tree_fetch_later(struct workspace *w, struct app *app,
		     const struct fetch_request *with, struct fetch *f,
		     const struct stop *stop, struct error *err);
/* Prints on stderr which changed files were not fetched, because they were
 * refused or left in the sandbox, and why. deleted: the sandbox was deleted or
 * soon will be. */
void tree_report(struct app *app, const struct fetch *f, bool deleted);
/* Decides whether to continue if some files were refused because of their
 * names. partial: yes. Otherwise asks the user. Returns 0 to continue, -1 with
 * err. */
int tree_confirm(struct app *app, const struct fetch *f, bool partial,
		 struct error *err);
/* Appends members of a JSON object:
 * "refused":[...],"left":[...],"ignored":N,... */
void tree_json(struct app *app, const struct fetch *f, struct buf *out);
/* Prints on stderr which changed files can make programs run, such as hooks. */
void loud_print(const struct app *app, const struct review *v);
/* loud_print() for the changes from w->base to the commit theirs. */
int loud_changes(struct app *app, const struct workspace *w, const char *theirs,
		 const struct stop *stop, struct error *err);

#endif
