/* history_file.h - the text of what was taken out of a history, as a file. */
/* SPDX-License-Identifier: MIT */
#ifndef AGENT_HISTORY_FILE_H
#define AGENT_HISTORY_FILE_H

#include "agent/agent.h"
#include "session/history.h"

/* Adds the messages that are stored since the last compaction (c->after) to the
 * thread's file in a->history_dir: 0600, masked. Without that directory nothing
 * is done. */
int history_file_add(struct agent *a, const struct conversation *c,
		     struct error *err);

#endif
