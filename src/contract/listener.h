/* listener.h - a server of ours that a sandbox may try to reach. */
/* SPDX-License-Identifier: MIT */
#ifndef CONTRACT_LISTENER_H
#define CONTRACT_LISTENER_H

#include <pthread.h>
#include <stdint.h>

#include "base/stop.h"

enum { LISTENER_TOKEN = 24 };
struct listener {                       /* start from { 0 } */
	char token[LISTENER_TOKEN + 1]; /* what it answers to everyone */
	uint16_t port;
	int fd;
	bool runs;
	struct cancel end;
	pthread_t thread;
};

/* Answers HTTP on every IPv4 address of this machine, on a thread, until
 * listener_stop(): whoever asks gets the token, and may send nothing. */
int listener_start(struct listener *l, struct error *err);
void listener_stop(struct listener *l);

#endif
