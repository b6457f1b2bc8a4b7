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

/* Who gets the keys while a question is open. The chat decides, because it also
 * has the half-written message. */
enum question_keys {
	QUESTION_TOO_NEW,  /* shown too recently to have been read */
	QUESTION_DRAFT,    /* a message is being written and gets the keys until
			      an arrow key is pressed */
	QUESTION_PAUSE,    /* the draft is empty, but was edited a moment ago:
			      letters begin a message, and answer later */
	QUESTION_LETTERS,  /* a single key answers */
	QUESTION_SELECTED, /* an arrow key has moved the focus to the question
			    */
};

enum { ANSWER_ROW_MOST = 10 };

struct answer_row {
	const char *labels[ANSWER_ROW_MOST]; /* borrowed */
	size_t n;
	size_t selected;
	size_t safe;   /* the least dangerous answer: selected at first */
	char pressed;  /* letter of an answer that lasts, given once: it counts
			  when it is given again */
	bool by_enter; /* it was given with Enter on the row */
};
/* If keys do not answer the question yet, draws one row that says how to move
 * the focus to it, or that keys answer in wait_s seconds. Returns false if they
 * already do. */
bool answer_row_hint(enum question_keys keys, int wait_s, size_t columns,
		     struct rows *out);

struct dialog {
	const struct question *asked; /* borrowed; NULL: no open question */
	struct call_view view;        /* describes the first call */
	bool explains;                /* the user is typing a reason */
	struct buf reason;            /* one line of UTF-8 */
	bool edits;                   /* the user is editing the call */
	struct editor editor;
	char label[48]; /* name of the edited argument */
	size_t hidden;  /* rows that did not fit when it was last drawn */
	bool seen;      /* the call was shown, maybe shortened: a yes counts */
	bool edits_allowed; /* set by the caller: Shift+Tab allows this edit */
	char letters[24];   /* the letters that answer now */
	struct answer_row row;
	enum question_keys keys; /* set by the caller; decides what is drawn and
				    accepted */
	int wait_s;       /* set by the caller: s until QUESTION_PAUSE ends */
	const char *note; /* why the last key was not an answer, or NULL */
};

void dialog_open(struct dialog *d, const struct question *asked);
void dialog_close(struct dialog *d); /* d may be zeroed */
/* Handles one key or text at the question. */
enum dialog_answer dialog_event(struct dialog *d, const struct key_event *ev);
/* Appends at most rows rows of at most columns cells: the calls, shortened in
 * the middle if needed, and the answers. If there is no room, one row says so,
 * and a yes counts only after the whole call was shown. */
void dialog_render(struct dialog *d, size_t columns, size_t rows,
		   struct rows *out);
/* Renders every call in full, for the scrollback. False: too long to show. */
bool dialog_render_whole(struct dialog *d, size_t columns, struct rows *out);

/* A question of dcode itself in the live part. */
struct choice_dialog {
	const struct app_question *asked; /* borrowed; NULL: no open question */
	char letters[2 * ANSWER_ROW_MOST + 1]; /* the letters that answer */
	struct answer_row row;
	enum question_keys keys; /* set by the caller; decides what is drawn and
				    accepted */
	int wait_s; /* set by the caller: s until QUESTION_PAUSE ends */
};

enum {
	CHOICE_OPEN = ASK_NO_CHOICE,
	CHOICE_ENDED = -1, /* Ctrl+D: no answer */
};

void choice_open(struct choice_dialog *d, const struct app_question *q);
/* Returns the index of the answer, or one of the values above. */
int choice_event(struct choice_dialog *d, const struct key_event *ev);
/* Appends the question and the ways to answer it. */
void choice_render(const struct choice_dialog *d, size_t columns,
		   struct rows *out);

#endif
