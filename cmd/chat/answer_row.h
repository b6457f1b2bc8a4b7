/* answer_row.h - the answers of a question, in a row that arrow keys move in.
 * SPDX-License-Identifier: MIT
 */
#ifndef CMD_CHAT_ANSWER_ROW_H
#define CMD_CHAT_ANSWER_ROW_H

#include <stdbool.h>

#include "term/keys.h"
#include "term/rows.h"

/* Whose the keys are while a question is open. Only the chat knows: the message
 * that is being written is its own. */
enum question_keys {
	QUESTION_TOO_NEW,  /* nobody can have read it yet */
	QUESTION_DRAFT,    /* the message's, until an arrow key is pressed */
	QUESTION_LETTERS,  /* a single key answers */
	QUESTION_SELECTED, /* an arrow key has moved the focus here */
};

enum { ANSWER_ROW_MOST = 10 };

struct answer_row {
	const char *labels[ANSWER_ROW_MOST]; /* borrowed */
	size_t n;
	size_t selected;
};

/* Left and Up move back, Right and Down forward, around the ends.
 * False: another key. */
bool answer_row_move(struct answer_row *a, const struct key *key);
/* One row: the selected answer stands out, also without colours. Where they do
 * not all fit it begins with the selected one. */
void answer_row_render(const struct answer_row *a, size_t columns,
		       struct rows *out);
/* One row that says how to answer while the keys are the message's. */
void answer_row_hint(size_t columns, struct rows *out);

#endif
