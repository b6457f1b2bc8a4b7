/* shell.h - the user's terminal, connected to a shell in a sandbox. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_SESSION_SHELL_H
#define CMD_SESSION_SHELL_H

#include "cmd/session/run.h"

/* Exit status if the user left a shell that still ran, with ~., and if the
 * provider does not report one. */
enum { SHELL_LEFT = 255, SHELL_UNKNOWN = 125 };

/*
 * Runs an interactive shell in the sandbox, on the terminal of standard input
 * and standard error, until it ends. It has the directory, variables, network
 * and limits of sandbox_execute(). ERR_USAGE: there is no terminal, or the
 * sandbox has none to give, or it is the user's own machine. The terminal is
 * restored in every case. In a chat the screen must be suspended.
 */
int shell_run(struct app *app, struct sandbox *sb, struct exec_result *res,
	      struct error *err);
/* shell_run() for a chat: suspends the screen, and stores in r->shell_note how
 * long the shell was open and which files of the working directory changed. */
int shell_run_in_chat(struct run *r, struct error *err);

#endif
