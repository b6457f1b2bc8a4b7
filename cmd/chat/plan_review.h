/* plan_review.h - asks whether to carry out the plan of plan mode. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_CHAT_PLAN_REVIEW_H
#define CMD_CHAT_PLAN_REVIEW_H

#include "cmd/session/run.h"

/* Call after a prompt has run. If it ended in plan mode with an answer, asks
 * the user whether to carry out this plan, which the user may edit, and then
 * runs it in the mode that was on before. Without a yes plan mode stays on. -1
 * with err, like agent_run(). */
int plan_review(struct run *r, const struct stop *stop, struct error *err);

#endif
