/* listener.h - a test server of dcode that a sandbox tries to reach. */
/* SPDX-License-Identifier: MIT */
#ifndef CONTRACT_LISTENER_H
#define CONTRACT_LISTENER_H

#include <pthread.h>
#include <stdint.h>

#include "base/stop.h"

enum { LISTENER_TOKEN = 24 };
struct listener {                       /* initialise with { 0 } */
	char token[LISTENER_TOKEN + 1]; /* its answer to every request */
	uint16_t port;
	int fd;
	bool runs;
	struct cancel end;
	pthread_t thread;
};

/* Answers HTTP on all IPv4 addresses of this machine, on a thread, until
 * listener_stop(). Every client gets the token, even if it sends nothing. */
int listener_start(struct listener *l, struct error *err);
void listener_stop(struct listener *l);

#endif
