/* tree.h - the copy of the user's tree in a sandbox: found, asked, reported. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_SESSION_TREE_H
#define CMD_SESSION_TREE_H

#include "cmd/app.h"
#include "worktree/fetch.h"
#include "worktree/patch.h"

/* "abcd2345" of "dcode-abcd2345": what a user types. */
const char *tree_short_name(const char *label);
struct tree_place {        /* borrowed */
	const char *cwd;   /* that the thread was last used in; NULL: unknown */
	const char *label; /* of the sandbox */
};
/* The workspace of a label, for a thread that was started in cwd. 1: there is
 * none; -1 with err. */
int tree_find(struct workspace *w, struct app *app, const char *cwd,
	      const char *label, const struct stop *stop, struct error *err);
/* The same wherever its tree is, or was: to save what the sandbox has. Of w,
 * root is "". */
int tree_find_label(struct workspace *w, struct app *app, const char *label,
		    const struct stop *stop, struct error *err);

/* tree_find() for cwd, else for the directory of this run, else
 * tree_find_label(): *elsewhere then. */
int tree_find_any(struct workspace *w, struct app *app,
		  const struct tree_place *p, bool *elsewhere,
		  const struct stop *stop, struct error *err);
/* What changed in with->sandbox, which answers. The limits of with count, where
 * they are set. */
int tree_fetch_from(struct workspace *w, struct app *app,
		    const struct fetch_request *with, struct fetch *f,
		    const struct stop *stop, struct error *err);
/* As fetch_later(). */
int tree_fetch_later(struct workspace *w, struct app *app,
		     const struct fetch_request *with, struct fetch *f,
		     const struct stop *stop, struct error *err);
/* Names on stderr what was refused, what stays behind and why; deleted: the
 * sandbox is, or is about to be. */
void tree_report(struct app *app, const struct fetch *f, bool deleted);
/* Where something was refused, the rest is taken only if the user says so: with
 * partial, else a terminal is asked. 0 to go on; -1: it is left. */
int tree_confirm(struct app *app, const struct fetch *f, bool partial,
		 struct error *err);
/* The same as members of a JSON object: "refused":[...],"left":[...],
 * "ignored":N. */
void tree_json(struct app *app, const struct fetch *f, struct buf *out);
/* Names on stderr the changed files that make programs run, such as hooks. */
void loud_print(const struct app *app, const struct review *v);
/* The same for what differs between w's base and the commit theirs. */
int loud_changes(struct app *app, const struct workspace *w, const char *theirs,
		 const struct stop *stop, struct error *err);

#endif
