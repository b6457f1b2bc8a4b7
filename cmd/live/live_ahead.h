/* live_ahead.h - a message that is sent while the sandbox is being made. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_LIVE_LIVE_AHEAD_H
#define CMD_LIVE_LIVE_AHEAD_H

#include <pthread.h>
#include <stdbool.h>

#include "base/error.h"
#include "base/stop.h"

struct live;

struct live_ahead {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool listens;   /* the worker takes a message; under the lock */
	bool sent;      /* it has taken live.now; the same */
	char step[128]; /* then: what the sandbox is waited for */
};

/* While the run is opened: sends the first message that waits, where it needs
 * no sandbox. */
void live_send_ahead(struct live *l);
/* On the worker's thread, of a run whose sandbox is promised: runs the message
 * that is sent meanwhile to its end, or waits for the sandbox. */
int live_run_ahead(struct live *l, const struct stop *stop, struct error *err);
/* run.came and run.opened; arg is the struct live. */
void live_on_came(void *arg);
int live_on_opened(void *arg, struct error *err);
/* The sandbox is there: the turn of what was sent goes on. */
void live_go_on(struct live *l);
/* The opening was stopped: the message waits again, before all others. */
void live_return_ahead(struct live *l);

#endif
