/* link.h - one run of a held stream's program, and the bytes of its streams. */
/* SPDX-License-Identifier: MIT */
#ifndef PROVIDERS_HELD_LINK_H
#define PROVIDERS_HELD_LINK_H

#include <pthread.h>
#include <sys/types.h>

#include "providers/held/program.h"

enum {
	LINK_ID = 16,           /* characters of a request's name */
	LINK_ANSWER = 4 << 20,  /* bytes of an answer */
	LINK_REQUEST = 4 << 20, /* bytes of a request */
	LINK_QUEUE = 64 << 20,  /* of requests that are not read over there */
	LINK_NOISE = 1 << 20,   /* that belong to no answer, before an answer */
	LINK_TAIL = 2048,       /* of error output, and of output, for errors */
};

enum link_state { LINK_STARTING, LINK_READY, LINK_BROKEN };

/* A request under way. */
struct link_call {
	char id[LINK_ID + 1];
	struct buf *out; /* the caller's */
	bool over;       /* the answer was larger than out takes */
	bool done;
	int event;         /* readable once it is done, or the link broken */
	size_t from, size; /* its bytes in what waits for the start */
	struct link_call *next;
};

/* All but program, pid and the descriptors of the streams with the lock held.
 */
struct link {
	const struct held_program *program;
	pthread_mutex_t lock;
	pthread_t thread;
	enum link_state state;
	bool was_ready;
	bool leaving;
	unsigned users; /* calls that hold it; held.c's, under its lock */
	pid_t pid;
	int status; /* how the program ended: an exit code, or -1 */
	bool spawned;
	struct error why; /* where it did not start, or was cut */
	bool refused;     /* what came from over there is why */
	int in, out, err, wake;
	char nonce[LINK_ID + 1];
	struct buf queue;   /* to be written */
	struct buf waiting; /* the same, once it is ready */
	struct buf held;    /* read, not understood yet */
	bool body;          /* between a begin and its end */
	char body_id[LINK_ID + 1];
	int64_t body_began; /* clock_ms() */
	size_t noise;
	struct buf tail;
	struct buf prelude; /* the last output before the loop's first word */
	int64_t began;      /* clock_ms() */
	int64_t heard;      /* the same, of the last byte of output */
	struct link_call *calls;
};

/* Starts a thread that starts the program; first is the program's script. */
struct link *link_new(const struct held_program *program, struct error *err);
/* Sends a request: kind as in held.sh. With c NULL nothing is answered. A link
 * that broke takes it too: its state says why no answer comes. */
int link_send(struct link *l, struct link_call *c, char kind, struct str text,
	      struct error *err);
/* Takes c off the list: what still comes for it is dropped. True: the loop has
 * not begun, so that it was not sent, and now never is. */
bool link_forget(struct link *l, struct link_call *c);
/* Ends it, with the error that its calls get. */
void link_break(struct link *l, const char *reason);
/* Lets the program end by itself for grace_ms, then kills it; frees. */
void link_free(struct link *l, int64_t grace_ms);

/* answer.c: what came from the program, with the lock held. False: no more of
 * it can be understood. */
bool link_feed(struct link *l, struct str bytes);
void link_poke(int event);
/* Appends to what is kept for errors: at most LINK_TAIL bytes, the last. */
void link_keep_tail(struct buf *tail, struct str bytes);

#endif
