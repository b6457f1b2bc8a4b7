/* roster.h - which subagents work, and what each does: for a screen. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_SUBAGENTS_ROSTER_H
#define CMD_SUBAGENTS_ROSTER_H

#include <pthread.h>

#include "base/buf.h"
#include "base/stop.h"
#include "model/model.h"

enum { ROSTER_KEPT = 50 /* that have ended */ };

struct roster_row { /* its own */
	unsigned number;
	char *type;  /* owned */
	char *order; /* owned: the first words of it */
	char doing[120];
	struct usage usage;
	int64_t turns;
	int64_t began, ended;        /* ms; ended 0: it works */
	const struct cancel *cancel; /* borrowed while it works */
};

/* Any thread, several at once. */
struct roster { /* roster_init() */
	pthread_mutex_t lock;
	struct roster_row *rows; /* owned; the newest last */
	size_t n;
	unsigned numbers;
};

void roster_init(struct roster *r);
void roster_release(struct roster *r);
/* Its number, from 1 on. */
unsigned roster_begin(struct roster *r, const char *type, const char *order,
		      const struct cancel *cancel);
/* What it does now: one clean line. */
void roster_note(struct roster *r, unsigned number, const char *doing);
void roster_add_usage(struct roster *r, unsigned number, const struct usage *u);
void roster_end(struct roster *r, unsigned number, const char *how);
bool roster_cancel(struct roster *r, unsigned number);
/* A line for each; now: clock_ms(). */
void roster_list(struct roster *r, int64_t now, struct buf *out);

#endif
