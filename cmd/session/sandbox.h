/* sandbox.h - chooses, creates and ends the sandbox of a run. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_SESSION_SANDBOX_H
#define CMD_SESSION_SANDBOX_H

#include "cmd/session/run.h"

/* Sets *name to the provider: --sandbox, else the resumed thread's, else NULL.
 * A thread that was imported and has not run here yet names a sandbox that the
 * user must agree to use. A chat asks, unless --sandbox names another provider;
 * after a yes the sandbox is used as with --sandbox-id. -n only prints the
 * flags that would use it. */
int run_offer_sandbox(struct run *r, const struct args *args, const char **name,
		      struct error *err);
/* Opens r->client, the connection to the provider. Also checks what can be
 * checked before the sandbox exists. */
int run_open_client(struct run *r, struct error *err);
/* Opens r->box: the resumed thread's sandbox if it still exists, otherwise that
 * of --sandbox-id or a new one. */
int run_open_sandbox(struct run *r, const struct stop *stop, struct error *err);
/* Deletes, stops or keeps the sandbox, as r->box.request.on_exit says, and
 * stops counting its cost. */
int run_end_sandbox(struct run *r, struct error *err);
/* Background creation: if the model's prompt does not depend on the sandbox,
 * the agent sends the prompt while the sandbox is being created. */
/* True if the sandbox can be created in the background. Then also fills r->box
 * with the working directory that the sandbox will have, for the model's
 * prompt, until run_promise_begin(). r->client must be open. False with
 * [sandboxes] overlap = false. */
bool run_promise_can(struct run *r);
/* Starts a thread that creates the sandbox. r->agent must be complete. Returns
 * once the user has no question left; -1 if the creation failed. When the
 * sandbox is ready, the thread that waits for it calls open_rest. */
int run_promise_begin(struct run *r,
		      int (*open_rest)(struct run *r, struct error *err),
		      const struct stop *stop, struct error *err);
/* True after run_promise_begin(), until a thread has waited for the end of the
 * creation. */
bool run_is_promised(const struct run *r);
/* True while a promised sandbox is not being created, because nothing has
 * needed it: the first tool call or run_await() starts that. A chat with
 * [sandboxes] create = "first-use". */
bool run_is_late(const struct run *r);
/* run_has_come(): the sandbox is ready and has the working directory that the
 * model was told. run_promise_ended(): the creation has ended, successfully or
 * not. */
bool run_has_come(const struct run *r);
bool run_promise_ended(const struct run *r);
/* Waits for the sandbox, and first starts its creation if run_is_late().
 * Returns 0 also if none is being created, -1 with err if the creation
 * failed. On the agent's thread. */
int run_await(struct run *r, struct error *err);
/* Cancels the creation if it is still running, and waits for its end. */
void run_promise_end(struct run *r);
/* Runs agent_run(). If the sandbox is created in the background, also waits for
 * it: on return it is ready, or the run has failed. If the creation fails, the
 * model request is cancelled. If the request fails, the creation is cancelled,
 * except in a chat. */
int run_agent(struct run *r, const char *prompt, const struct stop *stop,
	      struct error *err);
/* From now on stores the background jobs of r->box in the database. Lists jobs
 * that earlier runs have started. */
int run_jobs_open(struct run *r, struct error *err);
/* Runs --startup-cmd where the tools run, for at most 60 s. Its output is for
 * the user only, not for the model. A failure is a warning. -1: cancelled, or
 * the sandbox is gone. */
int startup_run(struct run *r, const struct stop *stop, struct error *err);

#endif
