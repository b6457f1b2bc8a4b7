/* chat.h - a conversation at the terminal. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_CHAT_CHAT_H
#define CMD_CHAT_CHAT_H

struct run;

/* Runs the chat and closes the run. first: the first message, or NULL. Returns
 * the exit status. */
int run_chat(struct run *r, const char *first);

#endif
