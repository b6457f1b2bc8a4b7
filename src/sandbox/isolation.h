/* isolation.h - what keeps a sandbox's commands from its host. */
/* SPDX-License-Identifier: MIT */
#ifndef SANDBOX_ISOLATION_H
#define SANDBOX_ISOLATION_H

#include <stdbool.h>

#include "base/buf.h"

enum sandbox_isolation {
	ISOLATION_UNSET = 0, /* nobody has said */
	ISOLATION_UNKNOWN,   /* it cannot be told */
	ISOLATION_NONE,
	ISOLATION_NAMESPACES, /* of the host's kernel */
	ISOLATION_CONTAINER,  /* namespaces, and an image */
	ISOLATION_GVISOR,     /* a kernel that is a process */
	ISOLATION_VM,
	ISOLATION_MICROVM,
};

#define ISOLATION_WORDS "none, namespaces, container, gVisor, VM or microVM"

/* "gVisor"; "not documented" for the first two. */
const char *isolation_name(enum sandbox_isolation isolation);
/* The one of this name, in any case; ISOLATION_UNSET for other words. */
enum sandbox_isolation isolation_parse(struct str name);
/* Adds the name as a JSON string, or null. */
void isolation_json(struct buf *out, enum sandbox_isolation isolation);

#endif
