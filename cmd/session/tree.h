/* tree.h - the tree and the sandbox that diff, apply and sync are about. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_SESSION_TREE_H
#define CMD_SESSION_TREE_H

#include "cmd/app.h"
#include "cmd/sandbox/sandbox_cmd.h"
#include "workspace/fetch/fetch.h"

struct tree_session { /* start from { 0 } */
	bool living;  /* set before: only a sandbox that may be there will do */
	bool anywhere; /* set before: so will a tree of another directory, which
			  is said on stderr; workspace.root is "" then */
	struct workspace workspace;
	char *thread; /* its id, or the label when it has none; owned */
	char *branch; /* that the tree came from, or ""; owned, or NULL */
	struct sandbox *sandbox; /* NULL: it cannot be asked, see gone */
	struct error gone;
	struct app *app; /* that asks it */
	/* Its own, unless the command was typed in the chat of this sandbox. */
	struct sandbox attached;
	struct target target;
};

/*
 * name is a thread as thread_find() takes it, or a sandbox by label, short name
 * or id; NULL is the chat that the command was typed in, else the newest thread
 * of this directory with a tree in a sandbox. Of the sandboxes that a thread
 * has had it is the last one with work; older ones that have some are named on
 * stderr. Where the sandbox has gone, or does not answer, its last seen state
 * remains. ERR_NOT_FOUND when no tree was sent. Close it in any case.
 */
int tree_open(struct tree_session *t, struct app *app, const char *name,
	      const struct stop *stop, struct error *err);
/* A sandbox that tree_open() started is stopped again. */
void tree_close(struct tree_session *t);
/* Its part before anything is asked of the sandbox: tree_search.c. */
int tree_search(struct tree_session *t, struct app *app, const char *name,
		const struct stop *stop, struct error *err);
/* Names on stderr, in the words of tree_open(), what other sandboxes of the
 * thread than that of this label have. */
void tree_name_older(struct app *app, const char *thread, const char *label,
		     const struct stop *stop);
/* Why the sandbox of a chat, which may be this machine, has no tree. */
int tree_missing_in_chat(const struct sandbox *sb, struct error *err);
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
/* As tree_open(), for one sandbox that may be there, wherever its tree is or
 * was: workspace.root may be "". 1: none was sent; close it in any case. */
int tree_open_label(struct tree_session *t, struct app *app,
		    const struct tree_place *p, const struct stop *stop,
		    struct error *err);

/* What changed in the sandbox: asks it, else takes what was last seen there,
 * which is said on stderr. Of with, include counts. Release f in any case. */
int tree_fetch(struct tree_session *t, struct app *app,
	       const struct fetch_request *with, struct fetch *f,
	       const struct stop *stop, struct error *err);
/* The same for with->sandbox, which answers. The limits of with count, where
 * they are set. */
int tree_fetch_from(struct workspace *w, struct app *app,
		    const struct fetch_request *with, struct fetch *f,
		    const struct stop *stop, struct error *err);
/* As fetch_later(). */
int tree_fetch_later(struct workspace *w, struct app *app,
		     const struct fetch_request *with, struct fetch *f,
		     const struct stop *stop, struct error *err);
/* Whether its sandbox has been deleted. */
bool tree_is_gone(const struct tree_session *t);
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

#endif
