/* live.h - the chat with a screen: typing goes on while the agent works. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_CHAT_LIVE_H
#define CMD_CHAT_LIVE_H

/*
 * Its state and the doors between its rooms are in live_state.h: read that
 * first.
 */
#include "cmd/session/run.h"

/* True when all three standard streams are a terminal that knows more than
 * lines, and --plain was not given. */
bool live_can(const struct run *r);
/* run_chat() there. Exit status. */
int live_chat(struct run *r, const char *first);

#endif
