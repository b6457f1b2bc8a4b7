/* jsonrpc.h - requests to a child process: one JSON message per line. */
/* SPDX-License-Identifier: MIT */
#ifndef RPC_JSONRPC_H
#define RPC_JSONRPC_H

#include "base/json.h"
#include "base/proc.h"
#include "base/stop.h"

/* The client side of JSON-RPC 2.0 over a child's standard streams; the methods
 * are the caller's. A separate thread does all reading and writing, so that a
 * call can be cancelled at any time and a child that stops reading blocks
 * nobody. The child is not trusted: every size has a limit. Errors quote the
 * last part of the child's output that is not messages. */
enum {
	JSONRPC_LINE = 32 << 20,  /* bytes of a message */
	JSONRPC_QUEUE = 64 << 20, /* bytes of requests that the child has not
				   * read */
	JSONRPC_BEHIND = 8 << 20, /* bytes of undelivered notifications, per
				   * call */
	JSONRPC_NOISE =
		1 << 20, /* bytes that belong to no call, between two answers */
	JSONRPC_NOTICES = 64 << 20, /* the same limit for a lenient peer */
	/* bytes of output other than messages, kept for errors */
	JSONRPC_TAIL = 2048,
	JSONRPC_NO_ERROR = -100000, /* see jsonrpc_ask.error_code */
};

/* The member of a notification's params that identifies its call, if the peer's
 * receive is set (MCP, "Progress"). */
#define JSONRPC_PROGRESS "progressToken"

struct jsonrpc;

/* How one protocol differs from another. Outlives the children. */
struct jsonrpc_peer {
	const char *name; /* name of the child in errors: "the provider" */
	/* Appends the message that cancels the request with this id. */
	void (*cancel)(struct buf *out, int64_t id);
	const char *bye; /* last line sent before the input is closed, or
			  * NULL */
	/* Handles a request or notification of the child, on the connection's
	 * thread with its lock held. The lines appended to reply are sent.
	 * NULL: such a message belongs to the call whose id is in its
	 * params. */
	void (*receive)(void *arg, const cJSON *message, struct buf *reply);
	/* Asks the child to end after its input was closed; or NULL. */
	void (*terminate)(void *arg);
	/* Kills the child and its descendants. NULL: its process group is
	 * killed instead. */
	void (*kill)(void *arg);
	bool lenient; /* an answer to no request does not end the connection */
};

/* A request. All fields are borrowed for the call. */
struct jsonrpc_ask {
	const char *method;
	struct str params; /* a JSON object */
	const char *what;  /* "creating the sandbox", for errors */
	int64_t timeout_ms;
	/* Called with each notification about this request, on the calling
	 * thread. Returning -1 (err filled) ends the call. NULL: notifications
	 * are dropped. */
	int (*notify)(void *arg, const char *method, const cJSON *params,
		      struct error *err);
	void *arg;
	/* progress token of these notifications, if the peer's receive is
	 * set */
	int64_t progress;
	/* if the call ends early, do not send the child a cancellation */
	bool lasting;
	/* Out: the code of the child's error answer, or JSONRPC_NO_ERROR. */
	int error_code;
};

/* Starts the child. Its first three descriptors become pipes, so spec must have
 * at least three. arg is passed to peer's functions. */
struct jsonrpc *jsonrpc_start(const struct proc_spec *spec,
			      const struct jsonrpc_peer *peer, void *arg,
			      struct error *err);
/* Sends the request and waits for its answer; *result is owned by the caller.
 * If the call ends early, the child is told to cancel it. Any thread.
 * ERR_REMOTE: the child answered with an error, see error_code. ERR_PROTOCOL:
 * the answer is invalid. ERR_TIMEOUT. ERR_NETWORK: the child has ended, or was
 * stopped because it violated the protocol; jsonrpc_broken() is true from now
 * on. */
int jsonrpc_call(struct jsonrpc *w, struct jsonrpc_ask *ask, cJSON **result,
		 const struct stop *stop, struct error *err);
bool jsonrpc_broken(struct jsonrpc *w);
/* Fails with ERR_PROTOCOL because of a value in a well-formed answer: detail
 * says what is wrong. */
int jsonrpc_bad_answer(const struct jsonrpc_peer *peer, const char *detail,
		       struct error *err);
/* Detaches the result of an answer. An error answer, or one with neither result
 * nor error, becomes err as in jsonrpc_call(). */
int jsonrpc_result(const struct jsonrpc_peer *peer, cJSON *message,
		   struct jsonrpc_ask *ask, cJSON **result, struct error *err);
/* Sends a notification. params: a JSON object. */
void jsonrpc_notify(struct jsonrpc *w, const char *method, struct str params);
/* Appends the end of the child's output other than messages. Not sanitized. */
void jsonrpc_tail(struct jsonrpc *w, struct buf *out);
/* Closes the child's input once the queue is written. jsonrpc_end() must
 * follow. */
void jsonrpc_leave(struct jsonrpc *w);
/* Closes the child's input and waits up to grace_ms for its end. Then calls
 * peer->terminate and waits as long again. Then kills the child. No call may be
 * running. */
void jsonrpc_end(struct jsonrpc *w, int64_t grace_ms);

#endif
