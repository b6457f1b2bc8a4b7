/* slash.h - the commands of the chat that begin with a slash. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_CHAT_SLASH_H
#define CMD_CHAT_SLASH_H

#include "cmd/run/run.h"
#include "editor/fuzzy.h"

/* True for a slash and a word of letters, digits, "-" and "_", and for "exit".
 * Paths, and the rest of what begins with a slash, are text for the model. */
bool slash_is_command(struct str line);
/* All of them, for completion; *list is owned by the caller. Their number. */
size_t slash_list(struct fuzzy_item **list);
/* Runs it; one that is unknown is answered with the nearest. False when the
 * chat is over. */
bool slash_run(struct run *r, struct str line);

#endif
