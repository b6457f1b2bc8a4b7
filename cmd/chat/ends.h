/* ends.h - how both kinds of chat begin and end. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_CHAT_ENDS_H
#define CMD_CHAT_ENDS_H

#include "cmd/session/run.h"

/* Printed after the user interrupted the opening. */
#define CHAT_STOPPED                                                           \
	"Interrupted. Type a new message, or press Ctrl-D to leave."

/* Opens the model, the sandbox with its setup, and the hooks and commands of
 * the chat. again: an earlier attempt was interrupted; its remains are undone
 * first. */
int chat_open(struct run *r, bool again, const struct stop *stop,
	      struct error *err);

/* Call before a chat leaves its sandbox. If the sandbox has work and is to be
 * deleted, and the user has not chosen what happens to it, asks at the
 * terminal. ends: the chat ends, so that the question offers to return to it.
 * Returns false if the user chose that or pressed Ctrl-C; app_signal_clear() is
 * left to the caller. Without ends Ctrl-C keeps the sandbox. */
bool chat_ask_exit(struct run *r, bool ends);
/* Calls run_close(). Then prints on stderr: a sandbox that dcode did not create
 * and so did not delete, changes that are not applied in a sandbox that stays,
 * the usage, and how to continue the thread. */
void chat_close(struct run *r);
/* True if the chat must end, because of this error or because of a signal. */
bool chat_ends(enum err code);
/* Sets r, which was just opened, as the thread and sandbox that shell commands
 * typed in the chat act on. */
void chat_enter(struct run *r);
/* Returns the shell's command that the chat offers as name ("/sandbox"). */
const struct command *chat_shell_command(const struct app *app,
					 const char *name);

#endif
