/* answer.h - one answer of the model, as it is shown while it arrives. */
/* SPDX-License-Identifier: MIT */
#ifndef AGENT_ANSWER_H
#define AGENT_ANSWER_H

#include "agent/agent.h"

/* As model_stream() of a->model: its deltas are events. ahead: beside other
 * work on the agent's thread, so that nothing is stored. */
int answer_stream(struct agent *a, bool ahead, struct model_reply *reply,
		  const struct stop *stop, struct error *err);
/* The answer so far is void. */
void answer_restart(struct agent *a, const char *why);

#endif
