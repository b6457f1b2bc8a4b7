/* approvals.h - what is asked about, as the user lists and changes it. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_CHAT_APPROVALS_H
#define CMD_CHAT_APPROVALS_H

#include "cmd/session/run.h"

/* Commands of the chat, on the thread that its work is done on; words: what was
 * typed after the name. They return true: the chat goes on. */
bool approvals_command(struct run *r, int n, char **words); /* /approvals */
bool approvals_mode(struct run *r, int n, char **words);    /* /mode */
bool approvals_manual(struct run *r, int n, char **words);
bool approvals_auto_edit(struct run *r, int n, char **words);
bool approvals_yolo(struct run *r, int n, char **words);

#endif
