/* resolve.h - resolves a host name, can be cancelled. */
/* SPDX-License-Identifier: MIT */
#ifndef NET_RESOLVE_H
#define NET_RESOLVE_H

#include <sys/socket.h>

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

#endif
