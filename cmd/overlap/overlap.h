/* overlap.h - the first request, sent while the sandbox is being made. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_OVERLAP_OVERLAP_H
#define CMD_OVERLAP_OVERLAP_H

#include <stdbool.h>

#include "base/error.h"
#include "base/stop.h"

struct run; /* cmd/run/run.h */

/*
 * The model is opened before the sandbox where its prompt is known to be the
 * same as afterwards, and r->ahead, or what r->listen has, goes out once no
 * question is left. Not where [sandboxes] overlap is false.
 */

/* Whether it can be; then r->box says where the tools will act, until
 * overlap_begin(). r->host is open. */
bool overlap_can(struct run *r);
/* r->agent is complete. */
int overlap_begin(struct run *r, const struct stop *stop, struct error *err);
/* As lifecycle_request.begins; arg is the run. */
void overlap_begins(void *arg);
/* The user has answered what there was to ask. */
void overlap_answered(struct run *r);
/* The sandbox is there: what was sent is left to agent_run(). */
int overlap_end(struct run *r, struct error *err);
/* There is none, or no model: *why says what the run ends with. Always -1. */
int overlap_fail(struct run *r, struct error *why);

#endif
