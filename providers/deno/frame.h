/* frame.h - one message of Deno's JSON-RPC, told apart: pure. */
/* SPDX-License-Identifier: MIT */
#ifndef PROVIDERS_DENO_FRAME_H
#define PROVIDERS_DENO_FRAME_H

#include "base/json.h"

enum deno_word {
	DENO_OTHER,  /* a kind that we do not know: to be ignored */
	DENO_REPLY,  /* to the request id: ok, or else code and message */
	DENO_DATA,   /* of the server's stream id */
	DENO_END,    /* of the server's stream id; failed: before its end */
	DENO_CANCEL, /* of our stream id: nobody reads it any more */
};

/* Schema of @deno/sandbox 0.13.2 (proto.js, schema.js; read 2026-11). */
struct deno_frame {
	cJSON *tree; /* owned; what follows points into it */
	enum deno_word word;
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
/* Appends the bytes as base64, without quotes. */
void deno_frame_base64(struct buf *out, struct str bytes);

#endif
