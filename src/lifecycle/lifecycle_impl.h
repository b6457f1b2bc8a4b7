/* lifecycle_impl.h - what the parts of the lifecycle share; not for others. */
/* SPDX-License-Identifier: MIT */
#ifndef LIFECYCLE_LIFECYCLE_IMPL_H
#define LIFECYCLE_LIFECYCLE_IMPL_H

#include "lifecycle/lifecycle.h"
#include "sandbox/setup/setup.h"

/* Lines for the user, masked. */
void lifecycle_say(const struct managed_sandbox *box, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void lifecycle_warn(const struct managed_sandbox *box, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Reads and expands request.setup; what it receives is masked from then on.
 * Where a project's .env decides in whose account the script runs, the user is
 * asked before a value of his own is put in: ERR_USAGE when he does not agree.
 */
int lifecycle_setup_read(struct managed_sandbox *box,
			 struct setup_script *script, struct error *err);
int lifecycle_setup_run(struct managed_sandbox *box,
			const struct setup_script *script,
			const struct stop *stop, struct error *err);

/* keepalive.c: a thread that extends the sandbox's life every third of
 * lifetime_s, where the provider can, until lifecycle_keepalive_stop(). */
void lifecycle_keepalive_start(struct managed_sandbox *box, int64_t lifetime_s);
void lifecycle_keepalive_stop(struct managed_sandbox *box);

/* remove.c: deletes what is ours, or puts back what was taken over; says it
 * when that failed. why: what has ended the use of it; code 0: nothing. */
int lifecycle_dispose(struct managed_sandbox *box, const struct error *why,
		      struct error *err);
/* After an opening that failed: nothing of it stays, or gc knows of it. saves:
 * request.before_remove is called first. */
void lifecycle_abandon(struct managed_sandbox *box, bool saves,
		       const struct error *why);
/* ending.c: the same on a thread, without saving: no agent has worked there
 * yet. False: there is no thread. What it says is said by
 * lifecycle_ending_finish(). */
bool lifecycle_ending_start(struct managed_sandbox *box,
			    const struct error *why);
/* Waits for it, and zeroes box. */
void lifecycle_ending_finish(struct managed_sandbox *box);

/* "Docker" */
const char *lifecycle_title(const struct managed_sandbox *box, char room[64]);
/* True when the request may have been carried out although no answer came. */
bool lifecycle_was_cut(const struct error *err);
/* keep.c: takes over the sandbox that request.resume names. */
int lifecycle_resume(struct managed_sandbox *box, int64_t lifetime_s,
		     const struct stop *stop, struct error *err);
/* After a failure: it is again what it was before. */
void lifecycle_put_back(struct managed_sandbox *box, const struct error *why);
/* What still runs in it is waited for where the sandbox stays, else ended. */
void lifecycle_end_background(struct managed_sandbox *box, bool stays);
/* Until a cancelled command is dead, for as long as its kill may take; a wait
 * that is seen is named. */
void lifecycle_await_kills(struct managed_sandbox *box);
/* Calls request.before_remove, where there is something to ask. */
void lifecycle_save(struct managed_sandbox *box);
/* Leaves it as on_exit says, which is not LIFECYCLE_DELETE. */
int lifecycle_leave(struct managed_sandbox *box, struct error *err);

/* Says what becomes of the commands in the background, and ends those that do
 * not stay in a sandbox that does. */
void lifecycle_end_jobs(struct managed_sandbox *box);

#endif
