/* calls.h - requests that wait, and what comes for them: no socket. */
/* SPDX-License-Identifier: MIT */
#ifndef PROVIDERS_DENO_CALLS_H
#define PROVIDERS_DENO_CALLS_H

#include "base/stop.h"
#include "providers/deno/frame.h"

enum {
	DENO_MESSAGE_MAX = 32 << 20,
	DENO_CODE = 48,
	DENO_FULL = 4 << 20, /* bytes of output */
};

struct deno_waiting { /* a request without its answer; on the heap */
	struct deno_waiting *next;
	int64_t id;
	bool spawn;      /* ends with the process's output, not the reply */
	struct buf *out; /* borrowed: gets that output; NULL: nobody */
	bool live;       /* ready is triggered by output, too */
	int64_t sending; /* number of our stream, -1: none */
	/* Filled from here on. */
	bool cancelled; /* the server wants no more of our stream */
	bool done;
	cJSON *ok; /* owned: the result */
	char code[DENO_CODE];
	struct error why;    /* of what failed */
	struct cancel ready; /* triggered when done */
	int64_t stream;      /* of the process's output, -1: not known */
	int64_t pid;         /* that process's */
	bool abandoned;
};

struct deno_stream;

/* Start from { 0 }. Not locked. */
struct deno_calls {
	struct deno_waiting *list;
	struct deno_stream *early; /* streams that no reply has named yet */
};

struct deno_waiting *deno_calls_add(struct deno_calls *c, int64_t id,
				    struct error *err);
/* Gives one message to whom it is for. -1: the server makes no sense. */
int deno_calls_take(struct deno_calls *c, const struct deno_frame *f,
		    struct error *err);
/* All fail so. */
void deno_calls_fail(struct deno_calls *c, const struct error *why);
/* Has a live one so much output that no more should be asked for? */
bool deno_calls_full(const struct deno_calls *c);
/* Nobody waits for it any more: it is freed, now or with its reply. */
void deno_calls_leave(struct deno_calls *c, struct deno_waiting *w);

#endif
