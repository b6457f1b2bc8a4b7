/* secret.h - reads secrets and yes/no answers from a terminal or a pipe. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_SECRET_H
#define CMD_SECRET_H

#include "cmd/app.h"

/* Allocates locked memory for one secret; it is zeroed when freed. */
char *secret_room(size_t size);
void secret_free(char *room);

/* True if there is a user at a terminal to ask. */
bool secret_terminal(const struct app *app);
/* Shows prompt and reads a line with echo off. Trims it. Returns its length, or
 * -1: ERR_USAGE without a terminal, ERR_CANCELLED, ERR_LIMIT. room is not
 * NUL-terminated. */
int secret_ask(struct app *app, const char *prompt, char *room, size_t size,
	       struct error *err);
/*
 * Like secret_ask(), but returns SECRET_LEFT at once on Esc, and on Ctrl+D in
 * an empty line. Escape sequences that the terminal adds to pasted text are
 * skipped.
 */
enum { SECRET_LEFT = -2 };
int secret_ask_or_leave(struct app *app, const char *prompt, char *room,
			size_t size, struct error *err);
/* Reads all of standard input, trimmed. Returns its length, or -1 with err. */
int secret_read(struct app *app, char *room, size_t size, struct error *err);
/* Asks a question, which must end in " [y/N] ". Returns 1 for y or yes, 0 for
 * anything else. Keys typed before the question are dropped. In a chat, the
 * question is shown next to the message draft. -1 with ERR_CANCELLED also at
 * the end of input. */
int secret_confirm(struct app *app, const char *question, struct error *err);
/* Like secret_confirm() for a question that ends in " [y/N/e] ". Returns 2 for
 * e or edit. */
int secret_confirm_or_edit(struct app *app, const char *question,
			   struct error *err);
/*
 * Like secret_confirm(), but for a question before the first prompt, when the
 * user may already be typing a message. In a chat, text other than an answer
 * goes into the draft and the question stays open.
 */
int secret_confirm_first(struct app *app, const char *question,
			 struct error *err);

#endif
