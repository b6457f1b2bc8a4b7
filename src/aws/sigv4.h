/* sigv4.h - signs requests to AWS: Signature Version 4. */
/* SPDX-License-Identifier: MIT */
#ifndef AWS_SIGV4_H
#define AWS_SIGV4_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

/* docs.aws.amazon.com, "Create a signed AWS API request" (read 2026-11). No
 * I/O; uses libsodium, so call ids_init() first. */
struct sigv4_request { /* all borrowed */
	const char *method;
	/* Path and query as sent. The path is encoded a second time for the
	 * signature, as every service but S3 requires. */
	struct str target;
	/* The signed headers: "Name: value", NULL-terminated, in any order.
	 * Must include Host and X-Amz-Date. */
	const char *const *headers;
	struct str body;
	const char *region;
	const char *service;
	int64_t time;   /* Unix seconds; must be the time in X-Amz-Date */
	bool normalize; /* remove ".", ".." and empty segments from the path */
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
/* Appends the value of the Authorization header. */
void sigv4_authorize(const struct sigv4_request *r, const struct sigv4_key *key,
		     struct buf *out);

#endif
