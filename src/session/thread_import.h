/* thread_import.h - stores a thread that was read from a file. */
/* SPDX-License-Identifier: MIT */
#ifndef SESSION_THREAD_IMPORT_H
#define SESSION_THREAD_IMPORT_H

#include "session/thread_file.h"

struct store; /* session/session.h */

struct thread_import {
	struct store *store; /* borrowed */
	char id[37];         /* the new one */
	int64_t no;
	int64_t now; /* Unix ms */
};

/*
 * Begins a thread with an id of its own: of head only the title, the date, the
 * original id and the sandbox on offer are kept. Other processes cannot write
 * until thread_import_end(), which alone makes it last. ERR_LIMIT where there
 * is no room for so many bytes of messages.
 */
int thread_import_begin(struct thread_import *in, struct store *s,
			const struct thread_file *head, const char *cwd,
			size_t bytes, struct error *err);
/* created: Unix ms, 0: now. */
int thread_import_add(struct thread_import *in, const struct message *m,
		      int64_t created, struct error *err);
/* whole: keeps it; else nothing of it is left. */
int thread_import_end(struct thread_import *in, bool whole, struct error *err);

#endif
