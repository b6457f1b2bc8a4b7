/* thread_info.h - a stored thread: found by name, and where it ran. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_SESSION_THREAD_INFO_H
#define CMD_SESSION_THREAD_INFO_H

#include "cmd/app.h"
#include "session/thread.h"

enum { THREADS_SHORT = 24 };
/* As thread_find() with the directory of this run; opens the database. */
int threads_find(struct app *app, const char *name, struct store **store,
		 struct thread *t, struct error *err);
struct thread_sandbox {    /* as the ledger knows it: no vendor is asked */
	const char *state; /* "live", "gone" ...; "" when it is not ours */
	bool exists;       /* it may still cost money */
	char name[16];     /* the short one of dcode sandbox */
};
void threads_read_sandbox(struct store *s, const char *label,
			  struct thread_sandbox *box);
/* "~/x" for what is in the home directory. Owned. */
char *threads_short_path(const struct app *app, const char *path);
/* "docker live", "docker", "none" */
const char *threads_place(const struct thread *t,
			  const struct thread_sandbox *box,
			  char room[2 * THREADS_SHORT]);

#endif
