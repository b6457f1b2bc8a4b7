/* events.h - what envd tells about a running process. */
/* SPDX-License-Identifier: MIT */
#ifndef PROVIDERS_E2B_EVENTS_H
#define PROVIDERS_E2B_EVENTS_H

#include "net/envelope.h"

/* The stream of process.Process/Start; start from { .out = ... }. */
struct e2b_events {
	struct envelope stream;
	struct buf *out; /* borrowed: receives standard output */
	bool started;    /* the process has a number */
	bool exited;     /* it has ended, and all its output is there */
	char code[32];   /* the error's name at the stream's end, or "" */
	char message[200];
};

/* ERR_PROTOCOL for what is no such stream, ERR_LIMIT when out is full. */
int e2b_events_feed(struct e2b_events *e, struct str chunk, struct error *err);
/* At the end of the answer: 0 when all of it has come. */
int e2b_events_end(const struct e2b_events *e, struct error *err);
void e2b_events_release(struct e2b_events *e);

#endif
