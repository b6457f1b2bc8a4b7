/* next.h - another run that takes the place of a chat's, sandbox and all. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_SESSION_NEXT_H
#define CMD_SESSION_NEXT_H

#include "cmd/session/run.h"

enum { NEXT_WORDS = 8 }; /* of next_open() */

/*
 * Opens a run as a command line of these words would, with the flags of r's
 * own that are about any sandbox, and makes it r->next. same_thread: r's thread
 * and model go over to it, else the words name a thread. -1: r is as it was.
 * The caller ends r with next_leave().
 */
int next_open(struct run *r, const char *const *words, size_t n,
	      bool same_thread, struct error *err);
/* The downloads of r, then what its on_exit says of its sandbox. */
void next_leave(struct run *r);
/* Waits until what an interrupted next_open() had made for r is deleted. */
void next_finish(struct run *r);
/* Frees a closed run that next_open() has made; any other stays. */
void next_free(struct run *r);

#endif
