/* live.h - the chat with a screen: typing goes on while the agent works. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_CHAT_LIVE_H
#define CMD_CHAT_LIVE_H

/*
 * Its state and the functions shared by its files are in live_state.h: read
 * that first.
 */
#include "cmd/session/run.h"

/* True if all three standard streams are a terminal with cursor control and
 * --plain was not given. */
bool live_can(const struct run *r);
/* Like run_chat(), but with a screen. Returns the exit status. */
int live_chat(struct run *r, const char *first);

#endif
