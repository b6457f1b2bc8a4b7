/* forwards.h - the ports of a sandbox that the user has forwarded. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_SESSION_FORWARDS_H
#define CMD_SESSION_FORWARDS_H

#include <pthread.h>

#include "base/buf.h"
#include "cmd/command.h"
#include "sandbox/ports/ports.h"

enum { FORWARDS_MAX = 32 };

/* The forwards of one sandbox. They end with forwards_close(), at the latest
 * before the sandbox is released. */
struct forwards { /* initialise with { 0 } */
	struct forward *list[FORWARDS_MAX];
	size_t n;
	bool ready; /* lock is initialised */
	/* The last connection that failed: forwards_print() shows it. Other
	 * threads write it, under the lock. */
	pthread_mutex_t lock;
	char *failure; /* owned, or NULL */
	bool prints;   /* print failures on stderr at once instead */
};

/* Begins to forward "[LOCAL:]PORT", and appends a line for the user. */
int forwards_add(struct forwards *fs, struct sandbox *sb, const char *text,
		 struct buf *out, struct error *err);
/* Ends the forward of a port of the sandbox. ERR_NOT_FOUND: there is none. */
int forwards_remove(struct forwards *fs, const char *port, struct error *err);
/* Appends a line for each forward. */
void forwards_print(struct forwards *fs, struct buf *out);
void forwards_close(struct forwards *fs);

/* Implement the subcommands. args does not contain the subcommand's name. They
 * return the exit status. */
int sandbox_cmd_forward(struct app *app, const struct args *args);
int sandbox_cmd_url(struct app *app, const struct args *args);

#endif
