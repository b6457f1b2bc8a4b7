/* callback.h - where a browser brings the answer of a login. */
/* SPDX-License-Identifier: MIT */
#ifndef OAUTH_CALLBACK_H
#define OAUTH_CALLBACK_H

#include "base/buf.h"
#include "base/stop.h"

struct oauth_callback { /* a socket on 127.0.0.1 */
	int fd;
	unsigned port;
};
/* port 0: any. */
int oauth_callback_open(struct oauth_callback *c, unsigned port,
			struct error *err);
void oauth_callback_close(struct oauth_callback *c);

struct oauth_expected { /* of the answer; borrowed */
	const char *state;
	const char *issuer;
	bool names_itself; /* the issuer does, in every answer */
};
/*
 * Until a browser has brought the answer, or a line of input (-1: none is read)
 * is it: the address that the browser ended at, or the bare code. What comes
 * with another state is refused, and waited on: attack: any page, and any
 * program of this machine, can send a request to the port, with a code of its
 * own. An answer in the name of another issuer (RFC 9207) ends it. Appends the
 * code. ERR_AUTH: the user or the server has refused; ERR_CANCELLED,
 * ERR_TIMEOUT.
 */
int oauth_callback_wait(const struct oauth_callback *c, int input,
			const struct oauth_expected *e, struct buf *code,
			const struct stop *stop, struct error *err);

#endif
