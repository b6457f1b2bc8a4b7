/* dialog.h - the question whether a call may run, in the live part. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_CHAT_DIALOG_H
#define CMD_CHAT_DIALOG_H

#include "cmd/chat/answer_row.h"
#include "cmd/chat/call_view.h"
#include "editor/editor.h"
#include "term/keys.h"
#include "term/rows.h"

enum dialog_answer {
	DIALOG_OPEN, /* no answer yet */
	DIALOG_YES,
	DIALOG_ALWAYS,    /* this call, as it is shown, for the session */
	DIALOG_CONFIG,    /* the same, kept in the user's config.toml */
	DIALOG_NO,        /* and the turn ends */
	DIALOG_REASON,    /* no, for the reason that was typed */
	DIALOG_SHOW,      /* print all of it; the question stays */
	DIALOG_EDITED,    /* the call is changed: judge and ask anew */
	DIALOG_ELSEWHERE, /* to be changed in the user's own editor */
	DIALOG_TOGETHER,  /* one question for all calls of the answer */
	DIALOG_ONE,       /* one question for each, again */
	DIALOG_EDITS,     /* Shift+Tab: this edit and those to come, if the
			     caller finds that auto-edit allows it */
};

/* What is asked: whether these calls may run. */
struct question {
	struct approval *const *list; /* borrowed */
	size_t n;                     /* several: all of them, or none */
	struct buf edited; /* out: DIALOG_EDITED: the text as it is now */
};

struct dialog {
	const struct question *asked; /* borrowed; NULL: there is none */
	struct call_view view;        /* of the first call */
	bool explains;                /* the reason is being typed */
	struct buf reason;            /* one line of UTF-8 */
	bool edits;                   /* the call is being changed */
	struct editor editor;
	char label[48]; /* of what is changed */
	size_t hidden;  /* rows that did not fit the last time */
	bool seen;      /* it was shown: a yes counts */
	struct answer_row row;
	enum question_keys keys; /* the caller's: shown, and obeyed */
	const char *note;        /* why the last key did not answer, or NULL */
};

void dialog_open(struct dialog *d, const struct question *asked);
void dialog_close(struct dialog *d); /* a zeroed one is fine */
/* What was typed while it is shown. */
enum dialog_answer dialog_event(struct dialog *d, const struct key_event *ev);
/* Whether several calls of the answer are left to be asked about. */
bool dialog_has_more(const struct question *q);
/* What of the call the user may change; text is borrowed. NULL: nothing. */
const char *dialog_editable(const struct question *q, struct str *text);
/* Appends at most rows rows of at most columns cells: what is asked about,
 * shortened in its middle where it must be, and the answers. Where there is no
 * room for that, one row says so; a yes counts once all of it was shown. */
void dialog_render(struct dialog *d, size_t columns, size_t rows,
		   struct rows *out);
/* All of each call, for the part that scrolls away. False: it is too long. */
bool dialog_render_whole(struct dialog *d, size_t columns, struct rows *out);

#endif
