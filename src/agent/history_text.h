/* history_text.h - converts messages to text for a summary, a file or the
 * model. */
/* SPDX-License-Identifier: MIT */
#ifndef AGENT_HISTORY_TEXT_H
#define AGENT_HISTORY_TEXT_H

#include "agent/agent.h"
#include "session/history.h"

/*
 * Appends a message as text: a heading "## N user" ("answer" or "results" for
 * other messages; none if number is 0), then its texts, calls and results.
 * Thinking is left out. Results and call arguments of more than `most` bytes
 * are shortened; nothing is if most is 0.
 */
void history_text_add(const struct message *m, size_t number, size_t most,
		      struct buf *out);
/* Appends text. Of more than `most` bytes, appends the beginning and the end,
 * with a line between them that has the number of omitted bytes. The same input
 * always gives the same output. UTF-8 characters are not split. */
void history_text_shorten(struct str text, size_t most, struct buf *out);
/* The same, but the line does not mention read_history: for a text that a
 * summary is made of. */
void history_text_shorten_summary(struct str text, size_t most,
				  struct buf *out);
/* Estimates the bytes of the message in a request to this model. */
size_t history_text_size(const struct message *m, const struct model *model);
/* Shortens the results of a message to most bytes each, and the strings in the
 * arguments of its calls unless the vendor has signed them. True if any
 * changed. */
bool history_text_trim(struct message *m, size_t most);
/* Appends the messages stored since the last compaction (after number c->after)
 * to the thread's file in a->history_dir: mode 0600, masked. Does nothing if
 * a->history_dir is NULL. */
int history_text_save(struct agent *a, const struct conversation *c,
		      struct error *err);
/* Appends the requested messages with their numbers, and how to request the
 * rest. Call on the agent's thread. ERR_NOT_FOUND if no message matches. */
int history_text_recall(struct agent *a, const struct tool_recall *what,
			struct buf *out, struct error *err);

#endif
