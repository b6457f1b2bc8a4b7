/* toolrun_impl.h - what the parts of toolrun share; not for others. */
/* SPDX-License-Identifier: MIT */
#ifndef AGENT_TOOLRUN_IMPL_H
#define AGENT_TOOLRUN_IMPL_H

#include <pthread.h>

#include "agent/hooked.h"
#include "agent/toolrun.h"

struct batch {
	struct agent *agent;
	const struct stop *stop;
	const struct part **calls; /* all of the answer */
	size_t total;
	pthread_mutex_t events; /* so that no two events overlap */
};

struct tool_job {
	struct batch *batch;
	const struct part *call;
	size_t number; /* of the batch, from 1 */
	struct buf out;
	struct error err;
	char *real_path;    /* from approve, or NULL; owned */
	struct part edited; /* the call as the user changed it; args owned */
	struct buf remark;  /* what the model is told of that */
	struct tool_change change;
	struct message media; /* of the result */
	struct hooked_call hooked;
	bool failed;
	bool refused;
	bool unready;   /* agent.prepare would not have it run: out has why */
	bool declined;  /* ... by the user */
	bool malformed; /* unknown, or its arguments cannot be read */
	int exit_code;  /* of execute's command; else 0 */
	int rc;
	pthread_t thread;
	bool started;
	bool announced; /* its EVENT_TOOL_CALL is out */
};

void toolrun_emit(struct batch *b, const struct agent_event *ev);
/* The tool of the call, or NULL. */
const struct tool *toolrun_tool(const struct tool_job *job);
/* Whether the call would write or run something. */
bool toolrun_acts(const struct tool_job *job);
/* Whether the tool of the call has one of these flags. */
bool toolrun_has_flag(const struct tool_job *job, unsigned flags);
/* Hooks and the user have their say: refused is set then, or the call is as
 * they changed it. -1 when the run was cancelled. */
int toolrun_approve(struct tool_job *job, struct error *err);

#endif
