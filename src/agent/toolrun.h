/* toolrun.h - the tool calls of one answer: order, approval, results. */
/* SPDX-License-Identifier: MIT */
#ifndef AGENT_TOOLRUN_H
#define AGENT_TOOLRUN_H

#include "agent/agent.h"

/*
 * Runs every call of reply and fills results with one result per call, in call
 * order. Consecutive calls that only read run in parallel. On -1 (ERR_CANCELLED
 * or ERR_GONE) results is complete too.
 */
int toolrun(struct agent *a, const struct message *reply,
	    struct message *results, const struct stop *stop,
	    struct error *err);
/* Call after the calls of an answer have run. True if the same call has failed
 * REPEATS_END times; why gets the message for the user. */
bool toolrun_repeats(const struct repeats *r, struct error *why);

#endif
