/* dialog.h - the question whether a call may run, in the live part. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_CHAT_DIALOG_H
#define CMD_CHAT_DIALOG_H

#include "cmd/chat/call_view.h"
#include "term/keys.h"
#include "term/rows.h"

enum dialog_answer {
	DIALOG_OPEN, /* no answer yet */
	DIALOG_YES,
	DIALOG_ALWAYS, /* this call, as it is shown, for the whole session */
	DIALOG_NO,     /* and the turn ends */
	DIALOG_REASON, /* no, for the reason that was typed */
	DIALOG_SHOW,   /* print all of it; the question stays */
};

struct dialog {
	const struct approval *asked; /* borrowed; NULL: there is none */
	struct call_view view;
	bool explains;     /* the reason is being typed */
	struct buf reason; /* one line of UTF-8 */
	size_t hidden;     /* rows that did not fit the last time */
	bool seen;         /* it was shown: a yes counts */
};

void dialog_open(struct dialog *d, const struct approval *asked);
void dialog_close(struct dialog *d); /* a zeroed one is fine */
/* What was typed while it is shown. */
enum dialog_answer dialog_event(struct dialog *d, const struct key_event *ev);
/* Appends at most rows rows of at most columns cells: what is asked about,
 * shortened in its middle where it must be, and the answers. Where there is no
 * room for that, one row says so; a yes counts once all of it was shown. */
void dialog_render(struct dialog *d, size_t columns, size_t rows,
		   struct rows *out);
/* All of the call, for the part that scrolls away. False: it is too long. */
bool dialog_render_whole(struct dialog *d, size_t columns, struct rows *out);

#endif
