/* contact_log.h - the log of what a thread's commands have connected to. */
/* SPDX-License-Identifier: MIT */
#ifndef SESSION_CONTACT_LOG_H
#define SESSION_CONTACT_LOG_H

/*
 * A table of the database, deleted with its thread. A row counts the contacts
 * of one tool call with one host, port and verdict. A thread has at most
 * CONTACT_ROWS of them: the oldest ones go first.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct store; /* session/store.h */

enum { CONTACT_ROWS = 1000 };

struct contact_row {        /* strings borrowed */
	const char *thread; /* id; it may not be stored yet */
	const char *provider, *sandbox;
	const char *call;    /* id of the tool call; "": of none */
	const char *command; /* its beginning, masked, on one line */
	const char *host;
	unsigned port; /* 0: a DNS question only */
	const char *verdict;
	int64_t up, down; /* bytes */
	int64_t times;
	int64_t first, last; /* Unix ms */
};
/* Adds rows of one thread; a row that is there counts on. */
int contact_log_add(struct store *s, const struct contact_row *rows, size_t n,
		    struct error *err);
/* Calls each for the rows of a thread or of a sandbox, oldest first; either may
 * be "". */
int contact_log_each(struct store *s, const char *thread, const char *sandbox,
		     void (*each)(void *arg, const struct contact_row *row),
		     void *arg, struct error *err);

#endif
