/* intercept.h - carries a connection whose requests may get a secret. */
/* SPDX-License-Identifier: MIT */
#ifndef EGRESS_INTERCEPT_INTERCEPT_H
#define EGRESS_INTERCEPT_INTERCEPT_H

#include <stdbool.h>

#include "egress/internal.h"
#include "egress/tls/tls.h"
#include "sandbox/secrets/secrets.h"

struct intercept {
	const struct secrets *secrets; /* with values; n may be 0 */
	struct tls *tls;
};

/* True if connections to this host and port must be carried by
 * intercept_serve(). */
bool intercept_is_for(const struct intercept *i, const char *host,
		      unsigned port);
/* Carries HTTP/1.1 over TLS between two connected, non-blocking sockets until
 * one of them ends. record has the host; its verdict and bytes are set. True if
 * the record was reported already, before the client got a refusal. The caller
 * closes the sockets. */
bool intercept_serve(const struct egress_server *s, int client, int server,
		     struct egress_record *record);

#endif
