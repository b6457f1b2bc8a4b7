/* kill.h - ends the processes of one command in a container. */
/* SPDX-License-Identifier: MIT */
#ifndef PROVIDERS_DOCKER_KILL_H
#define PROVIDERS_DOCKER_KILL_H

#include <pthread.h>

#include "providers/docker/engine.h"

/* sandbox.priv: what the sandbox shares with the threads that end commands. */
struct docker_box {
	struct docker *docker; /* borrowed */
	atomic_int kills;      /* threads at work */
	bool created;          /* by us: the container may be restarted */
	pthread_mutex_t restarting;
	pthread_mutex_t lock; /* for the rest */
	unsigned restarts;
	int64_t init; /* pid of the first process on the engine's machine */
	char notice[SANDBOX_NOTICE]; /* that was in no result yet */
};
struct docker_box *docker_box_new(struct docker *docker, bool created);
/* Waits for the threads first. */
void docker_box_free(struct docker_box *box);
void docker_box_set_init(struct docker_box *box, const cJSON *inspected);
/* Moves the notice that was in no result yet to the end of notice. */
void docker_box_take_notice(struct docker_box *box,
			    char notice[SANDBOX_NOTICE]);
unsigned docker_box_restarts(struct docker_box *box);
/* Whether the container has been restarted since restarts was read, by us or,
 * as GET /containers/ID/json says, by somebody else. */
bool docker_box_restarted(struct docker_box *box, const char *container,
			  unsigned restarts);

struct docker_call { /* borrowed: one command that was started */
	const char *container;
	const char *exec;  /* its id */
	const char *token; /* DCODE_EXEC in its environment */
	int64_t sent_ms;   /* when it was sent (clock_ms) */
};

/*
 * Ends every process of a call with no more rights than the container gives
 * its commands. A program in the container is asked to kill them; whether it
 * did is read from the engine, since a command may have replaced every
 * program there. What still lives after 2 s is ended by a restart where the
 * container is ours; else notice names it. Appends to notice what the user
 * and the model have to know.
 */
void docker_kill(struct docker_box *box, const struct docker_call *call,
		 char notice[SANDBOX_NOTICE]);
/* The same on a thread of its own, so that a cancel returns at once; the notice
 * is kept in the box, and whatever runs a command next waits. */
void docker_kill_later(struct docker_box *box, const struct docker_call *call);
/* Until none is at work any more. */
int docker_kills_done(struct docker_box *box, const struct stop *stop,
		      struct error *err);

#endif
