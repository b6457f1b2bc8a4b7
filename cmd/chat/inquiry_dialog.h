/* inquiry_dialog.h - what the model asks the user, in the live part. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_CHAT_INQUIRY_DIALOG_H
#define CMD_CHAT_INQUIRY_DIALOG_H

#include "cmd/chat/answer_row.h"
#include "editor/editor.h"
#include "term/keys.h"
#include "term/theme.h"
#include "tool/tool.h"

struct inquiry_dialog {
	struct inquiry *asked; /* borrowed; NULL: there is none */
	/* its own */
	size_t at;       /* the question that is shown */
	size_t selected; /* of its choices; their number: own words */
	bool types;      /* own words are being typed */
	struct editor editor;
	const char *note;        /* what is wrong with the last key, or NULL */
	enum question_keys keys; /* the caller's: shown in the last row */
};

/* asked is filled with what is typed and chosen. */
void inquiry_dialog_open(struct inquiry_dialog *d, struct inquiry *asked);
/* Moves to what answers nothing by Enter alone: the user's own words. */
void inquiry_dialog_select_own_words(struct inquiry_dialog *d);
void inquiry_dialog_close(struct inquiry_dialog *d); /* a zeroed one is fine */
/* True when it is over: *end is INQUIRY_ANSWERED or INQUIRY_DECLINED. */
bool inquiry_dialog_event(struct inquiry_dialog *d, const struct key_event *ev,
			  enum inquiry_end *end);
/* Appends at most rows rows: the question, its choices or what is typed, and
 * the keys. *caret_row counts from the first row appended. */
void inquiry_dialog_render(struct inquiry_dialog *d, const struct theme *theme,
			   struct rows *out, size_t columns, size_t rows,
			   size_t caret[2]);

#endif
