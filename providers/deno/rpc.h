/* rpc.h - many calls at once over one WebSocket to a Deno sandbox. */
/* SPDX-License-Identifier: MIT */
#ifndef PROVIDERS_DENO_RPC_H
#define PROVIDERS_DENO_RPC_H

#include "net/ws.h"
#include "providers/deno/calls.h"

/*
 * The socket belongs to a thread of its own, which sends what is queued, hands
 * out what comes, and says "ping" every two seconds as the SDK does. Any
 * thread may call. When the socket ends, all calls fail with ERR_NETWORK, and
 * so do later ones until deno_rpc_set_socket().
 */
struct deno_rpc;

struct deno_call { /* one request and its answer; the caller's */
	const char *method;
	struct str params; /* JSON; with source, an object without its "}",
			      to which the stream's number is added */
	/* For "spawn": the call ends when the process has closed its output,
	 * which is appended to out (up to out->max). NULL: with the reply. */
	struct buf *out;
	/* Gets that output as it comes instead, on the calling thread; out
	 * must take DENO_FULL + DENO_MESSAGE_MAX. -1 (err filled) ends the
	 * call. */
	int (*sink)(void *arg, struct str chunk, struct error *err);
	/* Sent as a stream after the request; at most len bytes into room, 0
	 * at the end, -1 (err filled) makes the call fail. On the calling
	 * thread. */
	int64_t (*source)(void *arg, char *room, size_t len, struct error *err);
	void *arg;
	int64_t idle_ms; /* without an answer or output: ERR_NETWORK; 0: no end
			  */
	char code[DENO_CODE]; /* out: "ENOENT", where the call was refused */
};

struct deno_rpc *deno_rpc_new(void);
/* Ends the socket and the thread; never blocks for long. */
void deno_rpc_free(struct deno_rpc *r);
bool deno_rpc_alive(struct deno_rpc *r);
/* Ends the socket; one thread at a time, as deno_rpc_set_socket(). */
void deno_rpc_end(struct deno_rpc *r);
/* Takes ws over in any case; one thread at a time, and only while there is no
 * socket. */
int deno_rpc_set_socket(struct deno_rpc *r, struct ws *ws, struct error *err);
/*
 * 0 with out filled. -1: ERR_NETWORK, the socket ended, and the request
 * may have been performed; ERR_PROTOCOL; ERR_REMOTE, refused (see code);
 * ERR_LIMIT, more output than out takes; what stop or source says.
 */
int deno_rpc_call(struct deno_rpc *r, struct deno_call *c,
		  const struct stop *stop, struct error *err);

#endif
