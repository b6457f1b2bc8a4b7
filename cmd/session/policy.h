/* policy.h - which calls run, are refused, or are asked about. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_SESSION_POLICY_H
#define CMD_SESSION_POLICY_H

#include "cmd/session/run.h"

enum run_verdict { RUN_ALLOW = 1, RUN_ASK, RUN_REFUSE };

/* Whether the model is offered it at all. */
bool run_offers(const struct run *r, const struct tool *tool);
/* The approval policy: sets a->allowed for RUN_ALLOW, a->reason for RUN_REFUSE,
 * to which RUN_ASK comes without a user. -1 when cancelled. */
int run_decide(struct run *r, struct approval *a, enum run_verdict *verdict,
	       const struct stop *stop, struct error *err);
/* ERR_POLICY where the machine's policy forbids to allow everything. */
int run_check_yolo(const struct run *r, struct error *err);
/* False where the machine's policy sets startup.mode, which can only be manual.
 */
bool run_may_auto_edit(const struct run *r);
/* Whether this chat asks about calls at all, but for its mode. */
bool run_asks(const struct run *r);
/* Asks once about a sandbox of --sandbox-id that the ledger does not know. */
int run_asks_attached(struct run *r, struct error *err);
/* Asks before a user's first yolo, who may say no. ERR_POLICY, ERR_CANCELLED */
int run_set_mode(struct run *r, enum run_mode mode, struct error *err);
/* Appends what a run without a user may do, one line; nothing when all. */
void run_limits(const struct run *r, struct buf *out);
/* Kept in the user's state directory, for all sessions. */
bool yolo_acknowledged(struct app *app);
void yolo_acknowledge(struct app *app);

#endif
