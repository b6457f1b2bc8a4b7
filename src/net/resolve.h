/* resolve.h - resolves a host name; tells addresses of this machine. */
/* SPDX-License-Identifier: MIT */
#ifndef NET_RESOLVE_H
#define NET_RESOLVE_H

#include <stdbool.h>
#include <sys/socket.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/stop.h"

enum { RESOLVE_MAX = 8 }; /* addresses per host */

struct resolved {
	struct sockaddr_storage list[RESOLVE_MAX];
	size_t n;
};

/* Resolves a name with the system's resolver. found has at least one address,
 * in the resolver's order. ERR_NETWORK if the name has none. If stop ends the
 * wait, its error is returned, and the lookup goes on and ends on its own
 * thread. */
int resolve_host(const char *host, struct resolved *found,
		 const struct stop *stop, struct error *err);

/* True if the URL's host is localhost, ::1 or a complete address 127.x.y.z.
 * False if it is ambiguous (a user, unusual characters). */
bool loopback_url(struct str url);
/* True if a key may be sent to this address: https, or http on this machine,
 * without a query or fragment. */
bool loopback_or_https(struct str url);

#endif
