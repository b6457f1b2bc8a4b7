/* background.h - work in a sandbox that its first command waits for. */
/* SPDX-License-Identifier: MIT */
#ifndef SANDBOX_BACKGROUND_H
#define SANDBOX_BACKGROUND_H

#include "base/stop.h"

struct background;

struct background_work {
	/* On a thread of its own; its commands are "ahead" (exec.h). */
	int (*run)(void *arg, const struct stop *stop, struct error *err);
	void (*release)(void *arg);
	void *arg; /* owned: released, also when it cannot be started */
};

/* Into the sandbox's "background": from now on sandbox_execute() and
 * sandbox_upload() wait until the work has ended, well or not. */
int background_start(struct background **b, const struct background_work *work,
		     struct error *err);
/* -1 only when stop ended the wait. 0 at once without any work, NULL. */
int background_wait(const struct background *b, const struct stop *stop,
		    struct error *err);
/* -1 with err once, when the work has failed by now: background_end() does not
 * say it again. */
int background_failed(struct background *b, struct error *err);
/* Waits for ms, then cancels what still runs. -1 with err when the work has
 * failed or was cancelled; 0 also without any. Not while others wait. */
int background_end(struct background **b, int64_t ms, struct error *err);

#endif
