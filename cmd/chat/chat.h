/* chat.h - a conversation at the terminal. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_CHAT_CHAT_H
#define CMD_CHAT_CHAT_H

struct run;

/* first: the first message, or NULL. Closes the run. Exit status. */
int run_chat(struct run *r, const char *first);

#endif
