/* history_text.h - messages as text, for a summary, a file or the model. */
/* SPDX-License-Identifier: MIT */
#ifndef AGENT_HISTORY_TEXT_H
#define AGENT_HISTORY_TEXT_H

#include "model/message.h"
#include "model/model.h"

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

#endif
