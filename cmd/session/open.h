/* open.h - a conversation with everything it needs, opened and closed. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_SESSION_OPEN_H
#define CMD_SESSION_OPEN_H

#include "cmd/session/run.h"

/* All of it, but for a sandbox that is promised. On -1 run_close() has to be
 * called: it deletes what was made. */
int run_open(struct run *r, const struct stop *stop, struct error *err);
void run_undo(struct run *r); /* after it failed: it may be called again */
void run_close(struct run *r);
/* The flags of r->options, with what the settings say of the same. */
int run_read_flags(struct run *r, const struct args *args, struct error *err);

#endif
