/* approve.h - asks whether a call may run, in the chat of lines. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_CHAT_APPROVE_H
#define CMD_CHAT_APPROVE_H

#include "cmd/chat/ask.h"
#include "cmd/chat/input.h"

struct approve { /* app and input set, else zeroed */
	struct app *app;
	struct chat_input *input;
	bool explained; /* the answers have been said */
};

/*
 * Shows the calls and asks; arg is the struct approve. The question stands
 * under the beginning and the end of each argument, on one screen; "v" shows
 * all that lies between. A terminal that became smaller before the answer is
 * asked anew. At the end of input the answer is no, and the turn is stopped.
 * As asker.ask.
 */
enum dialog_answer chat_approve(void *arg, struct question *q,
				const struct stop *stop);

#endif
