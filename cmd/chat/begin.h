/* begin.h - what both kinds of chat do before their first prompt. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_CHAT_BEGIN_H
#define CMD_CHAT_BEGIN_H

#include "cmd/session/run.h"

/* What is said where the user has stopped that. */
#define CHAT_STOPPED "Interrupted. The next message begins anew; Ctrl-D leaves."

/* Model, sandbox and setup, hooks and commands of the chat. again: it was
 * stopped once; what that has left goes first. */
int chat_open(struct run *r, bool again, const struct stop *stop,
	      struct error *err);

#endif
