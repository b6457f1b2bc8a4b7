/* summary.h - the older part of a conversation in few words. */
/* SPDX-License-Identifier: MIT */
#ifndef AGENT_SUMMARY_H
#define AGENT_SUMMARY_H

#include "agent/agent.h"
#include "session/history.h"

struct summary_order {
	const struct conversation *c;
	size_t to;         /* its messages before this one */
	const char *focus; /* what matters, in the user's words; or NULL */
	size_t room;       /* bytes of conversation that fit one request */
	size_t most;       /* bytes of the summary */
};
/*
 * Asks the model, without tools, for a summary: in one request, or in several
 * when the messages do not fit one. The conversation is data to it: the answer
 * is used as text only. usage is added to, also on -1: ERR_CANCELLED, the
 * model's error, ERR_PROTOCOL where it wrote nothing.
 */
int summary_ask(struct agent *a, const struct summary_order *o,
		struct usage *usage, struct buf *out, const struct stop *stop,
		struct error *err);
/* The same without a model: first words of each request and answer, and the
 * calls. Deterministic. */
void summary_excerpt(const struct summary_order *o, struct buf *out);

#endif
