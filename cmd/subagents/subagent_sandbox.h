/* subagent_sandbox.h - a subagent at work, and a sandbox of its own for it. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_SUBAGENTS_SUBAGENT_SANDBOX_H
#define CMD_SUBAGENTS_SUBAGENT_SANDBOX_H

#include <pthread.h>

#include "cmd/session/run.h"
#include "cmd/subagents/subagent_list.h"
#include "session/history.h"
#include "subagents/subagents.h"

enum subagent_remark { /* what is said once of a kind */
		       REMARK_WISHES =
			       1 << 0, /* why it has not what its file wants */
		       REMARK_TOOLS = 1 << 1, /* which tools are not there */
};

struct run_subagents {
	struct subagents all;
	unsigned *told; /* owned; of each: enum subagent_remark */
	struct subagent_list list;
	struct agent_ui ui;        /* of the run */
	pthread_mutex_t events;    /* so that no two events overlap */
	pthread_mutex_t questions; /* nor two questions */
	pthread_mutex_t opening;   /* settings, skills, trust: one thread */
	pthread_mutex_t merging;   /* the trees of sandboxes, too */
	/* Of the cap of money: what was said no to, so that the user is asked
	 * once for all that reach it. */
	int64_t declined;
	/* clock_ms(): for what is brought back once all were stopped; or 0 */
	_Atomic int64_t brings_until;
};

struct apart;

/* A subagent that works for a call of task, on the thread of that call. */
struct child {
	struct run *run;
	struct run_subagents *all;
	const struct delegation *order;
	const struct subagent *kind;
	unsigned number;
	char label[SUBAGENT_NAME_MAX + 16]; /* "reviewer 2" */
	char hook_id[32];                   /* "subagent-2" */
	struct cancel_chain cancel;
	struct stop stop;
	bool follows; /* its model and sandbox are as its file says */
	struct model_choice own_choice;
	const struct model_choice *choice; /* own_choice, or the run's */
	struct apart *apart;               /* its own sandbox; owned, or NULL */
	struct meter_model *part;          /* with a cap of its own, or NULL */
	struct model *model;
	struct agent agent;
	struct conversation memory;
};

/* Makes c a sandbox of its own with the files of its caller's, which c->agent
 * then works in. Call subagent_sandbox_close() in any case. */
int subagent_sandbox_open(struct child *c, struct error *err);
/* Merges what changed there into the caller's sandbox, if that still exists.
 * Appends to out what was merged and what was not. */
void subagent_sandbox_merge(struct child *c, struct buf *out);
void subagent_sandbox_close(struct child *c);

#endif
