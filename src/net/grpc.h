/* grpc.h - one gRPC call over HTTP/2, on the caller's thread. */
/* SPDX-License-Identifier: MIT */
#ifndef NET_GRPC_H
#define NET_GRPC_H

#include "net/http.h"

/* github.com/grpc/grpc, doc/PROTOCOL-HTTP2.md (read 2026-11): a POST with
 * length-prefixed messages in both directions. The status is in the trailers,
 * or in the headers if there is no message. Debian 12's libcurl 7.88.1 needs
 * three workarounds. Cleartext connections are not reused (http_do.c). A call
 * over TLS that fails before any answer is repeated once on a new connection:
 * the reused connection may have been dead. Trailers are read as they arrive,
 * because curl_easy_header() does not find them. */
enum grpc_code {                 /* doc/statuscodes.md */
		 GRPC_NONE = -1, /* no status received */
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
	GRPC_LARGEST = 32 << 20, /* bytes per message received */
	GRPC_DETAILS_MAX = 8 << 10,
	GRPC_HEADERS = 16,
};

struct grpc_call {                  /* all borrowed */
	const char *base;           /* "https://api.modal.com" */
	const char *path;           /* "/package.Service/Method" */
	const char *const *headers; /* "name: value", NULL-terminated; at most
				       GRPC_HEADERS */
	struct str message;         /* the request, if source is NULL */
	/* Produces the body of a streaming request, as in struct http_request,
	 * including the message prefixes (envelope_head()). Such a call is
	 * never repeated. */
	int64_t (*source)(void *arg, char *room, size_t len, struct error *err);
	int64_t source_size;
	/* Receives each message of the answer as it arrives; -1 (err filled)
	 * ends the call. */
	int (*reply)(void *arg, struct str message, struct error *err);
	void *arg;
	/* limit of the call, also sent to the server; 0: none */
	int64_t timeout_ms;
	int64_t connect_ms; /* 0: 30 s */
	size_t largest;     /* bytes of a message; 0: GRPC_LARGEST */
};

struct grpc_outcome {
	enum grpc_code code;
	bool began;         /* at least one byte of an answer was received */
	unsigned replies;   /* number of messages received */
	struct buf details; /* grpc-status-details-bin, decoded */
};

/* 0 if the status is OK. Otherwise -1 with the error of http_do() or reply, or
 * ERR_NETWORK: the answer is truncated, has no status or took longer than
 * timeout_ms. ERR_PROTOCOL: the answer is not gRPC. ERR_AUTH, ERR_NOT_FOUND,
 * ERR_LIMIT or ERR_REMOTE: the status, with the server's message, sanitized.
 * The caller must release the outcome in every case. */
int grpc_do(struct http *h, const struct grpc_call *call,
	    struct grpc_outcome *outcome, const struct stop *stop,
	    struct error *err);
void grpc_outcome_release(struct grpc_outcome *outcome);

/* The framing of gRPC (grpc.io, PROTOCOL-HTTP2.md) and of Connect streams
 * (connectrpc.com/docs/protocol), both read 2026-11. Each message has one byte
 * of flags, four bytes of length (big endian) and that many bytes. Flag 1 means
 * compression, which dcode never offers. In Connect, flag 2 marks the last
 * message, which says how the stream ended. */
enum {
	ENVELOPE_HEAD = 5,
	ENVELOPE_LARGEST = 16 << 20, /* bytes of a message, by default */
	ENVELOPE_CONNECT_LAST = 2,
};

struct envelope {           /* initialize to { 0 }, then set last and largest */
	unsigned char last; /* flag of the last message; 0: the protocol has
			     * none */
	size_t largest;     /* bytes of a message; 0: ENVELOPE_LARGEST */
	unsigned char head[ENVELOPE_HEAD];
	size_t have; /* bytes of head received; 0: between two messages */
	size_t size; /* bytes of the message, once head is complete */
	struct buf body;
	bool ended; /* the last message was received */
};

/* Calls message for each complete message; -1 (err filled) stops. ERR_PROTOCOL
 * if the data is not such a stream. */
int envelope_feed(struct envelope *e, struct str chunk,
		  int (*message)(void *arg, struct str bytes, bool last,
				 struct error *err),
		  void *arg, struct error *err);
void envelope_release(struct envelope *e);
/* Appends the prefix of a message of len bytes (less than 4 GiB). */
void envelope_head(struct buf *out, size_t len);
/* Appends a message of at most ENVELOPE_LARGEST bytes with its prefix. */
void envelope_add(struct buf *out, struct str bytes);

#endif
