/* sandbox.h - chooses, creates and ends the sandbox of a run. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_SESSION_SANDBOX_H
#define CMD_SESSION_SANDBOX_H

#include "cmd/session/run.h"

/* Sets *name to the provider: --sandbox, else the resumed thread's, else NULL.
 * The sandbox of a thread that was imported and has not run here yet needs
 * consent: a chat asks whether to use it, like one of --sandbox-id, unless
 * --sandbox names another provider. -n only prints how to use it. */
int run_offer_sandbox(struct run *r, const struct args *args, const char **name,
		      struct error *err);
/* Opens r->client and checks what can be known before the sandbox exists. */
int run_open_client(struct run *r, struct error *err);
/* Opens r->box: the resumed thread's sandbox if it still exists, otherwise a
 * new one or that of --sandbox-id. */
int run_open_sandbox(struct run *r, const struct stop *stop, struct error *err);
/* Deletes, stops or keeps the sandbox, and stops counting its cost. */
int run_end_sandbox(struct run *r, struct error *err);
/* Background creation: if the model's prompt does not depend on the sandbox,
 * the agent sends it while the sandbox is being created. */
/* True if the sandbox can be created in the background. r->box then says where
 * tools will act, until run_promise_begin(). r->client must be open. False with
 * [sandboxes] overlap = false. */
bool run_promise_can(struct run *r);
/* Starts creating the sandbox on a thread. r->agent must be complete. Returns
 * once the user has no question left; -1 if the creation failed. open_rest is
 * called once the sandbox is ready, on the thread that waits for it. */
int run_promise_begin(struct run *r,
		      int (*open_rest)(struct run *r, struct error *err),
		      const struct stop *stop, struct error *err);
/* True until someone has waited for the end of the creation. */
bool run_is_promised(const struct run *r);
/* run_has_come(): the sandbox is ready and as the model was told.
 * run_promise_ended(): the creation has ended, successful or not. */
bool run_has_come(const struct run *r);
bool run_promise_ended(const struct run *r);
/* Waits for the sandbox; 0 also if none is being created. -1 with the reason of
 * a failure. */
int run_await(struct run *r, struct error *err);
/* Cancels the creation if it is still running, and waits for its end. */
void run_promise_end(struct run *r);
/* Runs agent_run() and, with background creation, waits for the sandbox: on
 * return it is ready, or the run has failed. If the creation fails, the request
 * is cancelled. If the request fails, the creation is cancelled, except in a
 * chat. */
int run_agent(struct run *r, const char *prompt, const struct stop *stop,
	      struct error *err);
/* Stores the background jobs of r->box from now on, and adopts jobs started
 * earlier. */
int run_jobs_open(struct run *r, struct error *err);
/* Runs --startup-cmd where the tools run, for at most 60 s. A failure is a
 * warning, and the model is not told. -1: cancelled, or the sandbox is gone. */
int startup_run(struct run *r, const struct stop *stop, struct error *err);

#endif
