/* secret.h - reads a secret from a terminal without echo, or a pipe. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_SECRET_H
#define CMD_SECRET_H

#include "cmd/app.h"

/* Locked memory for one secret, zeroed when freed. */
char *secret_room(size_t size);
void secret_free(char *room);

/* True when there is a terminal to ask at. */
bool secret_terminal(const struct app *app);
/* Shows prompt on the terminal and reads a line that is not shown, white space
 * off its ends. Returns its length; -1: ERR_USAGE without a terminal,
 * ERR_CANCELLED, ERR_LIMIT. room is not NUL-terminated. */
int secret_ask(struct app *app, const char *prompt, char *room, size_t size,
	       struct error *err);
/* The same; Esc and Ctrl+D leave at once, and what a terminal puts around a
 * paste is left out. SECRET_LEFT where the user has left. */
enum { SECRET_LEFT = -2 };
int secret_ask_or_leave(struct app *app, const char *prompt, char *room,
			size_t size, struct error *err);
/* All of standard input, white space off its ends. */
int secret_read(struct app *app, char *room, size_t size, struct error *err);
/* A question, which ends in " [y/N] ", that is answered by y or yes; what was
 * typed before does not answer it. In a chat it is put there, beside the
 * message that is being written. -1 with ERR_CANCELLED at the end of input
 * too. */
int secret_confirm(struct app *app, const char *question, struct error *err);
/* The same of a question that stands before the first prompt, where the user
 * may type a message as well: in a chat what is no answer becomes that message,
 * and the question stays. */
int secret_confirm_first(struct app *app, const char *question,
			 struct error *err);

#endif
