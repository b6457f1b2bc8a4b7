/* ends.h - how both kinds of chat begin and end. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_CHAT_ENDS_H
#define CMD_CHAT_ENDS_H

#include "cmd/session/run.h"

/* Printed when the user has stopped the opening. */
#define CHAT_STOPPED "Interrupted. The next message begins anew; Ctrl-D leaves."

/* Model, sandbox and setup, hooks and commands of the chat. again: it was
 * stopped once; what that has left goes first. */
int chat_open(struct run *r, bool again, const struct stop *stop,
	      struct error *err);

/* A chat that ends by itself, with work in a sandbox that is to be deleted,
 * asks at the terminal what becomes of it. */
void chat_ask_exit(struct run *r);
/* run_close(), and on stderr what the user leaves behind: the sandbox and what
 * is in it, what was used, and how to go on with the thread. */
void chat_close(struct run *r);
/* True when the program shall end after this error, or by a signal. */
bool chat_ends(enum err code);
/* Tells commands of the shell that are typed in the chat what they act on: the
 * thread and sandbox of r, which has just been opened. */
void chat_enter(struct run *r);
/* The command of the shell that the chat has by this name ("/sandbox"). */
const struct command *chat_shell_command(const struct app *app,
					 const char *name);

#endif
