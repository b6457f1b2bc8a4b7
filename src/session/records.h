/* records.h - tables next to the threads: spend, jobs, labels, consents. */
/* SPDX-License-Identifier: MIT */
#ifndef SESSION_RECORDS_H
#define SESSION_RECORDS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "model/money.h"

struct session; /* session/session.h */
struct store;

/* Adds what the meter has counted since the last call to the thread's costs.
 * Does nothing while the thread is not stored: the meter goes on counting. -1:
 * the next call tries again. */
int spend_store(struct session *s, struct meter *m, struct error *err);
/* Calls each for every model and sandbox of a thread, most expensive first. */
int spend_each(struct store *s, int64_t thread,
	       void (*each)(void *arg, const struct meter_line *line),
	       void *arg, struct error *err);

struct store; /* session/session.h */

struct job_row {              /* strings borrowed */
	int64_t no;           /* row ID */
	const char *thread;   /* ID of the thread */
	const char *provider; /* "docker" */
	const char *sandbox;  /* ID of the sandbox; "": it has none */
	/* name of the job in the sandbox; "": the job is not persistent and
	 * ended with its dcode */
	const char *job;
	const char *command; /* masked, on one line */
	unsigned number;     /* number shown to the model */
	int64_t read;        /* bytes of output that the model has read */
	bool started;        /* confirmed by the sandbox */
	bool told;           /* the model has been told of its end */
	/* set by job_log_each(): another running process uses the thread */
	bool in_use;
};
/* Adds a row; it survives SIGKILL, so call it before the job starts. Sets
 * row->no, and raises row->number above all others of this sandbox and of this
 * thread. */
int job_log_add(struct store *s, struct job_row *row, struct error *err);
/* Updates read, started and told of row->no. */
int job_log_update(struct store *s, const struct job_row *row,
		   struct error *err);
/* Calls each, ordered by number, for all jobs of of->sandbox, and for those
 * jobs of of->thread of whose end the model has not been told. */
int job_log_each(struct store *s, const struct job_row *of,
		 void (*each)(void *arg, const struct job_row *row), void *arg,
		 struct error *err);

struct store; /* session/session.h */

struct thread_label { /* strings borrowed for the callback */
	const char *label;
	const char *provider;
	/* directory of the thread when it last used the sandbox */
	const char *cwd;
	const char *branch; /* git branch in cwd, or "" */
	const char *thread; /* ID of the thread */
};
/* Calls each for the labels of the thread with row ID no (0: of all threads),
 * most recent first. label: only this one; NULL: all. each returns false to
 * stop. A thread keeps its labels when it continues in another sandbox. */
int thread_label_each(struct store *s, int64_t no, const char *label,
		      bool (*each)(void *arg, const struct thread_label *l),
		      void *arg, struct error *err);

struct store; /* session/session.h */

/* Returns 1 if the user allowed sending files below root to this provider's
 * sandboxes, 0 if not, -1 with err. *asked is false if the user was never
 * asked. */
int consent_get(struct store *s, const char *root, const char *provider,
		bool *asked, struct error *err);
int consent_set(struct store *s, const char *root, const char *provider,
		bool allowed, struct error *err);

#endif
