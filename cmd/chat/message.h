/* message.h - what a user sends in a chat: text, or a command of his own. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_CHAT_MESSAGE_H
#define CMD_CHAT_MESSAGE_H

#include "cmd/session/run.h"

enum { MESSAGE_MAX_TOLD = 4 << 20 }; /* bytes */

enum message_kind {
	MESSAGE_PROMPT,
	MESSAGE_SLASH,
	MESSAGE_COMMAND,        /* "!ls": runs where the tools run */
	MESSAGE_HIDDEN_COMMAND, /* "!!ls": and the model never sees it */
	/* Of -m or a pipe. Attack: piped text of others that says "@" and the
	 * path of a key. It is sent as it is, and no file with it. */
	MESSAGE_GIVEN,
};

enum message_kind message_classify(struct str text);
/* What stands before the text of such a message: "", "!", "!!". */
const char *message_prefix(enum message_kind kind);
/*
 * Sends a prompt, with the files that it names, or runs a command; text is
 * without the prefix. told collects what the user's own commands have printed,
 * for the next prompt. Slash commands are slash_run()'s. -1 with err.
 */
int message_run(struct run *r, enum message_kind kind, const char *text,
		struct buf *told, const struct stop *stop, struct error *err);

#endif
