/* history_text.h - messages as text, for a summary, a file or the model. */
/* SPDX-License-Identifier: MIT */
#ifndef AGENT_HISTORY_TEXT_H
#define AGENT_HISTORY_TEXT_H

#include "agent/agent.h"
#include "session/history.h"

/*
 * Appends a message: a line "## N user" (answer, results; number 0: without
 * one), then its texts, calls and results. Thinking stays out. A result, and
 * the arguments of a call, of more than most bytes are shortened; 0: none is.
 */
void history_text_add(const struct message *m, size_t number, size_t most,
		      struct buf *out);
/* Appends text; when it has more than most bytes its beginning and end with a
 * line in between that says how much is left out. Always the same for the same
 * text; UTF-8 stays whole. */
void history_text_shorten(struct str text, size_t most, struct buf *out);
/* The same for a summary, which read_history does not show. */
void history_text_shorten_summary(struct str text, size_t most,
				  struct buf *out);
/* About as many bytes as it has in a request to this model. */
size_t history_text_size(const struct message *m, const struct model *model);
/* Shortens the results of a message to most bytes each, and the strings in the
 * arguments of its calls, unless the vendor has signed them. True when any
 * was. */
bool history_text_trim(struct message *m, size_t most);
/* Adds the messages that are stored since the last compaction (c->after) to the
 * thread's file in a->history_dir: 0600, masked. Without that directory nothing
 * is done. */
int history_text_save(struct agent *a, const struct conversation *c,
		      struct error *err);
/* Appends the messages that are asked for, with their numbers, and how to go
 * on. On the agent's thread. ERR_NOT_FOUND when there is none. */
int history_text_recall(struct agent *a, const struct tool_recall *what,
			struct buf *out, struct error *err);

#endif
