/* toolrun.h - the tool calls of one answer: order, approval, results. */
/* SPDX-License-Identifier: MIT */
#ifndef AGENT_TOOLRUN_H
#define AGENT_TOOLRUN_H

#include "agent/agent.h"

/*
 * Runs every call of reply and fills results with one result per call, in
 * call order, whatever happens. Consecutive calls that only read run side by
 * side. -1 with ERR_CANCELLED or ERR_GONE: results is complete even then.
 */
int toolrun(struct agent *a, const struct message *reply,
	    struct message *results, const struct stop *stop,
	    struct error *err);
/* After the calls of an answer: whether one has failed REPEATS_END times; then
 * why, for the user. */
bool toolrun_repeats(const struct repeats *r, struct error *why);

#endif
