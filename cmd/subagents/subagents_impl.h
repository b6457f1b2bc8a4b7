/* subagents_impl.h - what the parts of cmd/subagents share; not for others. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_SUBAGENTS_SUBAGENTS_IMPL_H
#define CMD_SUBAGENTS_SUBAGENTS_IMPL_H

#include <pthread.h>

#include "cmd/session/run.h"
#include "cmd/subagents/roster.h"
#include "cmd/subagents/run_subagents.h"
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
	struct roster roster;
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

/* One that works for a call of task; on the thread of that call. */
struct apart;
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

/* The parent's events and questions, one at a time. child_ui.c */
void subagents_event(void *arg, const struct agent_event *ev);
int subagents_approve(void *arg, struct approval *a, const struct stop *stop,
		      struct error *err);
int subagents_ask(void *arg, struct inquiry *q, enum inquiry_end *end,
		  const struct stop *stop, struct error *err);
/* Until the other one of a question is answered, or stop ends that: -1. */
int subagents_take_turn(struct run_subagents *s, const struct stop *stop,
			struct error *err);
void subagents_end_turn(struct run_subagents *s);
/* Where what c does goes. */
struct agent_ui child_ui(struct child *c);
/* A step of c's for all readers; text is its line. */
void child_emit(struct child *c, const struct agent_event *inner, bool over,
		const char *end, const char *text);
bool child_raise(void *arg);

/* c->agent with a model and a prompt of its own. child_open.c */
int child_open(struct child *c, struct error *err);
void child_close(struct child *c);

/* A sandbox of its own with the files of its caller's, which c->agent then
 * works in. Close it in any case. apart.c */
int apart_open(struct child *c, struct error *err);
/* What changed there into the caller's, where it is there: appends what came
 * and what did not. */
void apart_bring(struct child *c, struct buf *out);
void apart_close(struct child *c);

/* agent.delegate; arg is the run. */
int subagents_delegate(void *arg, const struct delegation *d, struct buf *out,
		       struct error *err);

#endif
