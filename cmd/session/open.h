/* open.h - opens and closes a conversation with everything it needs. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_SESSION_OPEN_H
#define CMD_SESSION_OPEN_H

#include "cmd/session/run.h"

/* Opens everything, except a sandbox created in the background. After -1 call
 * run_close(), which deletes what was created. */
int run_open(struct run *r, const struct stop *stop, struct error *err);
void run_undo(struct run *r); /* releases a failed or open run; may be called
				 twice */
void run_close(struct run *r);
/* Reads the flags and the corresponding settings into r->options. */
int run_read_flags(struct run *r, const struct args *args, struct error *err);

#endif
