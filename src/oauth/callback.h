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
/* Listens on 127.0.0.1:port. 0: any free port; c->port says which. */
int oauth_callback_open(struct oauth_callback *c, unsigned port,
			struct error *err);
void oauth_callback_close(struct oauth_callback *c);

struct oauth_expected { /* what the answer must contain; borrowed */
	const char *state;
	const char *issuer;
	/* the issuer's metadata says that it sends iss in every answer */
	bool names_itself;
};
/* Waits until a browser delivers the answer, or the user enters a line of input
 * (input -1: do not read any): the address to which the browser was redirected,
 * or the bare code. Appends the code. Requests with another state are refused
 * and the wait goes on. Attack: any web page and any program on this machine
 * can send a request with an attacker's code to the port. An answer that names
 * another issuer (RFC 9207) is an error. ERR_AUTH: the user or the server
 * refused. ERR_CANCELLED, ERR_TIMEOUT. */
int oauth_callback_wait(const struct oauth_callback *c, int input,
			const struct oauth_expected *e, struct buf *code,
			const struct stop *stop, struct error *err);

#endif
