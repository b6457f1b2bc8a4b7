/* rpc_impl.h - what deno_rpc.c and deno_rpc_call.c share. */
/* SPDX-License-Identifier: MIT */
#ifndef PROVIDERS_DENO_RPC_IMPL_H
#define PROVIDERS_DENO_RPC_IMPL_H

#include <pthread.h>

#include "providers/deno/rpc.h"

struct deno_message;

struct deno_rpc {
	pthread_mutex_t lock; /* of all below but ws */
	struct ws *ws;        /* the thread's, while it runs */
	pthread_t thread;
	bool started; /* to be joined */
	bool alive;
	bool leaving;
	bool pipes;         /* wake and quit are there */
	struct cancel wake; /* there is something to send, or to leave */
	struct cancel quit; /* to leave */
	struct deno_message *first;
	struct deno_message **last;
	size_t queued; /* bytes */
	struct deno_calls calls;
	int close_code; /* of connections that ended with no message on them: */
	int closings;   /* so many in turn, all with this code */
	int64_t next_id;
	int64_t next_stream;
};

/* With the lock. Takes the text over; it is sent in its turn. */
void deno_rpc_queue(struct deno_rpc *r, struct buf *text);

#endif
