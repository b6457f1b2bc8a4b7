/* shell.h - commands with a terminal, for sandbox_ops.shell. */
/* SPDX-License-Identifier: MIT */
#ifndef SANDBOX_SHELL_H
#define SANDBOX_SHELL_H

#include <pthread.h>

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

/* A terminal of a vendor, which threads reach by blocking calls: meanwhile the
 * caller still reads keys such as ~. that end it. */
struct shell_link {
	/* The caller triggers it: run() must end the shell and return within a
	 * few seconds. */
	struct cancel over;
	/* internal */
	struct cancel events; /* keys, a new size or the end */
	int theirs;           /* the threads' end of a socket pair */
	struct cancel resized;
	struct cancel done;        /* run() has returned */
	struct cancel_chain ended; /* ... or must */
	pthread_mutex_t lock;
	struct exec_terminal size; /* guarded by lock */
	const struct shell_way *way;
	struct exec_result *res;
	struct error *err;
	int rc;
};
struct shell_way {
	/* Opens a terminal of this size, runs the request's command in it and
	 * follows it to its end. Called on its own thread. */
	int (*run)(void *arg, struct shell_link *link,
		   const struct exec_terminal *size, struct exec_result *res,
		   struct error *err);
	/* Pass on keys and a new size, on a second thread, from the moment when
	 * run() is called. */
	int (*send)(void *arg, struct str keys, const struct stop *stop,
		    struct error *err);
	int (*resize)(void *arg, const struct exec_terminal *size,
		      const struct stop *stop, struct error *err);
	void *arg; /* borrowed */
};
int shell_run_way(const struct shell_way *way, const struct exec_request *req,
		  struct exec_result *res, const struct stop *stop,
		  struct error *err);
/* For run(): prints what the terminal shows. Waits while the user's terminal is
 * slow. */
int shell_print(struct shell_link *link, struct str text, struct error *err);
/* For run(), after a failure: true if it should connect again. Then it has said
 * so, and waited. *err is the failure; false, unchanged, when it was not the
 * network's, when the caller ends the shell, and after a minute in which no
 * connection printed anything or lasted for some seconds: a server that accepts
 * each one and closes it is not asked for ever. */
struct shell_retry {
	/* clock_ms() of the first failure; 0: none yet. run() clears it when
	 * the shell has printed something. */
	int64_t since;
	int64_t connected; /* clock_ms() of the last connection; run() sets it
			    */
};
bool shell_retry(struct shell_retry *retry, struct shell_link *link,
		 struct error *err);

/* sandbox_execute() for a request with a terminal. If the provider has no
 * terminal, a program in the sandbox makes one (scripts/sandbox/shell.sh), and
 * further commands pass on the keys. ERR_USAGE: there is no such program. */
int shell_execute(struct sandbox *sb, const struct exec_request *req,
		  struct exec_result *res, const struct stop *stop,
		  struct error *err);
/* True if shell_execute() can work with this provider. */
bool shell_is_possible(const struct sandbox_client *client);

#endif
