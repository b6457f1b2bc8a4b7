/* ask_inquiry.h - the model's questions in the live part of the screen. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_CHAT_ASK_INQUIRY_H
#define CMD_CHAT_ASK_INQUIRY_H

#include <stdbool.h>

#include "cmd/chat/ask_screen.h"
#include "editor/editor.h"
#include "term/keys.h"
#include "term/rows.h"
#include "term/theme.h"
#include "tool/tool.h"

struct inquiry_dialog {
	struct inquiry *asked; /* borrowed; NULL: no open question */
	/* private */
	size_t at;       /* index of the question that is shown */
	size_t selected; /* index of the selected choice; n_choices: a free
			    answer */
	bool types;      /* the user is typing a free answer */
	struct editor editor;
	const char *note;        /* why the last key was refused, or NULL */
	bool declines;           /* Esc once more declines, in spite of the
				    answers that were given */
	enum question_keys keys; /* set by the caller; shown in the last row */
	int wait_s;  /* set by the caller: s until QUESTION_PAUSE ends */
	bool drafts; /* set by the caller: a message is shown below, to which
			Esc returns */
};

/* The answers are stored in asked. */
void inquiry_dialog_open(struct inquiry_dialog *d, struct inquiry *asked);
/* Selects the free answer, which is the row next to a message below, so that
 * Enter alone answers nothing. */
static inline void inquiry_dialog_select_own_words(struct inquiry_dialog *d)
{
	d->selected = d->asked->items[d->at].n_choices;
}
void inquiry_dialog_close(struct inquiry_dialog *d); /* d may be zeroed */
/* Returns true when finished: *end is INQUIRY_ANSWERED or INQUIRY_DECLINED. */
bool inquiry_dialog_event(struct inquiry_dialog *d, const struct key_event *ev,
			  enum inquiry_end *end);
/* Appends at most rows rows: the question, its choices or the typed answer, and
 * the keys. No choice is marked while a message gets the keys. *caret_row
 * counts from the first appended row. */
void inquiry_dialog_render(struct inquiry_dialog *d, const struct theme *theme,
			   struct rows *out, size_t columns, size_t rows,
			   size_t caret[2]);

#endif
