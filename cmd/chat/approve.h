/* approve.h - asks the user before a tool acts on this machine. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_CHAT_APPROVE_H
#define CMD_CHAT_APPROVE_H

#include "agent/agent.h"
#include "cmd/chat/input.h"

/*
 * Shows the call and asks. The question stands under the beginning and the end
 * of each argument, on one screen; "v" shows all that lies between. A terminal
 * that became smaller before the answer is asked anew. 0 with a->allowed set;
 * -1 when stop ended it.
 */
int chat_approve(struct chat_input *in, struct approval *a,
		 const struct stop *stop, struct error *err);

#endif
