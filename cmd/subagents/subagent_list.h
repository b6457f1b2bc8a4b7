/* subagent_list.h - which subagents work, and what each does: for a screen. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_SUBAGENTS_SUBAGENT_LIST_H
#define CMD_SUBAGENTS_SUBAGENT_LIST_H

#include <pthread.h>

#include "base/buf.h"
#include "base/stop.h"
#include "model/model.h"

enum { SUBAGENT_LIST_KEPT = 50 /* that have ended */ };

struct subagent_row { /* its own */
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
struct subagent_list { /* subagent_list_init() */
	pthread_mutex_t lock;
	struct subagent_row *rows; /* owned; the newest last */
	size_t n;
	unsigned numbers;
};

void subagent_list_init(struct subagent_list *r);
void subagent_list_release(struct subagent_list *r);
/* Its number, from 1 on. */
unsigned subagent_list_begin(struct subagent_list *r, const char *type,
			     const char *order, const struct cancel *cancel);
/* What it does now: one clean line. */
void subagent_list_note(struct subagent_list *r, unsigned number,
			const char *doing);
void subagent_list_add_usage(struct subagent_list *r, unsigned number,
			     const struct usage *u);
void subagent_list_end(struct subagent_list *r, unsigned number,
		       const char *how);
bool subagent_list_cancel(struct subagent_list *r, unsigned number);
/* A line for each; now: clock_ms(). */
void subagent_list_print(struct subagent_list *r, int64_t now, struct buf *out);

#endif
