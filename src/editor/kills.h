/* kills.h - what was cut from drafts, newest first, to put back. */
/* SPDX-License-Identifier: MIT */
#ifndef EDITOR_KILLS_H
#define EDITOR_KILLS_H

#include <stdbool.h>

#include "base/buf.h"

enum { KILLS_MAX = 16 };

/* Zero-initialise. */
struct kills {
	struct buf texts[KILLS_MAX]; /* the newest first */
	size_t n;
	size_t at; /* which one kills_rotate() showed */
};

enum kill_how {
	KILL_NEW,
	KILL_AFTER,  /* goes on behind the newest */
	KILL_BEFORE, /* in front of it */
};

void kills_add(struct kills *k, struct str text, enum kill_how how);
/* The newest; empty: there is none. */
struct str kills_newest(struct kills *k);
/* The next older one than that shown last, round and round. */
struct str kills_rotate(struct kills *k);
/* Drops those that hold the byte. */
void kills_drop_with(struct kills *k, char byte);
void kills_release(struct kills *k);

#endif
