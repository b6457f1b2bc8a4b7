/* error.h - how dcode functions report failure. */
/* SPDX-License-Identifier: MIT */
#ifndef BASE_ERROR_H
#define BASE_ERROR_H

#include <stdbool.h>
#include <stdint.h>

enum err {
	ERR_NONE = 0,
	ERR_USAGE,     /* the user asked for something impossible */
	ERR_CONFIG,    /* config.toml, .env or a stored credential is wrong */
	ERR_AUTH,      /* a server rejected the credential (401, 403) */
	ERR_NOT_FOUND, /* the named sandbox, file or thread does not exist */
	ERR_LIMIT,     /* rate limit, quota, or a size limit of dcode */
	ERR_NETWORK,   /* no usable response arrived; a retry may help */
	/* the connection could not be established, so nothing was sent */
	ERR_UNREACHABLE,
	ERR_PROTOCOL,  /* the response could not be understood */
	ERR_REMOTE,    /* the server reported an error */
	ERR_TIMEOUT,   /* a deadline passed */
	ERR_CANCELLED, /* the user cancelled (Ctrl-C) */
	ERR_GONE,      /* the sandbox ended unexpectedly */
	ERR_SYSTEM, /* a system call failed; the message ends with strerror() */
	ERR_BUSY,   /* a resource is changing state: retry later */
	ERR_POLICY, /* the machine's policy forbids this or is invalid */
	ERR_BUDGET, /* the next request could exceed the cost cap */
	ERR_REFUSED,   /* blocked by one of the user's hooks */
	ERR_UNGUARDED, /* a file that restricts dcode cannot be used */
};

/*
 * The callee fills it on failure and leaves it unchanged on success. The caller
 * owns it. It holds no allocated memory. Initialise with { 0 }. Code decides on
 * the codes only: the texts are for the user and may contain anything that a
 * server sent (tests/lint/limits.py messages).
 */
struct error {
	enum err code;
	int http_status; /* HTTP status of the response; 0: none */
	int grpc_status; /* gRPC status of the response, an enum grpc_code */
	/* delay before the next try, as the server asked; 0: not given */
	int64_t retry_after_ms;
	bool exhausted; /* all permitted retries were used */
	/* a failed create left no resource behind; false: one may exist */
	bool nothing_made;
	/* machine-readable code in the response's body ("sandbox_stopped"), or
	 * "" */
	char reason[64];
	char message[512]; /* what failed; no full stop, no secrets */
	char hint[256];    /* what the user can type to fix it, or "" */
	/* manual page about it ("models"), or NULL; static */
	const char *topic;
};

/* These functions return -1, so that callers can write: return error_set(err,
 * ...). error_set() and error_errno() also clear the other fields. */
int error_set(struct error *err, enum err code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Sets an error identified by a word ("not_a_text_file"), which becomes both
 * its reason and its message. */
int error_reason(struct error *err, enum err code, const char *reason);
/* Sets "what: No such file or directory" with code ERR_SYSTEM, from errno. */
int error_errno(struct error *err, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Sets the hint only. */
int error_hint(struct error *err, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Sets the related page of the manual unless one is set. */
void error_topic(struct error *err, const char *topic);
/* Appends to the message only. */
int error_add(struct error *err, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Puts "prefix: " before the message; nothing else changes. */
int error_wrap(struct error *err, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Returns the stable name of a code for machine output: "not_found". Static. */
const char *error_name(enum err code);

#endif
