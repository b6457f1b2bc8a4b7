/* threads.h - what the threads subcommands share. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_COMMANDS_THREADS_H
#define CMD_COMMANDS_THREADS_H

#include "cmd/command.h"
#include "session/thread.h"

/* One subcommand each; args without its own name. Return the exit status. */
int threads_cmd_list(struct app *app, const struct args *args);
int threads_cmd_show(struct app *app, const struct args *args);
int threads_cmd_rename(struct app *app, const struct args *args);
int threads_cmd_delete(struct app *app, const struct args *args);
int threads_cmd_prune(struct app *app, const struct args *args);
int threads_cmd_export(struct app *app, const struct args *args);
int threads_cmd_import(struct app *app, const struct args *args);

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
/* Appends the members of a thread's JSON object, without its braces. */
void threads_add_json(struct app *app, struct store *s, const struct thread *t,
		      struct buf *out);

enum { THREADS_ID = 13 }; /* of an id in a list: its millisecond */
enum { THREADS_SHORT = 24 };
/* "950", "12.3k", "4.5M" */
const char *threads_count(int64_t n, char room[THREADS_SHORT]);
/* "~/x" for what is in the home directory. Owned. */
char *threads_short_path(const struct app *app, const char *path);
/* "docker live", "docker", "none" */
const char *threads_place(const struct thread *t,
			  const struct thread_sandbox *box,
			  char room[2 * THREADS_SHORT]);

#endif
