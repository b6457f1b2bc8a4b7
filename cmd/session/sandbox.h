/* sandbox.h - the sandbox of a run: chosen, made in the background, ended. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_SESSION_SANDBOX_H
#define CMD_SESSION_SANDBOX_H

#include "cmd/session/run.h"

/*
 * *name is the provider: --sandbox, else that of the resumed thread, else NULL.
 * A thread that was imported and has not gone on here yet has a sandbox on
 * offer only: a chat asks whether to use it, like one of --sandbox-id, unless
 * --sandbox is another provider; -n says how.
 */
int run_offer_sandbox(struct run *r, const struct args *args, const char **name,
		      struct error *err);
/* r->client, and what can be known of its sandbox before there is one. */
int run_open_client(struct run *r, struct error *err);
/* r->box: the sandbox of the resumed thread where there still is one. */
int run_open_sandbox(struct run *r, const struct stop *stop, struct error *err);
/* Deletes the sandbox, or keeps it, and counts it no more. */
int run_end_sandbox(struct run *r, struct error *err);
/*
 * The sandbox as a promise. Where the model's prompt is known to
 * be the same afterwards, the agent asks it while the sandbox is being made.
 */
/* Whether it can be; then r->box says where the tools will act, until
 * run_promise_begin(). r->client is open. Not with [sandboxes] overlap false.
 */
bool run_promise_can(struct run *r);
/* r->agent is complete. Makes the sandbox on a thread, and returns once the
 * user has no question left to answer; -1: there will be no sandbox. open_rest
 * is called once the sandbox is there, on the thread that waits for it. */
int run_promise_begin(struct run *r,
		      int (*open_rest)(struct run *r, struct error *err),
		      const struct stop *stop, struct error *err);
/* Nobody has waited for the sandbox to its end yet. */
bool run_is_promised(const struct run *r);
/* The sandbox is there, and as the model was told; the making has ended. */
bool run_has_come(const struct run *r);
bool run_promise_ended(const struct run *r);
/* Waits for it; 0 where none is promised. -1 with why there is none. */
int run_await(struct run *r, struct error *err);
/* Ends the making where it still goes on. */
void run_promise_end(struct run *r);
/* agent_run(), in every way of starting. With a sandbox that is promised: on
 * return it is there, or the run has failed by its failure; one of both that
 * fails ends the other, but a chat keeps the sandbox where its request fails.
 */
int run_agent(struct run *r, const char *prompt, const struct stop *stop,
	      struct error *err);
/* Stores the background jobs of r->box from now on, and finds those that
 * were started before. */
int run_jobs_open(struct run *r, struct error *err);
/* Runs it where the tools run, 60 s at most; one that fails is a warning. The
 * model is not told. -1: cancelled, or the sandbox is gone. */
int startup_run(struct run *r, const struct stop *stop, struct error *err);

#endif
