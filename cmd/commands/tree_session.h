/* tree_session.h - finds the tree and the sandbox that a command names. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_COMMANDS_TREE_SESSION_H
#define CMD_COMMANDS_TREE_SESSION_H

#include "cmd/session/target.h"
#include "cmd/session/tree.h"

struct tree_session {  /* initialise with { 0 } */
	bool living;   /* set by the caller: find only a sandbox that may still
			  exist */
	bool anywhere; /* set by the caller: also accept the tree of another
			  directory, with a note on stderr; workspace.root is
			  then "" */
	bool offline;  /* set by the caller: do not connect to the sandbox */
	struct workspace workspace;
	char *thread; /* owned: the thread's id, or the sandbox's label if there
			 is no thread */
	char *branch; /* owned: branch that was checked out when the tree was
			 sent; "" or NULL: unknown */
	struct sandbox *sandbox; /* NULL if the sandbox cannot be reached;
				    `gone` is the reason */
	struct error gone;
	struct app *app; /* borrowed: for ending the connection */
	/* The connection of this session. Unused if the command was typed in
	 * the chat that uses the sandbox. */
	struct sandbox attached;
	struct target target;
};

/*
 * Opens the tree and the sandbox that name stands for: a thread as in
 * thread_find(), or a sandbox by label, short name or id. name NULL: the chat
 * in which the command was typed, otherwise the newest thread of this directory
 * with a tree in a sandbox. If a thread used several sandboxes, the last one
 * with changes is used, and older ones with changes are named on stderr. If the
 * sandbox is gone or does not answer, its last known state is used.
 * ERR_NOT_FOUND if no tree was sent. Call tree_close() even after a failure.
 */
int tree_open(struct tree_session *t, struct app *app, const char *name,
	      const struct stop *stop, struct error *err);
/* If tree_open() has started the sandbox, stops it again. */
void tree_close(struct tree_session *t);
/* Like tree_open() for the sandbox of p->label, whose tree may be that of any
 * directory: if that is not p->cwd or the current one, workspace.root is "".
 * Returns 1 if no tree was sent. Call tree_close() in any case. */
int tree_open_label(struct tree_session *t, struct app *app,
		    const struct tree_place *p, const struct stop *stop,
		    struct error *err);
/* Fetches the changes of the sandbox. If it cannot be reached, uses the state
 * that was fetched last and warns on stderr. Only the include patterns of with
 * are used. Release f in any case. */
int tree_fetch(struct tree_session *t, struct app *app,
	       const struct fetch_request *with, struct fetch *f,
	       const struct stop *stop, struct error *err);
/* True if the sandbox could not be reached because it was deleted. */
bool tree_is_gone(const struct tree_session *t);

#endif
