/* records.h - what is stored beside threads: spend, jobs, labels, consents. */
/* SPDX-License-Identifier: MIT */
#ifndef SESSION_RECORDS_H
#define SESSION_RECORDS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "model/money.h"

struct session; /* session/session.h */
struct store;

/* Adds what the meter has counted since the last call to the thread. Does
 * nothing, and the meter goes on, while nothing of the thread is stored. -1:
 * what was not stored is tried again by the next call. */
int spend_store(struct session *s, struct meter *m, struct error *err);
/* Every model and sandbox of a thread, the dearest first. */
int spend_each(struct store *s, int64_t thread,
	       void (*each)(void *arg, const struct meter_line *line),
	       void *arg, struct error *err);

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

struct store; /* session/session.h */

struct thread_label { /* strings borrowed for the callback */
	const char *label;
	const char *provider;
	const char *cwd;    /* where the thread was when it last used it */
	const char *branch; /* git's there, or "" */
	const char *thread; /* its id */
};
/* Those of the thread no (0: of any), or one with this label (NULL: all), the
 * last one first. each returns false to stop. A thread keeps them when it goes
 * on with another sandbox. */
int thread_label_each(struct store *s, int64_t no, const char *label,
		      bool (*each)(void *arg, const struct thread_label *l),
		      void *arg, struct error *err);

struct store; /* session/session.h */

/* 1: he allowed it for this root, 0: he did not, -1 with err; *asked is false
 * when he was never asked. */
int consent_get(struct store *s, const char *root, const char *provider,
		bool *asked, struct error *err);
int consent_set(struct store *s, const char *root, const char *provider,
		bool allowed, struct error *err);

#endif
