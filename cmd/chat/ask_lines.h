/* ask_lines.h - lines that are typed, and questions that are answered by them.
 */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_CHAT_ASK_LINES_H
#define CMD_CHAT_ASK_LINES_H

#include "base/buf.h"
#include "base/stop.h"
#include "cmd/chat/ask.h"
#include "cmd/chat/slash_cmd.h"
#include "tool/tool.h"

enum { CHAT_MAX_LINE = 10 << 20 };

struct chat_input {            /* cancel set, typed = BUF_INIT(CHAT_MAX_LINE) */
	struct cancel *cancel; /* Ctrl-C; borrowed */
	struct buf typed;      /* read from standard input, not yet a line */
	bool ended;            /* standard input is at its end */
	bool begun;            /* a message that was set aside has no end yet */
	int64_t until; /* clock_ms(): nothing is waited for longer; 0: ever */
};

/* Appends a line without its end. 1 got one, 0 at the end, -1 interrupted, or
 * the time is up. */
int chat_read_line(struct chat_input *in, struct buf *line);
/* True when a line, or the beginning of one, is at the terminal within ms. */
bool chat_more_typed(const struct chat_input *in, int ms);

/* Asks in the chat of lines until one of the answers is typed; arg of
 * app_asker is this. */
struct choice_lines {
	struct app *app;
	struct chat_input *input;
};
int choice_ask_lines(void *arg, const struct app_question *q,
		     struct error *err);

struct approve { /* app and input set, else zeroed */
	struct app *app;
	struct chat_input *input;
	bool explained; /* the answers have been said */
};

/*
 * Shows the calls and asks; arg is the struct approve. The question stands
 * under the beginning and the end of each argument, on one screen; "v" shows
 * all that lies between. A terminal that became smaller before the answer is
 * asked anew. At the end of input the answer is no, and the turn is stopped.
 * As asker.ask.
 */
enum dialog_answer chat_approve(void *arg, struct question *q,
				const struct stop *stop);

/* Prints each question with numbered choices and reads a line for it: as
 * agent_ui.ask, but for its first argument. What was typed before a question
 * was shown answers none. */
int chat_inquire(struct chat_input *in, struct inquiry *q,
		 enum inquiry_end *end, const struct stop *stop,
		 struct error *err);

/* Prints the items with numbers and reads a number, or letters that only one
 * has, else those that have them are printed. The index, or -1. */
int choose_line(const struct pick *p, struct chat_input *in);

#endif
