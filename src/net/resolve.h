/* resolve.h - looks a host up once, cancellable. */
/* SPDX-License-Identifier: MIT */
#ifndef NET_RESOLVE_H
#define NET_RESOLVE_H

#include <sys/socket.h>

#include "base/error.h"
#include "base/stop.h"

enum { RESOLVE_MAX = 8 }; /* addresses of a host */

struct resolved {
	struct sockaddr_storage list[RESOLVE_MAX];
	size_t n;
};

/* The addresses of a name by the system's resolver, in its order; at least
 * one. ERR_NETWORK when there is none, or what stop says: the lookup then ends
 * on a thread of its own. */
int resolve_host(const char *host, struct resolved *found,
		 const struct stop *stop, struct error *err);

#endif
