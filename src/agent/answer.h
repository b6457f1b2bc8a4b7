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
/* Keeps a->cut in the thread and in the model's history. */
void answer_keep_cut(struct agent *a);
/* After a request that failed with err: if a file may be the reason, which
 * would be in every request from now on, gives the model its history anew, each
 * file as a line of text. The thread keeps the files. 1 to ask again; 0 if
 * nothing can be done, or the thread is not stored. */
int answer_without_files(struct agent *a, const struct error *err);

#endif
