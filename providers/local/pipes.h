/* pipes.h - moves a local command's input and output until it ends. */
/* SPDX-License-Identifier: MIT */
#ifndef PROVIDERS_LOCAL_PIPES_H
#define PROVIDERS_LOCAL_PIPES_H

#include <pthread.h>
#include <sys/types.h>

#include "base/proc.h"
#include "sandbox/sandbox.h"

/*
 * A thread, started when first needed, for what outlives a call: it reads and
 * drops what background children still print (else they would block, or die
 * of SIGPIPE), and reaps processes that end later. Any thread may add.
 */
struct pipe_reaper {
	pthread_mutex_t lock;
	pthread_t thread;
	bool running;
	bool leaving;
	int wake[2];
	struct left_behind {
		int fd;    /* a pipe's read end or a process descriptor */
		pid_t pid; /* 0 for a pipe */
	} * items;
	size_t n;
};
void pipe_reaper_init(struct pipe_reaper *r);
/* Takes the descriptor over. */
void pipe_reaper_drain(struct pipe_reaper *r, int fd);
/* Reaps the child, now or when it ends. */
void pipe_reaper_reap(struct pipe_reaper *r, pid_t pid);
/* Ends the thread and closes what it holds. */
void pipe_reaper_release(struct pipe_reaper *r);

struct pump {
	/* Filled by pump_open(): ours are non-blocking and close-on-exec. */
	int theirs[3]; /* the command's stdin, stdout, stderr; -1: /dev/null */
	int in;        /* our ends; -1 when closed */
	int out[2];    /* stdout, stderr; of a merged one the first has both */
	const struct exec_request *req; /* borrowed */
	struct buf pending; /* replies, or from the source, not yet written */
	size_t sent;        /* bytes of req->input written */
	bool dry;           /* req->source has no more, or there is none */
};

enum pump_end {
	PUMP_ENDED,   /* the main process has ended */
	PUMP_TIMEOUT, /* req->timeout_ms has passed */
	PUMP_FAILED   /* err says: stopped, the callback's refusal, ... */
};

/* Refuses a command with a NUL byte. Release it in any case. */
int pump_open(struct pump *p, const struct exec_request *req,
	      struct error *err);
/* Once the command has been started. */
void pump_close_theirs(struct pump *p);
/* Moves bytes until done is readable (or hung up), or there is a reason to
 * kill the command. */
enum pump_end pump_run(struct pump *p, int done, const struct stop *stop,
		       struct error *err);
/* Delivers what the ended command left in its pipes, not waiting for
 * processes that still hold them. */
int pump_rest(struct pump *p, struct error *err);
/* Closes; pipes that somebody still writes to go to the reaper. */
void pump_release(struct pump *p, struct pipe_reaper *reaper);

struct pump_program {          /* all borrowed */
	struct proc_spec spec; /* without fds */
	const char *marker;    /* as in struct proc_tree */
	struct pipe_reaper *reaper;
};
/* Runs a program on this machine as req says. When it is stopped, or its time
 * is up, all processes that came of it are killed. */
int pump_program(const struct pump_program *program,
		 const struct exec_request *req, struct exec_result *res,
		 const struct stop *stop, struct error *err);

/* Closes it unless it is -1, and sets it to -1. */
void close_fd(int *fd);

#endif
