/* input.h - lines that are typed into the chat. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_CHAT_INPUT_H
#define CMD_CHAT_INPUT_H

#include "base/buf.h"
#include "base/stop.h"

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
/* Call when a question has been shown, before its prompt: waits 0.25 s, then
 * moves what was typed until now to early, also a line that has only been
 * begun, which answers nothing. chat_put_back() has it for the next prompt. */
void chat_set_aside(struct chat_input *in, struct buf *early);
/* The same without the wait, before a list is shown. */
void chat_set_aside_now(struct chat_input *in, struct buf *early);
/* Prints the prompt of the question and appends the line that is typed to line,
 * as chat_read_line(); a message that was begun before is ended first. */
int chat_read_answer(struct chat_input *in, struct buf *early,
		     const char *prompt, struct buf *line);
void chat_put_back(struct chat_input *in, struct buf *early);

#endif
