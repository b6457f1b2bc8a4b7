/* credential.h - puts secrets into requests, and takes them out of answers. */
/* SPDX-License-Identifier: MIT */
#ifndef EGRESS_CREDENTIAL_CREDENTIAL_H
#define EGRESS_CREDENTIAL_CREDENTIAL_H

/*
 * head.c rewrites the head of a request: the value takes the place of the
 * placeholder in headers for credentials, and nowhere else. sign.c signs
 * requests to AWS. echo.c searches
 * answers for the value, in the forms in which servers return it, and puts
 * something else of the same length there.
 */
#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "sandbox/secrets/secrets.h"

enum head_result {
	HEAD_PLAIN,   /* no value was put in */
	HEAD_CARRIES, /* one was */
	HEAD_FOREIGN, /* it has the placeholder of a secret for other hosts */
	HEAD_NOT_LIMITS, /* its method or path may not have the secret */
	HEAD_TOO_LARGE,
	/* of head_sign(): */
	HEAD_SIGNED,
	HEAD_NEEDS_BODY, /* call again with the whole body */
	HEAD_NOT_SIGNED, /* it must not be sent */
};
/* Appends the head of a request to the host, as it is sent on. Appends nothing
 * if the request must not be sent: HEAD_FOREIGN, HEAD_NOT_LIMITS,
 * HEAD_TOO_LARGE. head is whole and valid: see request_read(). *secret is the
 * one that is concerned, or NULL. */
enum head_result head_rewrite(const struct secrets *all, const char *host,
			      struct str head, struct buf *out,
			      const struct secret **secret);
struct head_client { /* what the client has sent */
	struct str head;
	struct str body; /* ptr NULL: not read yet; "" without a body */
};
struct head_fault {
	const struct secret *secret;
	const char *why; /* static: "the link has expired" */
};
/* If the client has signed the request with the placeholder of an AWS key,
 * replaces *head, which is what head_rewrite() has made of it, by one that is
 * signed with the real key. Else HEAD_PLAIN. HEAD_NOT_SIGNED: *fault says
 * why. */
enum head_result head_sign(const struct secrets *all, const char *host,
			   const struct head_client *client, struct buf *head,
			   struct head_fault *fault);
/* Returns the secret whose placeholder the text has, also inside of Basic; or
 * NULL. */
const struct secret *head_find_placeholder(const struct secrets *all,
					   struct str text);

struct echo; /* what is searched for in the answers of one host */
struct echo *echo_new(const struct secrets *all, const char *host);
void echo_free(struct echo *e); /* zeroes the values; NULL is allowed */
/* Replaces the values in len bytes. Returns how many bytes at the end may begin
 * a value that is not complete: they must be passed again, with what follows
 * them. The others may be sent on. */
size_t echo_replace(const struct echo *e, char *bytes, size_t len);

#endif
