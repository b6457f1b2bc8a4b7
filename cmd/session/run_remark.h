/* run_remark.h - an answer that did not end as an answer should. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_SESSION_REMARK_H
#define CMD_SESSION_REMARK_H

#include "cmd/session/run.h"

/* Appends the sentence of run_remark(); false: there is none. */
bool run_remark_add(const struct run *r, struct buf *out);
/*
 * What a task that ended without an error came to: 0; STATUS_NO_ANSWER where
 * the model gave none (nothing, thinking alone, a refusal); STATUS_REFUSED
 * where all calls that would write or run something were refused. Then *status
 * is the word of the JSON result, and why has a sentence for the user.
 */
int run_remark_outcome(const struct run *r, const char **status,
		       struct error *why);
/* Members of the JSON result: ,"finish":"length","finish_reason":"MAX_TOKENS"
 * of the last answer, null after a failure; refused: how many calls, or
 * answers, were refused; reason: why the task did not end well, or NULL. */
void run_remark_json(const struct run *r, bool failed, const char *reason,
		     struct buf *out);

#endif
