/* detached.h - cancelled commands whose end their caller does not wait for. */
/* SPDX-License-Identifier: MIT */
#ifndef SANDBOX_DETACHED_H
#define SANDBOX_DETACHED_H

#include "base/stop.h"
#include "sandbox/exec.h"

struct sandbox;
/* Those of one sandbox. All functions for several threads at once, but free. */
struct detached;

struct detached *detached_new(void);
/* Waits until all have ended; each has a deadline of its own. */
void detached_free(struct detached *d);
struct detached_command {
	/* struct sandbox_ops.execute */
	int (*execute)(struct sandbox *sb, const struct exec_request *req,
		       struct exec_result *res, const struct stop *stop,
		       struct error *err);
	struct sandbox *sb;
	const struct exec_request *req; /* without a dialog and a source */
};

/* Executes it on a thread of its own. Once stop is cancelled and the command
 * does not end within some milliseconds, this returns ERR_CANCELLED, and the
 * thread goes on to kill it: req->output is not called any more. A deadline of
 * stop is left to execute(). */
int detached_execute(struct detached *d, const struct detached_command *what,
		     struct exec_result *res, const struct stop *stop,
		     struct error *err);
/* Until those that were left have ended. -1 only when stop ended the wait; 0
 * at once for NULL. */
int detached_wait(struct detached *d, const struct stop *stop,
		  struct error *err);

#endif
