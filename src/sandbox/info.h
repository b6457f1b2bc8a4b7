/* info.h - what a provider reports of a sandbox, and who it reports to. */
/* SPDX-License-Identifier: MIT */
#ifndef SANDBOX_INFO_H
#define SANDBOX_INFO_H

#include <stdbool.h>
#include <stdint.h>

#include "sandbox/isolation.h"

struct sandbox_price { /* of one that runs */
	int64_t usd_s; /* trillionths of a US dollar a second; -1: unknown */
	/* Its vendor bills what was used of it: that much at the most. */
	bool at_most;
};

enum sandbox_state {
	STATE_UNKNOWN,
	STATE_STARTING,
	STATE_RUNNING,
	STATE_STOPPED,
	STATE_GONE
};
struct sandbox_info { /* borrowed for the call */
	const char *id;
	const char *label; /* ours, or "" */
	const char *owner; /* ours, or "" */
	enum sandbox_state state;
	const char *image; /* or "" */
	int64_t created;   /* Unix seconds, 0 unknown */
	int64_t ends;      /* Unix seconds of the backstop, 0 unknown */
	/* This one's own; ISOLATION_UNSET: as its client says. */
	enum sandbox_isolation isolation;
};

/* Receives the sandboxes of a list, one call each. Where a sink
 * is borrowed it may be NULL: then nobody wants to know. */
struct info_sink {
	void (*each)(void *arg, const struct sandbox_info *info);
	void *arg;
};
static inline void info_emit(const struct info_sink *sink,
			     const struct sandbox_info *info)
{
	if (sink)
		sink->each(sink->arg, info);
}

#endif
