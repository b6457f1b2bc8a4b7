/* subagent_sandbox.h - a running subagent, and its own sandbox if it has
 * one. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_SUBAGENTS_SUBAGENT_SANDBOX_H
#define CMD_SUBAGENTS_SUBAGENT_SANDBOX_H

#include <pthread.h>

#include "cmd/session/run.h"
#include "cmd/subagents/subagent_list.h"
#include "session/history.h"
#include "subagents/subagents.h"

enum subagent_remark { /* bits: warnings that are printed once per kind of
			  subagent */
		       REMARK_WISHES = 1 << 0, /* the model or sandbox in its
						  file is not used */
		       /* a tool in its file is unknown */
		       REMARK_TOOLS = 1 << 1,
};

struct run_subagents {
	struct subagents all;
	unsigned *told; /* owned; told[i] has bits of enum subagent_remark, for
			   all.list[i] */
	struct subagent_list list;
	unsigned numbers;   /* the last one given; used by the agent's thread */
	struct agent_ui ui; /* the run's own callbacks */
	pthread_mutex_t events;    /* held while an event is delivered */
	pthread_mutex_t questions; /* held while a question is asked */
	pthread_mutex_t opening; /* serializes use of settings, skills, trust */
	pthread_mutex_t merging; /* serializes fetches from and merges into the
				    sandboxes */
	/* A cap that the user declined to raise: children that reach this cap
	 * do not ask again. -1: none. */
	int64_t declined;
	/* clock_ms() until which children may merge after the user stopped
	 * everything; 0 before that. */
	_Atomic int64_t brings_until;
};

struct apart;

/* A subagent during one call of the task tool. It works on the thread of that
 * call. */
struct child {
	struct run *run;
	struct run_subagents *all;
	const struct delegation *order;
	const struct subagent *kind;
	unsigned number;
	char label[SUBAGENT_NAME_MAX + 16]; /* "reviewer 2" */
	char doing[SUBAGENT_DOING];         /* its newest call, or the like */
	size_t running;                     /* its calls that are running */
	int64_t tokens;                     /* of its complete answers */
	size_t arrived;                     /* bytes of the current answer */
	int64_t shown;                      /* clock_ms() of the last event */
	char hook_id[32];                   /* "subagent-2" */
	struct cancel_chain cancel;
	struct stop stop;
	bool follows; /* the model and sandbox in its file may be used */
	struct model_choice own_choice;
	const struct model_choice *choice; /* own_choice, or the run's */
	struct apart *apart;      /* owned: the child's sandbox, or NULL */
	struct meter_model *part; /* account with a cap, or NULL */
	struct model *model;
	struct agent agent;
	struct conversation memory;
};

/* Creates a sandbox for c with its caller's files. c->agent then works in that
 * sandbox. Always call subagent_sandbox_close() afterwards. */
int subagent_sandbox_open(struct child *c, struct error *err);
/* Merges the child's changes into the caller's sandbox. Does nothing if c has
 * no sandbox of its own. Appends to out what was merged and what was not. If
 * there are conflicts or the merge fails, saves the changes as a patch. */
void subagent_sandbox_merge(struct child *c, struct buf *out);
void subagent_sandbox_close(struct child *c);

#endif
