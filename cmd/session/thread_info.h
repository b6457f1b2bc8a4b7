/* thread_info.h - finds a stored thread and describes where it ran. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_SESSION_THREAD_INFO_H
#define CMD_SESSION_THREAD_INFO_H

#include "cmd/app.h"
#include "session/thread.h"

enum { THREADS_SHORT = 24 };
/* Like thread_find() with this run's directory; opens the database. */
int threads_find(struct app *app, const char *name, struct store **store,
		 struct thread *t, struct error *err);
struct thread_sandbox {    /* what the ledger says about a thread's sandbox; the
			      provider is not asked */
	const char *state; /* the ledger's word, such as "live" or "gone"; "" if
			      dcode did not create the sandbox */
	bool exists;       /* the sandbox may still exist and cost money */
	char name[16];     /* short name, as in dcode sandbox list */
};
void threads_read_sandbox(struct store *s, const char *label,
			  struct thread_sandbox *box);
/* Returns the path with the home directory as "~". Owned. */
char *threads_short_path(const struct app *app, const char *path);
/* Formats the provider and state: "docker live", "docker", "none". */
const char *threads_place(const struct thread *t,
			  const struct thread_sandbox *box,
			  char room[2 * THREADS_SHORT]);
/* Formats the cost of a thread; "-" if it was not counted. With ">" if the
 * price of some requests is unknown, because these are not counted. */
const char *threads_cost(const struct thread *t, char room[2 * THREADS_SHORT]);

/* Appends the members of a thread's JSON object. */
void threads_add_json(struct app *app, struct store *s, const struct thread *t,
		      struct buf *out);

#endif
