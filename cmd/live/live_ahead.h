/* live_ahead.h - a message that is sent while the sandbox is being made. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_LIVE_LIVE_AHEAD_H
#define CMD_LIVE_LIVE_AHEAD_H

#include <pthread.h>
#include <stdbool.h>

struct early; /* agent/early.h */
struct live;

struct live_ahead {
	pthread_mutex_t lock;
	struct early *early; /* takes a message, or NULL; under the lock */
	bool sent;           /* it has taken live.now */
	char step[128];      /* then: what the sandbox is waited for */
};

/* run.listen; arg is the struct live. On the worker's thread. */
void live_listen(void *arg, struct early *e);
/* While the run is opened: sends the first message that waits, where it needs
 * no sandbox. */
void live_send_ahead(struct live *l);
/* The run is open: the turn of what was sent goes on. */
void live_go_on(struct live *l);
/* The opening was stopped: it waits again, before all others. */
void live_return_ahead(struct live *l);

#endif
