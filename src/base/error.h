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

/* The exact case of an error, for callers that treat it differently. Attack: a
 * server or a sandbox sends a word that dcode reacts to ("budget_held"). So
 * only dcode's own code sets a case; a word that comes from a sandbox sets at
 * most one of the file cases (helper_failed()). */
enum err_case {
	CASE_NONE = 0,
	/* tools on a file of the sandbox */
	CASE_FILE_NOT_FOUND,
	CASE_PATH_NOT_FOUND,
	CASE_PERMISSION_DENIED,
	CASE_NOT_A_FILE,
	CASE_IS_DIRECTORY,
	CASE_NOT_TEXT,
	CASE_FILE_TOO_LARGE, /* larger than the caller's limit */
	CASE_NOT_AN_IMAGE,   /* nor a PDF file, although its name says so */
	CASE_STRING_NOT_FOUND,
	CASE_MULTIPLE_OCCURRENCES,
	CASE_FILE_OTHER, /* any other status word of the helper */
	/* requests to a model */
	/* the vendor may have refused a file in the history */
	CASE_FILE_REFUSED,
	CASE_TOO_LONG, /* the conversation does not fit the context window */
	/* ERR_TIMEOUT: the server asked for a longer wait than stop allows, so
	 * dcode did not wait. */
	CASE_NO_TIME,
	CASE_UNKNOWN_MODEL, /* the server has no model of that name */
	CASE_NO_KEYS,       /* the user has a key for no vendor */
	CASE_NO_KEY,        /* the user has no key for the chosen vendor */
	/* ERR_BUDGET: the missing money is only reserved by requests that still
	 * run, so a later try may succeed */
	CASE_BUDGET_HELD,
	CASE_PROXY, /* ERR_NETWORK: the hint names the proxy that is set */
	CASE_REPEATED_CALLS, /* the run ends: the same calls fail repeatedly */
};

/*
 * The callee fills it on failure and leaves it unchanged on success. The caller
 * owns it. It holds no allocated memory. Initialise with { 0 }. Code makes
 * decisions only on code and exact: the texts are for the user and may contain
 * anything that a server sent (tests/lint/limits.py messages).
 */
struct error {
	enum err code;
	enum err_case exact;
	int http_status; /* HTTP status of the response; 0: none */
	int grpc_status; /* gRPC status of the response, an enum grpc_code */
	/* delay before the next try, as the server asked; 0: not given */
	int64_t retry_after_ms;
	bool exhausted; /* all permitted retries were used */
	/* a create that failed has certainly made nothing; false: something may
	 * exist */
	bool nothing_made;
	char message[512]; /* what failed; no full stop, no secrets */
	char hint[256];    /* what the user can type to fix it, or "" */
	/* static; page of the manual about this error ("models"), or NULL */
	const char *topic;
};

/* These functions return -1, so that callers can write: return error_set(err,
 * ...). error_set() and error_errno() also clear the other fields. */
int error_set(struct error *err, enum err code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Like error_set(), with a message that is not a format, and sets the case. */
int error_set_case(struct error *err, enum err code, enum err_case exact,
		   const char *message);
/* Sets the case; nothing else changes. */
int error_case(struct error *err, enum err_case exact);
/* Sets "what: No such file or directory" with code ERR_SYSTEM, from errno. If
 * the user can do something about it, as about a full disk, sets the hint. */
int error_errno(struct error *err, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Sets the hint; nothing else changes. */
int error_hint(struct error *err, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Sets the page of the manual, unless one is set already. */
void error_topic(struct error *err, const char *topic);
/* Appends to the message; nothing else changes. */
int error_add(struct error *err, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Puts "prefix: " before the message; nothing else changes. */
int error_wrap(struct error *err, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Returns the stable name of a code for machine output: "not_found". Static. */
const char *error_name(enum err code);

#endif
