/* contacts.h - logs what the commands of a run have connected to. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_CONTACTS_H
#define CMD_CONTACTS_H

/*
 * For sandboxes whose proxy reports it (reach_ops.take_contacts). After each
 * command the contacts go into the thread's log (session/contact_log.h), and
 * what was refused also into the result of -n.
 */
#include <pthread.h>

#include "cmd/app.h"
#include "model/message.h"
#include "sandbox/sandbox.h"

struct contacts { /* initialise with contacts_open() */
	struct app *app;
	pthread_mutex_t lock; /* several subagents run commands at once */
	struct store *store;  /* owned: a connection of its own, or NULL */
	struct network_contacts refused; /* of the whole run */
	char *call, *command; /* owned: of the last call; NULL: none */
};
void contacts_open(struct contacts *c, struct app *app);
/* Logs what was connected to since the last time. thread: its id. call: the
 * tool call that has just run. NULL: no call has run, and connections that
 * ended late belong to the last call. Any thread. */
void contacts_note(struct contacts *c, const char *thread, struct sandbox *sb,
		   const struct part *call);
/* Records hosts, one per line, that a call named and nobody could allow. */
void contacts_refuse(struct contacts *c, struct str hosts);
/* Appends the member "network_refused" of the JSON result, if hosts were
 * refused. */
void contacts_json(const struct contacts *c, struct buf *out);
/* Does nothing if contacts_open() was not called. */
void contacts_close(struct contacts *c);

#endif
