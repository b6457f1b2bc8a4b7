/* answer.h - one answer of the model: shown and stored while it arrives. */
/* SPDX-License-Identifier: MIT */
#ifndef AGENT_ANSWER_H
#define AGENT_ANSWER_H

#include "agent/agent.h"

/* As model_stream() of a->model: its deltas are events. What has arrived is in
 * the thread, marked as cut, at most four times a second; the whole answer is
 * the caller's to store. After -1 a->cut has what there was. */
int answer_stream(struct agent *a, struct model_reply *reply,
		  const struct stop *stop, struct error *err);
/* The answer so far is void. */
void answer_restart(struct agent *a, const char *why);
/* a->cut stays in the thread, and the model goes on with it. */
void answer_keep_cut(struct agent *a);

#endif
