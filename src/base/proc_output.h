/* proc_output.h - what a program of the user's prints, within a time. */
/* SPDX-License-Identifier: MIT */
#ifndef BASE_PROC_OUTPUT_H
#define BASE_PROC_OUTPUT_H

#include "base/buf.h"
#include "base/error.h"
#include "base/stop.h"

/*
 * Runs the program at an absolute path, in / and in a session of its own, with
 * nothing on its input, and appends what it prints to out; its messages go
 * nowhere. Blocks until it has ended; where stop ends the wait, or it prints
 * more than out holds, it is killed with all that it has started. Returns its
 * exit status as proc_exit_code(), or -1 with err. See proc_run_all() for what
 * it leaves behind. Any thread.
 */
int proc_output(const char *path, char *const *argv, char *const *env,
		struct buf *out, const struct stop *stop, struct error *err);

#endif
