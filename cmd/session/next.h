/* next.h - replaces a chat's run by another one, including its sandbox. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_SESSION_NEXT_H
#define CMD_SESSION_NEXT_H

#include "cmd/session/run.h"

enum { NEXT_WORDS = 8 }; /* maximum number of words for next_open() */

/* Opens a run as if dcode was started with these words and those flags of r's
 * command line that are valid for any sandbox. Stores it in r->next.
 * same_thread: the new run continues r's thread with r's model; otherwise the
 * words name a thread. On -1 r is unchanged. The caller ends r with
 * next_leave(). */
int next_open(struct run *r, const char *const *words, size_t n,
	      bool same_thread, struct error *err);
/* Runs r's downloads and closes r, which deletes, stops or keeps its sandbox as
 * on_exit says. */
void next_leave(struct run *r);
/* Waits until the sandboxes of failed next_open() calls are deleted. */
void next_finish(struct run *r);
/* Frees a closed run created by next_open(); does nothing for others. */
void next_free(struct run *r);

#endif
