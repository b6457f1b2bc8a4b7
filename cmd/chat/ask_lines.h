/* ask_lines.h - reads typed lines, and asks questions without a screen. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_CHAT_ASK_LINES_H
#define CMD_CHAT_ASK_LINES_H

#include <pthread.h>

#include "base/buf.h"
#include "base/stop.h"
#include "cmd/chat/ask.h"
#include "cmd/chat/slash_cmd.h"
#include "tool/tool.h"

enum { CHAT_MAX_LINE = 10 << 20 };

struct chat_input { /* initialise with cancel set, lock, and typed
		       = BUF_INIT(CHAT_MAX_LINE) */
	const struct cancel *cancel; /* Ctrl-C; borrowed */
	struct buf typed; /* input bytes that are not yet a complete line */
	bool ended;       /* standard input is at its end */
	bool quits;       /* /quit was the answer to a question of dcode */
	bool begun; /* the end of a message that was set aside is still missing
		     */
	int64_t until; /* deadline of reads as clock_ms(); 0: none */
	/* Another thread may read what is typed, with the lock held, while
	 * nothing is asked. */
	pthread_mutex_t lock;
	bool asks; /* a question reads the terminal */
};

/* Appends a line without its line end. Returns 1 for a line, 0 at the end of
 * input, -1 on an interrupt or at the deadline. */
int chat_read_line(struct chat_input *in, struct buf *line);
/* True if input, even an unfinished line, arrives at the terminal within ms. */
bool chat_more_typed(const struct chat_input *in, int ms);

/* Asks in the line chat until one of the answers is typed. The arg of app_asker
 * points to this struct. */
struct choice_lines {
	struct app *app;
	struct chat_input *input;
};
int choice_ask_lines(void *arg, const struct app_question *q,
		     struct error *err);

struct approve { /* set app and input, zero the rest */
	struct app *app;
	struct chat_input *input;
	bool explained; /* the possible answers were explained */
};

/*
 * Implements asker.ask: shows the calls and asks; arg is the struct approve.
 * The question shows the beginning and the end of each argument, on one screen;
 * "v" shows everything. If the terminal became smaller before the answer, the
 * question is asked again. At the end of input the call is declined and the
 * turn is stopped.
 */
enum dialog_answer chat_approve(void *arg, struct question *q,
				const struct stop *stop);

/* Prints each question with numbered choices and reads a line for it. Like
 * agent_ui.ask except for the first argument. Text typed before a question was
 * shown does not answer it. */
int chat_inquire(struct chat_input *in, struct inquiry *q,
		 enum inquiry_end *end, const struct stop *stop,
		 struct error *err);

/* Prints the items with numbers and reads a number, or letters. Letters that
 * match one item choose it; otherwise the matches are printed. Returns the
 * index, or -1. */
int choose_line(const struct pick *p, struct chat_input *in);

#endif
