/* tree.h - the copy of the user's tree in a sandbox: opens, fetches, reports.
 */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_SESSION_TREE_H
#define CMD_SESSION_TREE_H

#include "cmd/app.h"
#include "worktree/fetch.h"
#include "worktree/patch.h"

/* Returns the name that users type: "abcd2345" for "dcode-abcd2345". */
const char *tree_short_name(const char *label);
struct tree_place {        /* borrowed */
	const char *cwd;   /* directory in which the thread was last used;
			      NULL: unknown */
	const char *label; /* label of the sandbox */
};
/* Opens the workspace of a label, for a thread started in cwd. 1: there is
 * none; -1 with err. */
int tree_find(struct workspace *w, struct app *app, const char *cwd,
	      const char *label, const struct stop *stop, struct error *err);
/*
 * Like tree_find(), but for any tree, even one that was deleted. Used to save
 * the sandbox's changes. w->root is "".
 */
int tree_find_label(struct workspace *w, struct app *app, const char *label,
		    const struct stop *stop, struct error *err);

/* Tries tree_find() for cwd, then for this run's directory, then
 * tree_find_label(), which sets *elsewhere. */
int tree_find_any(struct workspace *w, struct app *app,
		  const struct tree_place *p, bool *elsewhere,
		  const struct stop *stop, struct error *err);
/* Fetches the changes from with->sandbox, which must be running. Uses the
 * limits in with if set, otherwise the settings. */
int tree_fetch_from(struct workspace *w, struct app *app,
		    const struct fetch_request *with, struct fetch *f,
		    const struct stop *stop, struct error *err);
/* Calls fetch_later() with the same limits. */
int tree_fetch_later(struct workspace *w, struct app *app,
		     const struct fetch_request *with, struct fetch *f,
		     const struct stop *stop, struct error *err);
/* Prints on stderr which files were refused or left, and why. deleted: the
 * sandbox is deleted, or about to be. */
void tree_report(struct app *app, const struct fetch *f, bool deleted);
/* If names were refused, decides whether to take the other files: yes with
 * partial, otherwise the user is asked. 0 to continue, -1 if not. */
int tree_confirm(struct app *app, const struct fetch *f, bool partial,
		 struct error *err);
/* Appends members of a JSON object:
 * "refused":[...],"left":[...],"ignored":N,... */
void tree_json(struct app *app, const struct fetch *f, struct buf *out);
/* Prints on stderr the changed files that make programs run, such as hooks. */
void loud_print(const struct app *app, const struct review *v);
/* Like loud_print(), for the changes from w's base to the commit theirs. */
int loud_changes(struct app *app, const struct workspace *w, const char *theirs,
		 const struct stop *stop, struct error *err);

#endif
