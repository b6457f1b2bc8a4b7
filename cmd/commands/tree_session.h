/* tree_session.h - the tree and the sandbox that a command names. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_COMMANDS_TREE_SESSION_H
#define CMD_COMMANDS_TREE_SESSION_H

#include "cmd/session/target.h"
#include "cmd/session/tree.h"

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
/* Whether its sandbox has been deleted. */
bool tree_is_gone(const struct tree_session *t);

#endif
