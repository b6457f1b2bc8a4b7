/* jsonrpc_impl.h - what the three parts of the client share. */
/* SPDX-License-Identifier: MIT */
#ifndef RPC_JSONRPC_IMPL_H
#define RPC_JSONRPC_IMPL_H

#include <pthread.h>

#include "rpc/jsonrpc.h"

struct pending { /* a call under way; on its caller's stack */
	int64_t id;
	int64_t progress; /* see struct jsonrpc_ask; 0: none */
	int event;        /* an eventfd: there is something new */
	cJSON *notes;     /* an array: notifications not yet delivered */
	size_t behind;    /* their bytes */
	cJSON *answer;    /* the whole message */
	struct pending *next;
};

struct jsonrpc {
	const struct jsonrpc_peer *peer;
	void *arg;            /* of its functions */
	pthread_mutex_t lock; /* of all that follows, but the descriptors */
	pthread_t thread;
	pid_t pid;
	int in, out, err; /* ours of the child's; -1 when closed */
	int wake;         /* an eventfd: the thread has something to do */
	int end;          /* readable once the child has ended */
	struct buf queue; /* not yet written to the child */
	struct buf line;  /* of the child's output, without its end yet */
	struct buf tail;  /* the last that it wrote besides messages */
	size_t noise;     /* bytes that belonged to no call */
	int64_t last_id;
	struct pending *calls;
	bool leaving; /* the input is closed once the queue is empty */
	bool broken;
	bool reaped;
	struct error why; /* of broken */
};

/* jsonrpc_line.c; all with the lock held. */
/* From now on every call fails: "NAME FMT", ERR_NETWORK. */
void jsonrpc_break(struct jsonrpc *w, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Keeps the last of the bytes that are no message. */
void jsonrpc_add_tail(struct jsonrpc *w, struct str bytes);
/* Adds what was kept of them to the message. */
void jsonrpc_quote_tail(const struct jsonrpc *w, struct error *err);
/* Hands each complete line of the child's output to its call. */
void jsonrpc_feed(struct jsonrpc *w, struct str chunk);
/* True while a call has more notifications than it may keep: then nothing is
 * read. */
bool jsonrpc_is_behind(const struct jsonrpc *w);

/* jsonrpc_io.c */
void jsonrpc_kill(struct jsonrpc *w);
void *jsonrpc_run(void *arg);
void jsonrpc_poke(int event);

#endif
