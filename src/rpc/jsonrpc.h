/* jsonrpc.h - requests to a child process: one JSON message per line. */
/* SPDX-License-Identifier: MIT */
#ifndef RPC_JSONRPC_H
#define RPC_JSONRPC_H

#include "base/json.h"
#include "base/proc.h"
#include "base/stop.h"

/*
 * The client's end of a JSON-RPC 2.0 protocol over a child's standard streams,
 * without its methods. A thread of its own does all reading and writing, so
 * that a call can be given up at any time and a child that stops reading blocks
 * nobody. Nothing that the child does is trusted: every size has a ceiling. The
 * last output that is no message is quoted in errors.
 */
enum {
	JSONRPC_LINE = 32 << 20,  /* bytes of a message */
	JSONRPC_QUEUE = 64 << 20, /* of requests that the child does not read */
	JSONRPC_BEHIND = 8 << 20, /* of notifications not yet delivered */
	JSONRPC_NOISE =
		1 << 20, /* that belong to no call, between two answers */
	JSONRPC_NOTICES = 64 << 20, /* the same where it is lenient */
	JSONRPC_TAIL = 2048, /* of output that is no message, for errors */
	JSONRPC_NO_ERROR = -100000, /* see jsonrpc_ask.error_code */
};

/* The member of a notification's params that names the call which it is about,
 * where peers have receive (MCP, "Progress"). */
#define JSONRPC_PROGRESS "progressToken"

struct jsonrpc;

/* What one protocol has different from another; outlives its children. */
struct jsonrpc_peer {
	const char *name; /* of the child, in errors: "the provider" */
	/* Appends the line that gives up a request. */
	void (*cancel)(struct buf *out, int64_t id);
	const char *bye; /* the last line that it is sent, or NULL */
	/* A message with a method, on the child's own thread and within its
	 * lock; the lines that are appended to reply are sent. NULL: such a
	 * message is for the call whose id its params have. */
	void (*receive)(void *arg, const cJSON *message, struct buf *reply);
	/* Asks the child to end, once its input is closed; or NULL. */
	void (*terminate)(void *arg);
	/* Kills it and all that came of it; NULL: its process group. */
	void (*kill)(void *arg);
	bool lenient; /* an answer to nothing is not its end */
};

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
	int64_t progress; /* the token of those, where the peer has receive */
	bool lasting;     /* the child must not be told to cancel it */
	/* Out: the code of the error that the child answered with, or
	 * JSONRPC_NO_ERROR. */
	int error_code;
};

/* Starts the child. Pipes of ours take the place of the first three of spec's
 * descriptors, of which there are at least three. arg is for peer's functions.
 */
struct jsonrpc *jsonrpc_start(const struct proc_spec *spec,
			      const struct jsonrpc_peer *peer, void *arg,
			      struct error *err);
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
int jsonrpc_bad_answer(const struct jsonrpc_peer *peer, const char *detail,
		       struct error *err);
/* Takes the result out of an answer; its error, or the lack of both, becomes
 * err, as of jsonrpc_call(). */
int jsonrpc_result(const struct jsonrpc_peer *peer, cJSON *message,
		   struct jsonrpc_ask *ask, cJSON **result, struct error *err);
/* Sends a notification. params: a JSON object. */
void jsonrpc_notify(struct jsonrpc *w, const char *method, struct str params);
/* Appends the last that the child wrote besides messages, as it is. */
void jsonrpc_tail(struct jsonrpc *w, struct buf *out);
/* Closes the child's input once all is written to it: jsonrpc_end() follows. */
void jsonrpc_leave(struct jsonrpc *w);
/* Closes the child's input, waits for its end for at most grace_ms (once more
 * where it is asked to terminate) and kills it. No call may be under way. */
void jsonrpc_end(struct jsonrpc *w, int64_t grace_ms);

#endif
