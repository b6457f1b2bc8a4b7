/* calls.h - Deno's JSON-RPC messages, and the requests that wait for them. */
/* SPDX-License-Identifier: MIT */
#ifndef PROVIDERS_DENO_CALLS_H
#define PROVIDERS_DENO_CALLS_H

#include "base/json.h"
#include "base/stop.h"

/* No socket and no lock: see rpc.h. */
enum {
	DENO_MESSAGE_MAX = 32 << 20,
	DENO_CODE = 48,
	DENO_FULL = 4 << 20, /* bytes of output */
};

enum deno_kind {
	DENO_OTHER,  /* a kind that we do not know: to be ignored */
	DENO_REPLY,  /* to the request id: ok, or else code and message */
	DENO_DATA,   /* of the server's stream id */
	DENO_END,    /* of the server's stream id; failed: before its end */
	DENO_CANCEL, /* of our stream id: nobody reads it any more */
};

/* Schema of @deno/sandbox 0.13.2 (proto.js, schema.js; read 2026-11). */
struct deno_frame {
	cJSON *tree; /* owned; what follows points into it */
	enum deno_kind kind;
	int64_t id;
	const cJSON *ok; /* the result, NULL when it failed */
	bool failed;
	const char *code; /* "ENOENT", "NotFound" or "" */
	const char *message;
	struct buf data; /* owned: the bytes */
};

/* For any bytes; the text "pong" is DENO_OTHER. ERR_PROTOCOL for what is no
 * such message, ERR_LIMIT for more data than max; release it in any case. */
int deno_frame_parse(struct deno_frame *f, struct str text, size_t max,
		     struct error *err);
void deno_frame_release(struct deno_frame *f);

/* Appends {"jsonrpc":"2.0","id":N,"method":M,"params":P}; id -1: a
 * notification. params is JSON. */
void deno_frame_ask(struct buf *out, int64_t id, const char *method,
		    struct str params);

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
/* Applies one message to the request that it is for. ERR_PROTOCOL. */
int deno_calls_apply(struct deno_calls *c, const struct deno_frame *f,
		     struct error *err);
/* All requests that are not done fail with why. */
void deno_calls_fail(struct deno_calls *c, const struct error *why);
/* True when a live one has DENO_FULL bytes of output or more: then no more
 * should be received. */
bool deno_calls_full(const struct deno_calls *c);
/* Waits until it is done, or live output has come. ERR_NETWORK after idle_ms
 * without either; 0: no limit. Without the lock of the requests. */
int deno_calls_wait(struct deno_waiting *w, int64_t idle_ms,
		    const struct stop *stop, struct error *err);
/* Nobody waits for it any more: it is freed, now or with its reply. */
void deno_calls_leave(struct deno_calls *c, struct deno_waiting *w);

#endif
