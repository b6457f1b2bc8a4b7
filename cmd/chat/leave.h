/* leave.h - what both kinds of chat do with the work at their end. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_CHAT_LEAVE_H
#define CMD_CHAT_LEAVE_H

#include "cmd/session/run.h"

/* A chat that ends by itself, with work in a sandbox that is to be deleted,
 * asks at the terminal what becomes of it. */
void chat_ask_exit(struct run *r);
/* run_close(), and on stderr what the user leaves behind: the sandbox and what
 * is in it, what was used, and how to go on with the thread. */
void chat_close(struct run *r);
/* True when the program shall end after this error, or by a signal. */
bool chat_ends(enum err code);

#endif
