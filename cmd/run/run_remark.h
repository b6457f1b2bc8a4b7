/* run_remark.h - an answer that did not end as an answer should. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_RUN_REMARK_H
#define CMD_RUN_REMARK_H

#include "cmd/run/run.h"

/* Appends the sentence of run_remark(); false: there is none. */
bool run_remark_add(const struct run *r, struct buf *out);
/* Members of the JSON result: ,"finish":"length","finish_reason":"MAX_TOKENS"
 * of the last answer; null after a failure. */
void run_remark_json(const struct run *r, bool failed, struct buf *out);

#endif
