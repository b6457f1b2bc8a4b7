/* run_subagents.h - the subagents of a run: who there are, and who works. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_SUBAGENTS_RUN_SUBAGENTS_H
#define CMD_SUBAGENTS_RUN_SUBAGENTS_H

#include "base/buf.h"
#include "tool/tool.h"

struct run; /* cmd/session/run.h */

/* Fills r->subagents where that was not done yet; says what was left out, but
 * not with -q. Reads nothing but two directories where there are none. */
void run_subagents_open(struct run *r);
void run_subagents_close(struct run *r);
/* The description of task, with their names; owned by the caller. */
char *run_subagents_task(const struct run *r, const struct tool *task);
/* r->agent may have them work; its events and questions are never two at once
 * from then on. */
void run_subagents_attach(struct run *r);
/* Appends a line for each that works, or has worked; then who there are. Any
 * thread. */
void run_subagents_list(const struct run *r, struct buf *out);
/* Ends the work of one, by its number, and of no other: false where none of
 * this number works. Any thread. */
bool run_subagents_cancel(struct run *r, unsigned number);

#endif
