/* choice.h - a question of the program's own in either chat: may this project's
 * hook run, is the tree sent, what becomes of the sandbox.
 * SPDX-License-Identifier: MIT
 */
#ifndef CMD_CHAT_CHOICE_H
#define CMD_CHAT_CHOICE_H

#include "cmd/app.h"
#include "cmd/chat/answer_row.h"
#include "cmd/chat/input.h"

/* Asks in the chat of lines until one of the answers is typed; arg of
 * app_asker is this. */
struct choice_lines {
	struct app *app;
	struct chat_input *input;
};
int choice_ask_lines(void *arg, const struct app_question *q,
		     struct error *err);

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
	CHOICE_OPEN = -2,
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

#endif
