/* ask_screen.h - questions in the live part of the screen. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_CHAT_ASK_SCREEN_H
#define CMD_CHAT_ASK_SCREEN_H

#include <stdbool.h>

#include "cmd/app.h"
#include "cmd/chat/ask.h"
#include "editor/editor.h"
#include "term/keys.h"
#include "term/rows.h"
#include "term/theme.h"
#include "tool/tool.h"

/* Who gets the keys while a question is open. The chat decides it, because the
 * half-written message is its own. */
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
/* One row that says how to answer while the keys are the message's. */
void answer_row_hint(size_t columns, struct rows *out);

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
/* Handles one key or text at the question. */
enum dialog_answer dialog_event(struct dialog *d, const struct key_event *ev);
/* Appends at most rows rows of at most columns cells: what is asked about,
 * shortened in its middle where it must be, and the answers. Where there is no
 * room for that, one row says so; a yes counts once all of it was shown. */
void dialog_render(struct dialog *d, size_t columns, size_t rows,
		   struct rows *out);
/* All of each call, for the part that scrolls away. False: it is too long. */
bool dialog_render_whole(struct dialog *d, size_t columns, struct rows *out);

/* In the live part: the question with what is typed at it. */
struct choice_dialog {
	const struct app_question *asked; /* borrowed; NULL: there is none */
	struct buf reply;                 /* one line of UTF-8 */
	bool wrong;                       /* the last reply was no answer */
	struct answer_row row;
	enum question_keys keys; /* the caller's: shown, and obeyed */
};

enum {
	CHOICE_DRAFT = -3, /* reply begins a message: the caller takes it */
	CHOICE_OPEN = ASK_NO_CHOICE,
	CHOICE_ENDED = -1, /* Ctrl+D: nobody answers */
};

void choice_open(struct choice_dialog *d, const struct app_question *q);
void choice_close(struct choice_dialog *d); /* a zeroed one is fine */
/* The index of the answer, or one of the above. */
int choice_event(struct choice_dialog *d, const struct key_event *ev);
/* Appends the question and how to answer it. caret[0], from out's first row, is
 * set where what is typed stands in it, else left alone. */
void choice_render(const struct choice_dialog *d, size_t columns,
		   struct rows *out, size_t caret[2]);

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
