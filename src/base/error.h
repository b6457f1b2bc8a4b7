/* error.h - the one way a dcode function reports failure. */
/* SPDX-License-Identifier: MIT */
#ifndef BASE_ERROR_H
#define BASE_ERROR_H

#include <stdbool.h>
#include <stdint.h>

enum err {
	ERR_NONE = 0,
	ERR_USAGE,       /* the user asked for something impossible */
	ERR_CONFIG,      /* config.toml, .env or a stored credential is wrong */
	ERR_AUTH,        /* a server refused our credential (401, 403) */
	ERR_NOT_FOUND,   /* the named sandbox, file or thread does not exist */
	ERR_LIMIT,       /* rate limit, quota or one of our own size caps */
	ERR_NETWORK,     /* no usable answer arrived; retrying may help */
	ERR_UNREACHABLE, /* no connection to a server that never took one:
			    nothing was sent */
	ERR_PROTOCOL,    /* an answer arrived and made no sense */
	ERR_REMOTE,      /* the server says that it failed */
	ERR_TIMEOUT,     /* a deadline passed */
	ERR_CANCELLED,   /* the user pressed Ctrl-C */
	ERR_GONE,        /* the sandbox has ended under us */
	ERR_SYSTEM,      /* a system call failed; message ends in its text */
	ERR_BUSY,        /* its state is changing: asking later helps */
	ERR_POLICY,      /* the machine's policy forbids it, or is broken */
	ERR_BUDGET,      /* the next request could pass the cap on money */
	ERR_REFUSED,     /* a hook of the user's blocked it */
	ERR_UNGUARDED,   /* a file that restricts dcode cannot be used */
};

/*
 * Filled by the callee on failure, untouched on success; owned by the caller,
 * holds no memory, so it is never freed. Start from { 0 }. Decisions are made
 * on the codes; the texts are for the user and may hold anything that a server
 * says (tests/lint/limits.py messages).
 */
struct error {
	enum err code;
	int http_status; /* of the answer that it is about; 0: there is none */
	int grpc_status; /* the same of a gRPC call: an enum grpc_code */
	int64_t retry_after_ms; /* the server asks to wait so long before the
				   next try; 0: it does not say */
	bool exhausted;    /* the request was repeated as often as it may be */
	bool nothing_made; /* a create failed and has certainly left nothing;
			      false: something may exist all the same */
	char reason[64];   /* the machine-readable code in the answer's body
			      ("sandbox_stopped"), or "" */
	char message[512]; /* what failed; no full stop, no secret */
	char hint[256];    /* what the user can type about it, or "" */
	const char *topic; /* its page of the manual ("models"), or NULL; static
			    */
};

/* These return -1, so that callers can write: return error_set(err, ...).
 * error_set() and error_errno() begin a new error: the other fields are
 * cleared. */
int error_set(struct error *err, enum err code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* An error that is known by a word ("not_a_text_file"): its reason, and its
 * message too. */
int error_reason(struct error *err, enum err code, const char *reason);
/* "what: No such file or directory", code ERR_SYSTEM, from errno. */
int error_errno(struct error *err, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Sets the hint, keeps code and message. */
int error_hint(struct error *err, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Names the page of the manual that helps, unless there is one already. */
void error_topic(struct error *err, const char *topic);
/* Appends to the message, keeps all else. */
int error_add(struct error *err, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Puts "prefix: " before the message, keeps all else. */
int error_wrap(struct error *err, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Stable name of a code for machine output: "not_found". Static storage. */
const char *error_name(enum err code);

#endif
