/* job_log.h - the commands in the background of every thread. */
/* SPDX-License-Identifier: MIT */
#ifndef SESSION_JOB_LOG_H
#define SESSION_JOB_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct store; /* session/session.h */

struct job_row {              /* strings borrowed */
	int64_t no;           /* of the row */
	const char *thread;   /* its id */
	const char *provider; /* "docker" */
	const char *sandbox;  /* its id; "" without a name there */
	const char *job;      /* its name there; "": it ended with its dcode */
	const char *command;  /* masked, on one line */
	unsigned number;      /* as the model knows it */
	int64_t read;         /* bytes of output that the model has */
	bool started;         /* the sandbox has said so */
	bool told;            /* the model knows of its end */
	bool in_use; /* of each: another living process has the thread */
};
/* On return it survives SIGKILL: call it before the job is started. Sets no,
 * and number to one above all of this sandbox and of this thread, at least to
 * what it is. */
int job_log_add(struct store *s, struct job_row *row, struct error *err);
/* read, started and told, of the row no. */
int job_log_update(struct store *s, const struct job_row *row,
		   struct error *err);
/* Those of a sandbox, and those of a thread that were not told, by number. */
int job_log_each(struct store *s, const struct job_row *of,
		 void (*each)(void *arg, const struct job_row *row), void *arg,
		 struct error *err);

#endif
