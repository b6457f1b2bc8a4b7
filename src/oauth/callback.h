/* callback.h - receives the answer of a login that the browser delivers. */
/* SPDX-License-Identifier: MIT */
#ifndef OAUTH_CALLBACK_H
#define OAUTH_CALLBACK_H

#include "base/buf.h"
#include "base/stop.h"

struct oauth_callback { /* a listening socket on 127.0.0.1 */
	int fd;
	unsigned port;
};
/* port 0: any free port. */
int oauth_callback_open(struct oauth_callback *c, unsigned port,
			struct error *err);
void oauth_callback_close(struct oauth_callback *c);

struct oauth_expected { /* what the answer must contain; borrowed */
	const char *state;
	const char *issuer;
	bool names_itself; /* the issuer sends iss in every answer */
};
/* Waits until a browser delivers the answer, or the user enters it as a line of
 * input (-1: do not read input): the address that the browser ended at, or the
 * bare code. Appends the code. Answers with another state are refused and the
 * wait goes on. Attack: any web page and any program on this machine can send a
 * request with its own code to the port. An answer that names another issuer
 * (RFC 9207) is an error. ERR_AUTH: the user or the server refused.
 * ERR_CANCELLED, ERR_TIMEOUT. */
int oauth_callback_wait(const struct oauth_callback *c, int input,
			const struct oauth_expected *e, struct buf *code,
			const struct stop *stop, struct error *err);

#endif
