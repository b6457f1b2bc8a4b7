/* open.h - opens and closes a conversation with everything it needs. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_SESSION_OPEN_H
#define CMD_SESSION_OPEN_H

#include "cmd/session/run.h"

/* Opens everything, except that a sandbox may still be created in the
 * background. Call run_close() even after -1: it deletes what was created. */
int run_open(struct run *r, const struct stop *stop, struct error *err);
void run_undo(struct run *r); /* releases what run_open() opened; also after a
				 failure, or again */
void run_close(struct run *r);
/* Reads the flags and the corresponding settings into r->options. */
int run_read_flags(struct run *r, const struct args *args, struct error *err);

/* Opens a run as if dcode was started with these words and those flags of r's
 * command line that are valid for any sandbox. Stores it in r->next.
 * same_thread: the new run continues r's thread with r's model; otherwise the
 * words name a thread. On -1 r is unchanged. The caller ends r with
 * next_leave(). move: the new sandbox gets this work, and the thread belongs to
 * it when this returns 0; NULL: none. */
int next_open(struct run *r, const char *const *words, size_t n,
	      bool same_thread, struct move *move, struct error *err);
/* Runs r's downloads and closes r, which deletes, stops or keeps its sandbox as
 * on_exit says. */
void next_leave(struct run *r);
/* Waits until the sandboxes of failed next_open() calls are deleted. */
void next_finish(struct run *r);
/* Frees a closed run created by next_open(); does nothing for others. */
void next_free(struct run *r);

#endif
