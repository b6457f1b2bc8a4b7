/* run_subagents.h - runs a run's subagents: starts, shows and ends them. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_SUBAGENTS_RUN_SUBAGENTS_H
#define CMD_SUBAGENTS_RUN_SUBAGENTS_H

#include "base/buf.h"
#include "tool/tool.h"

struct run; /* declared in cmd/session/run.h */

/* On the first call reads the subagents' files into r->subagents, and warns
 * about files that cannot be used (not with -q). If there are none, this only
 * reads two directories. */
void run_subagents_open(struct run *r);
void run_subagents_close(struct run *r);
/* Returns the description of the task tool, with the names of all subagents.
 * Owned by the caller. */
char *run_subagents_task(const struct run *r, const struct tool *task);
/* Lets r->agent call subagents. From then on the events and questions of all
 * agents are delivered one at a time. */
void run_subagents_attach(struct run *r);
/* Appends a line for each running or finished subagent, then the available
 * ones. Any thread. */
void run_subagents_list(const struct run *r, struct buf *out);
/* Cancels the subagent with this number only. False if it is not running. Any
 * thread. */
bool run_subagents_cancel(struct run *r, unsigned number);

#endif
