/* policy.h - decides which tool calls run, are refused, or need approval. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_SESSION_POLICY_H
#define CMD_SESSION_POLICY_H

#include "cmd/session/run.h"

enum run_verdict { RUN_ALLOW = 1, RUN_ASK, RUN_REFUSE };

/* True if the tool is offered to the model outside plan mode; in plan mode,
 * plan_mode_hides() leaves out some of these tools. */
bool run_offers(const struct run *r, const struct tool *tool);
/* Decides whether a call may run. Sets a->allowed if the verdict is RUN_ALLOW,
 * and a->reason if it is RUN_REFUSE. RUN_ASK: the caller asks the user; without
 * a user the verdict is RUN_REFUSE instead. -1 if cancelled. */
int run_decide(struct run *r, struct approval *a, enum run_verdict *verdict,
	       const struct stop *stop, struct error *err);
/* Applies the machine's policy. A flag that it forbids is ERR_POLICY; a limit
 * above the policy's is lowered. */
int run_policy_apply(struct run_options *o, const struct settings *set,
		     struct error *err);
/* Warns if the policy sets a default sandbox, but tools run on this machine. */
void run_policy_remark(const struct run_options *o, const struct settings *set);
/* ERR_POLICY if the machine's policy forbids this mode. */
int run_check_mode(const struct run *r, enum run_mode mode, struct error *err);
/* True if this chat asks before some calls unless its mode is yolo. False if it
 * never asks, because the calls run in a sandbox. */
bool run_asks(const struct run *r);
/* If --sandbox-id names a sandbox that is not in the ledger, asks once whether
 * calls may run in it without asking. */
int run_asks_attached(struct run *r, struct error *err);
/* Sets the mode. Asks the user to confirm the first yolo. Returns 0 also if the
 * user declines; the mode then stays. ERR_POLICY, ERR_CANCELLED. */
int run_set_mode(struct run *r, enum run_mode mode, struct error *err);
/* The user has accepted a plan: the mode from before plan mode returns, or
 * manual if the policy forbids that. */
void run_end_plan(struct run *r);
/* Appends one line about what an unattended run may do; nothing if it may do
 * everything. */
void run_limits(const struct run *r, struct buf *out);
/* True if the user has confirmed yolo before. Stored in the user's state
 * directory, for all sessions. */
bool yolo_acknowledged(struct app *app);
void yolo_acknowledge(struct app *app);

/* True if the run is in plan mode and the tool is not offered there. */
bool plan_mode_hides(const struct run *r, const struct tool *tool);
/* True if the run is in plan mode and this call must not run; reason then gets
 * the text for the model. Attack: a page or a file tells the model the name of
 * a tool that it was not offered; or a call is from an answer that began before
 * plan mode. So each call is checked when it is about to run. */
bool plan_mode_refuses(const struct run *r, const struct tool *tool,
		       struct buf *reason);
/* Returns the note for a subagent; NULL: plan mode is off. */
const char *plan_mode_note(const struct run *r);

#endif
