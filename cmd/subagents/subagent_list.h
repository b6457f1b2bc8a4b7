/* subagent_list.h - the running subagents and what each is doing, for a
 * screen. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_SUBAGENTS_SUBAGENT_LIST_H
#define CMD_SUBAGENTS_SUBAGENT_LIST_H

#include <pthread.h>

#include "base/buf.h"
#include "base/stop.h"
#include "model/model.h"

enum {
	SUBAGENT_LIST_KEPT = 50, /* finished subagents that stay listed */
	SUBAGENT_DOING = 120,    /* bytes of what a subagent is doing */
};

struct subagent_row { /* a running or finished subagent */
	unsigned number;
	char *type;  /* owned */
	char *order; /* owned: the start of its task */
	char doing[SUBAGENT_DOING];
	int64_t since; /* clock_ms() when it began to do that */
	struct usage usage;
	int64_t turns;
	int64_t began, ended;        /* clock_ms(); ended is 0 while it is
					running */
	const struct cancel *cancel; /* borrowed; NULL after it has ended */
};

/* Thread-safe. */
struct subagent_list { /* start with subagent_list_init() */
	pthread_mutex_t lock;
	struct subagent_row *rows; /* owned; by number */
	size_t n;
};

void subagent_list_init(struct subagent_list *r);
void subagent_list_release(struct subagent_list *r);
/* Adds a subagent with a number that no other subagent has. */
void subagent_list_begin(struct subagent_list *r, unsigned number,
			 const char *type, const char *order,
			 const struct cancel *cancel);
/* Sets what the subagent is doing: one line without control characters. */
void subagent_list_note(struct subagent_list *r, unsigned number,
			const char *doing);
void subagent_list_add_usage(struct subagent_list *r, unsigned number,
			     const struct usage *u);
void subagent_list_end(struct subagent_list *r, unsigned number,
		       const char *how);
bool subagent_list_cancel(struct subagent_list *r, unsigned number);
/* Appends the list as text, one line for each subagent. now is clock_ms(). */
void subagent_list_print(struct subagent_list *r, int64_t now, struct buf *out);

#endif
