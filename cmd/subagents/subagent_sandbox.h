/* subagent_sandbox.h - a running subagent, and its own sandbox if it has one.
 */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_SUBAGENTS_SUBAGENT_SANDBOX_H
#define CMD_SUBAGENTS_SUBAGENT_SANDBOX_H

#include <pthread.h>

#include "cmd/session/run.h"
#include "cmd/subagents/subagent_list.h"
#include "session/history.h"
#include "subagents/subagents.h"

enum subagent_remark { /* warnings printed once per kind of subagent */
		       REMARK_WISHES = 1 << 0, /* why it did not get the model
						  or sandbox of its file */
		       /* which of its tools are unknown */
		       REMARK_TOOLS = 1 << 1,
};

struct run_subagents {
	struct subagents all;
	unsigned *told; /* owned; bits of enum subagent_remark per subagent */
	struct subagent_list list;
	struct agent_ui ui;        /* the run's own callbacks */
	pthread_mutex_t events;    /* held while an event is delivered */
	pthread_mutex_t questions; /* held while a question is asked */
	pthread_mutex_t opening;   /* serializes access to settings, skills
				      and trust */
	pthread_mutex_t merging;   /* serializes access to the sandboxes'
				      trees */
	/* Cap that the user refused to raise, so that the other children at
	 * this cap do not ask again. */
	int64_t declined;
	/* Deadline (clock_ms()) for merges after the user stopped everything; 0
	 * before. */
	_Atomic int64_t brings_until;
};

struct apart;

/* A subagent that works for one call of the task tool, on that call's
 * thread. */
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
	bool follows; /* model and sandbox from its file may be used */
	struct model_choice own_choice;
	const struct model_choice *choice; /* points to own_choice or to the
					      run's */
	struct apart *apart;               /* its own sandbox; owned, or NULL */
	struct meter_model *part;          /* account with a separate cap, or
					      NULL */
	struct model *model;
	struct agent agent;
	struct conversation memory;
};

/* Creates a sandbox for c with its caller's files; c->agent then works in it.
 * Always call subagent_sandbox_close() afterwards. */
int subagent_sandbox_open(struct child *c, struct error *err);
/* Merges the changes into the caller's sandbox; does nothing if c has no
 * sandbox of its own. Appends to out what was merged and what was not. Saves a
 * patch on conflicts or if merging fails. */
void subagent_sandbox_merge(struct child *c, struct buf *out);
void subagent_sandbox_close(struct child *c);

#endif
