/* tree_session.h - finds the tree and the sandbox that a command names. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_COMMANDS_TREE_SESSION_H
#define CMD_COMMANDS_TREE_SESSION_H

#include "cmd/session/target.h"
#include "cmd/session/tree.h"

struct tree_session {  /* initialise with { 0 } */
	bool living;   /* in: require a sandbox that may still exist */
	bool anywhere; /* in: also accept a tree of another directory, with a
			  note on stderr; workspace.root is "" then */
	struct workspace workspace;
	char *thread; /* the thread's id, or the label if there is no thread;
			 owned */
	char *branch; /* branch that the tree came from, or ""; owned, or NULL
		       */
	struct sandbox *sandbox; /* NULL: not reachable, see gone */
	struct error gone;
	struct app *app; /* borrowed: makes and ends the connection */
	/* This session's own connection. Unused if the command was typed in the
	 * chat of this sandbox. */
	struct sandbox attached;
	struct target target;
};

/*
 * name is a thread as in thread_find(), or a sandbox by label, short name or
 * id. NULL means the chat in which the command was typed, else the newest
 * thread of this directory with a tree in a sandbox. If a thread used several
 * sandboxes, the last one with changes is used, and older ones with changes are
 * named on stderr. If the sandbox is gone or does not answer, its last known
 * state is used. ERR_NOT_FOUND if no tree was sent. Call tree_close() even
 * after a failure.
 */
int tree_open(struct tree_session *t, struct app *app, const char *name,
	      const struct stop *stop, struct error *err);
/* Also stops a sandbox that tree_open() started. */
void tree_close(struct tree_session *t);
/* Like tree_open() for one sandbox that may still exist, wherever its tree is
 * or was: workspace.root may be "". Returns 1 if no tree was sent. Call
 * tree_close() in any case. */
int tree_open_label(struct tree_session *t, struct app *app,
		    const struct tree_place *p, const struct stop *stop,
		    struct error *err);
/* Fetches the changes of the sandbox. If it cannot be reached, uses the last
 * known state and says so on stderr. Only with->include is used. Release f in
 * any case. */
int tree_fetch(struct tree_session *t, struct app *app,
	       const struct fetch_request *with, struct fetch *f,
	       const struct stop *stop, struct error *err);
/* True if the sandbox has been deleted. */
bool tree_is_gone(const struct tree_session *t);

#endif
