/* answer.h - streams one answer of the model, shows and stores it meanwhile. */
/* SPDX-License-Identifier: MIT */
#ifndef AGENT_ANSWER_H
#define AGENT_ANSWER_H

#include "agent/agent.h"

/* Like model_stream() of a->model, and also emits the deltas as events. Stores
 * the partial answer in the thread, marked as cut, at most four times a second.
 * The caller stores the complete answer. On -1 a->cut is the partial answer. */
int answer_stream(struct agent *a, struct model_reply *reply,
		  const struct stop *stop, struct error *err);
/* Discards the partial answer and emits EVENT_RESTART. */
void answer_restart(struct agent *a, const char *why);
/* Adds the partial answer a->cut to the thread and to the model's history. */
void answer_keep_cut(struct agent *a);
/* Call after a request failed with err. If the vendor refused a file, every
 * later request with that file would fail too. Then rebuilds the model's
 * history with each file replaced by a line of text; the stored thread keeps
 * the files. Returns 1 if the request should be sent again; 0 if not, or if the
 * thread is not stored. */
int answer_without_files(struct agent *a, const struct error *err);

#endif
