/* open.h - opens and closes a conversation with everything it needs. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_SESSION_OPEN_H
#define CMD_SESSION_OPEN_H

#include "cmd/session/run.h"

/* Opens everything, except that a sandbox may still be created in the
 * background. Call run_close() even after -1: it deletes what was created. */
int run_open(struct run *r, const struct stop *stop, struct error *err);
void run_undo(struct run *r); /* releases what run_open() opened; also after a
				 failure, or again */
void run_close(struct run *r);
/* Reads the flags and the corresponding settings into r->options. */
int run_read_flags(struct run *r, const struct args *args, struct error *err);

#endif
