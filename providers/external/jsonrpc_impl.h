/* jsonrpc_impl.h - what the two parts of the wire share; not for others. */
/* SPDX-License-Identifier: MIT */
#ifndef PROVIDERS_EXTERNAL_JSONRPC_IMPL_H
#define PROVIDERS_EXTERNAL_JSONRPC_IMPL_H

#include <pthread.h>

#include "providers/external/jsonrpc.h"

struct note { /* a notification that waits for its call */
	cJSON *message;
	size_t size;
	struct note *next;
};

struct pending { /* a call under way; on its caller's stack */
	int64_t id;
	int event; /* an eventfd: there is something new */
	struct note *first, *last;
	size_t behind; /* bytes of notes */
	cJSON *answer; /* the whole message */
	struct pending *next;
};

struct jsonrpc {
	pthread_mutex_t lock; /* of all that follows, but the descriptors */
	pthread_t thread;
	pid_t pid;
	int in, out, err; /* ours of the child's; -1 when closed */
	int wake;         /* an eventfd: look again */
	int end;          /* readable once the child has ended */
	struct buf queue; /* not yet written to the child */
	struct buf line;  /* begun, of the child's output */
	struct buf tail;  /* its last words */
	size_t noise;     /* bytes that belonged to no call */
	int64_t last_id;
	struct pending *calls;
	bool leaving; /* the input is closed once the queue is empty */
	bool broken;
	bool reaped;
	struct error why; /* of broken */
};

/* jsonrpc_line.c; all with the lock held. */
void jsonrpc_break(struct jsonrpc *w, enum err code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Bytes that are no message. */
void jsonrpc_keep_words(struct jsonrpc *w, struct str bytes);
void jsonrpc_add_words(const struct jsonrpc *w, struct error *err);
/* Takes the child's output apart. */
void jsonrpc_feed(struct jsonrpc *w, struct str chunk);
/* A call cannot take more: the child has to wait. */
bool jsonrpc_is_behind(const struct jsonrpc *w);

/* jsonrpc_io.c */
void *jsonrpc_run(void *arg);
void jsonrpc_poke(int event);

#endif
