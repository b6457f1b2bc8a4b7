/* jsonrpc.h - requests to a child process: one JSON message per line. */
/* SPDX-License-Identifier: MIT */
#ifndef PROVIDERS_EXTERNAL_JSONRPC_H
#define PROVIDERS_EXTERNAL_JSONRPC_H

#include "base/json.h"
#include "base/proc.h"
#include "base/stop.h"

/*
 * The client's end of PROTOCOL.md, without its methods. A thread of its own
 * does all reading and writing, so that a call can be given up at any time and
 * a child that stops reading blocks nobody. Nothing that the child does is
 * trusted: every size has a ceiling. The last output that is no message is
 * quoted in errors.
 */
enum {
	JSONRPC_LINE = 32 << 20,  /* bytes of a message */
	JSONRPC_QUEUE = 64 << 20, /* of requests that the child does not read */
	JSONRPC_BEHIND = 8 << 20, /* of notifications not yet delivered */
	JSONRPC_NOISE =
		1 << 20,     /* that belong to no call, between two answers */
	JSONRPC_TAIL = 2048, /* of output that is no message, for errors */
	JSONRPC_NO_ERROR = -100000, /* see jsonrpc_ask.error_code */
};

struct jsonrpc;

/* What to ask. All borrowed for the call. */
struct jsonrpc_ask {
	const char *method;
	struct str params; /* a JSON object */
	const char *what;  /* "creating the sandbox", for errors */
	int64_t timeout_ms;
	/* A notification about this request, on the calling thread. -1 (err
	 * filled) ends the call. NULL: they are dropped. */
	int (*notify)(void *arg, const char *method, const cJSON *params,
		      struct error *err);
	void *arg;
	/* Out: the code of the error that the child answered with, or
	 * JSONRPC_NO_ERROR. */
	int error_code;
};

/* Starts the child. Pipes of ours take the place of the first three of spec's
 * descriptors, of which there are at least three. */
struct jsonrpc *jsonrpc_start(const struct proc_spec *spec, struct error *err);
/*
 * Asks and waits for the answer: *result is owned by the caller. On -1 the
 * child has been told to cancel when it lives. Any thread.
 * ERR_REMOTE: the child answered with an error, see error_code; ERR_PROTOCOL:
 * with nonsense; ERR_TIMEOUT; ERR_NETWORK: it has ended, or was ended for what
 * it did: jsonrpc_broken() from now on.
 */
int jsonrpc_call(struct jsonrpc *w, struct jsonrpc_ask *ask, cJSON **result,
		 const struct stop *stop, struct error *err);
bool jsonrpc_broken(struct jsonrpc *w);
/* -1 with ERR_PROTOCOL: the answer is valid, but detail is wrong in it. */
int jsonrpc_bad_answer(const char *detail, struct error *err);
/* Closes the child's input, waits for its end for at most grace_ms and kills
 * its process group. No call may be under way. */
void jsonrpc_end(struct jsonrpc *w, int64_t grace_ms);

#endif
