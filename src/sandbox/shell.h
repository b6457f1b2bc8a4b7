/* shell.h - commands with a terminal, for sandbox_ops.shell. */
/* SPDX-License-Identifier: MIT */
#ifndef SANDBOX_SHELL_H
#define SANDBOX_SHELL_H

#include "base/proc.h"
#include "sandbox/sandbox.h"

/* A request with exec_request.terminal is made by cmd/session/shell.c, which
 * has the user's terminal at the other end. A provider whose vendor has
 * terminals uses these. For the others a pseudo-terminal is made on this
 * machine, and the command or the program that reaches it (such as ssh) runs on
 * it. */

/* Makes a pseudo-terminal of the request's size: *ours is non-blocking. */
int shell_open_pty(const struct exec_terminal *size, int *ours, int *theirs,
		   struct error *err);
/* Copies bytes between the pseudo-terminal and the request until done is
 * readable, and then what the command has still printed. -1 if stop ended it or
 * a callback failed: the command must be killed. */
int shell_follow(int pty, int done, const struct exec_request *req,
		 const struct stop *stop, struct error *err);
/* Runs a program of this machine on a pseudo-terminal, in its own session.
 * program: path, argv and env. It is killed when dcode ends. */
int shell_run_program(const struct proc_spec *program,
		      const struct exec_request *req, struct exec_result *res,
		      const struct stop *stop, struct error *err);

#endif
