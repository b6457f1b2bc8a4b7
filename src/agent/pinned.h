/* pinned.h - what no compaction changes: the last request, the open tasks. */
/* SPDX-License-Identifier: MIT */
#ifndef AGENT_PINNED_H
#define AGENT_PINNED_H

#include "agent/agent.h"
#include "session/history.h"

/* The index of the user's last request; c->n: there is none. */
size_t pinned_request(const struct conversation *c);
/* Makes m (empty) the message with the summary. */
void pinned_summary(struct message *m, struct str summary);
/* Adds the last list of write_todos to it, byte for byte, where the messages
 * from cut on do not have it. */
void pinned_todos(struct message *m, const struct conversation *c, size_t cut);
/* ERR_LIMIT, naming the largest, where what is always sent does not fit the
 * window of the model. */
int pinned_check(const struct agent *a, const struct conversation *c,
		 struct error *err);

#endif
