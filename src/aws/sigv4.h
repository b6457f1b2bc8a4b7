/* sigv4.h - signs requests to AWS: Signature Version 4. */
/* SPDX-License-Identifier: MIT */
#ifndef AWS_SIGV4_H
#define AWS_SIGV4_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

/* docs.aws.amazon.com, "Create a signed AWS API request" (read 2026-11). No
 * I/O; uses libsodium, so call ids_init() first. */
enum sigv4_path {                  /* how the signature has the path */
		  SIGV4_TWICE = 0, /* encoded again, as every service but S3
				      requires */
		  SIGV4_NORMAL, /* the same without ".", ".." and empty segments
				 */
		  SIGV4_ONCE,   /* encoded, as S3 requires */
		  SIGV4_AS_SENT,
};
struct sigv4_request { /* all borrowed */
	const char *method;
	struct str target; /* path and query as sent */
	/* The signed headers: "Name: value", NULL-terminated, in any order.
	 * Must include Host and X-Amz-Date. */
	const char *const *headers;
	struct str body;
	/* what the signature has in place of the body's hash: the hash, or
	 * "UNSIGNED-PAYLOAD"; NULL: hash the body */
	const char *payload;
	const char *region;
	const char *service;
	int64_t time; /* Unix seconds; must be the time in X-Amz-Date */
	enum sigv4_path path;
};

struct sigv4_key {
	const char *id;
	const char *secret;
};

enum { SIGV4_TIME = 17 }; /* "20261120T090856Z" and NUL */

void sigv4_time(int64_t unix_s, char out[SIGV4_TIME]);
/* Appends the canonical request to out and the names of the signed headers
 * ("host;x-amz-date") to names. The caller sets the buffers' limits. */
void sigv4_canonical(const struct sigv4_request *r, struct buf *out,
		     struct buf *names);
/* Appends the signature, 64 hexadecimal digits, to out and the names to names.
 * A parameter X-Amz-Signature of the target is not signed. */
void sigv4_sign(const struct sigv4_request *r, const char *secret,
		struct buf *out, struct buf *names);
/* Appends the value of the Authorization header. */
void sigv4_authorize(const struct sigv4_request *r, const struct sigv4_key *key,
		     struct buf *out);

#endif
