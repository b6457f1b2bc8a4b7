/* recall.h - the stored conversation, for the tool read_history. */
/* SPDX-License-Identifier: MIT */
#ifndef AGENT_RECALL_H
#define AGENT_RECALL_H

#include "agent/agent.h"

/* Appends the messages that are asked for, with their numbers, and how to go
 * on. On the agent's thread. ERR_NOT_FOUND when there is none. */
int recall_read(struct agent *a, const struct tool_recall *what,
		struct buf *out, struct error *err);

#endif
