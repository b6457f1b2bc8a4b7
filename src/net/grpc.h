/* grpc.h - one gRPC call over HTTP/2, on the caller's thread. */
/* SPDX-License-Identifier: MIT */
#ifndef NET_GRPC_H
#define NET_GRPC_H

#include "net/http.h"

/*
 * github.com/grpc/grpc, doc/PROTOCOL-HTTP2.md (read 2026-11): a POST with
 * length-prefixed messages both ways and the outcome in the trailers, or, when
 * there is no message, in the head. Debian 12's libcurl 7.88.1 asks for three
 * rules: cleartext connections are not reused (http.c), a call on a warm TLS
 * connection that dies before any answer is made once more on a new one, and
 * trailers are read as they come, for curl_easy_header() does not find them.
 */
enum grpc_code {                 /* doc/statuscodes.md */
		 GRPC_NONE = -1, /* no outcome came */
		 GRPC_OK = 0,
		 GRPC_CANCELLED = 1,
		 GRPC_UNKNOWN = 2,
		 GRPC_INVALID_ARGUMENT = 3,
		 GRPC_DEADLINE_EXCEEDED = 4,
		 GRPC_NOT_FOUND = 5,
		 GRPC_ALREADY_EXISTS = 6,
		 GRPC_PERMISSION_DENIED = 7,
		 GRPC_RESOURCE_EXHAUSTED = 8,
		 GRPC_FAILED_PRECONDITION = 9,
		 GRPC_ABORTED = 10,
		 GRPC_OUT_OF_RANGE = 11,
		 GRPC_UNIMPLEMENTED = 12,
		 GRPC_INTERNAL = 13,
		 GRPC_UNAVAILABLE = 14,
		 GRPC_DATA_LOSS = 15,
		 GRPC_UNAUTHENTICATED = 16,
};

enum {
	GRPC_LARGEST = 32 << 20, /* bytes of a message received */
	GRPC_DETAILS_MAX = 8 << 10,
	GRPC_HEADERS = 16,
};

struct grpc_call {                  /* all borrowed */
	const char *base;           /* "https://api.modal.com" */
	const char *path;           /* "/package.Service/Method" */
	const char *const *headers; /* "name: value", NULL-terminated; at most
				       GRPC_HEADERS */
	struct str message;         /* the request, unless source */
	/* Streaming requests: as in http_request, heads of messages and all
	 * (envelope_head()). Such a call is never made a second time. */
	int64_t (*source)(void *arg, char *room, size_t len, struct error *err);
	int64_t source_size;
	/* Each message of the answer as it comes; -1 (err filled) ends the
	 * call. */
	int (*reply)(void *arg, struct str message, struct error *err);
	void *arg;
	int64_t timeout_ms; /* also told to the server; 0: none */
	int64_t connect_ms; /* 0: 30 s */
	size_t largest;     /* bytes of a message; 0: GRPC_LARGEST */
};

struct grpc_outcome {
	enum grpc_code code;
	bool began;         /* anything of an answer came */
	unsigned replies;   /* messages that came */
	struct buf details; /* grpc-status-details-bin, decoded */
};

/*
 * 0 when the server says OK. -1 else: what http_do() and reply say;
 * ERR_NETWORK for an answer that is cut short, has no outcome, or did not come
 * within timeout_ms; ERR_PROTOCOL for one that is not gRPC; by the code
 * ERR_AUTH, ERR_NOT_FOUND, ERR_LIMIT or ERR_REMOTE, the message being the
 * server's, cleaned. The caller releases the outcome in any case.
 */
int grpc_do(struct http *h, const struct grpc_call *call,
	    struct grpc_outcome *outcome, const struct stop *stop,
	    struct error *err);
void grpc_outcome_release(struct grpc_outcome *outcome);

/*
 * The framing of gRPC (grpc.io, PROTOCOL-HTTP2.md) and of Connect streams
 * (connectrpc.com/docs/protocol), both read 2026-11: each message is one byte
 * of flags, four of length (big endian) and that many bytes. Flag 1 is
 * compression, which dcode never offers; with Connect flag 2 marks the last
 * message, which says how the stream ended.
 */
enum {
	ENVELOPE_HEAD = 5,
	ENVELOPE_LARGEST = 16 << 20, /* bytes of a message, unless said */
	ENVELOPE_CONNECT_LAST = 2,
};

struct envelope {           /* start from { 0 } and what differs */
	unsigned char last; /* the flag of the last message; 0: there is none */
	size_t largest;     /* bytes of a message; 0: ENVELOPE_LARGEST */
	unsigned char head[ENVELOPE_HEAD];
	size_t have; /* bytes of head; 0: between two messages */
	size_t size; /* of the message, once head is complete */
	struct buf body;
	bool ended; /* the last message has come */
};

/* Calls message for each complete one; -1 (err filled) stops. ERR_PROTOCOL for
 * anything that is not such a stream. */
int envelope_feed(struct envelope *e, struct str chunk,
		  int (*message)(void *arg, struct str bytes, bool last,
				 struct error *err),
		  void *arg, struct error *err);
void envelope_release(struct envelope *e);
/* Appends the head of a message of len bytes, which is below 4 GiB. */
void envelope_head(struct buf *out, size_t len);
/* Appends one message; it is at most ENVELOPE_LARGEST. */
void envelope_add(struct buf *out, struct str bytes);

#endif
