/* inquire.h - what the model asks the user, in the chat of lines. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_CHAT_INQUIRE_H
#define CMD_CHAT_INQUIRE_H

#include "cmd/chat/input.h"
#include "tool/tool.h"

/* Prints each question with numbered choices and reads a line for it: as
 * agent_ui.ask, but for its first argument. What was typed before a question
 * was shown answers none. */
int chat_inquire(struct chat_input *in, struct inquiry *q,
		 enum inquiry_end *end, const struct stop *stop,
		 struct error *err);

#endif
