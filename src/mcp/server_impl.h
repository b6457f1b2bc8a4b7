/* server_impl.h - what the two parts of a server share. */
/* SPDX-License-Identifier: MIT */
#ifndef MCP_SERVER_IMPL_H
#define MCP_SERVER_IMPL_H

#include <pthread.h>

#include "mcp/link.h"
#include "mcp/server.h"

struct mcp_server {
	const struct mcp_entry *entry;
	const struct mcp_host *host;
	struct cancel cancel; /* of its thread */
	int started;          /* an eventfd: readable once the start is over */
	pthread_mutex_t lock; /* of all that follows */
	pthread_t thread;
	bool has_thread;
	bool thread_over;
	enum mcp_state state;
	struct error why;
	struct mcp_link *link;
	unsigned users; /* of the link */
	bool leaving;
	bool known; /* list is one that it has named, now or before */
	bool recalled;
	bool changed;       /* list is another than the one before */
	_Atomic bool stale; /* the server says so of its list; any thread */
	unsigned relists;
	struct mcp_list list;
	struct buf said; /* what it wrote before its start failed */
	int64_t began, took, calls, calls_ms;
	int64_t progress;  /* the last token of a call */
	bool untold;       /* a start has failed, and nobody was told */
	unsigned starts;   /* that are over: names a link for good */
	unsigned failures; /* starts that failed, one after the other */
	int64_t ended;     /* when the last of them did, clock_ms() */
};

/* Starts it, or asks it for its tools once more, on a thread of its own; with
 * the lock held, once the thread before has ended its work. */
bool server_begin_start(struct mcp_server *s);
bool server_begin_relist(struct mcp_server *s);
/* Its start is over, one way or the other. */
void server_signal_started(const struct mcp_server *s);

#endif
