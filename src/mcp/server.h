/* server.h - one MCP server of a run: start, calls, restart, end. */
/* SPDX-License-Identifier: MIT */
#ifndef MCP_SERVER_H
#define MCP_SERVER_H

#include "base/stop.h"
#include "config/settings.h"
#include "mcp/entry.h"
#include "mcp/list.h"
#include "net/http.h"

enum mcp_state {
	MCP_IDLE, /* not started; its tools may be cached */
	MCP_STARTING,
	MCP_READY,
	MCP_FAILED,
	MCP_OFF, /* disabled by the user or the file */
};

/* How servers are started. Borrowed; outlives them. */
struct mcp_host {
	const struct settings *settings;
	struct http *http;
	const char *cwd;       /* session directory */
	const char *cache_dir; /* for tool lists; NULL: do not cache */
	int64_t startup_ms;    /* limit until its tools are listed */
	int64_t call_ms;       /* limit per call */
	/* Called before each start, on any thread. False: do not start it. */
	bool (*may_start)(void *arg, const struct settings *set,
			  const struct mcp_entry *e);
	mcp_token_fn *token; /* NULL: logins are not supported */
	mcp_scope_fn *scope;
	void *arg;
};

struct mcp_server;

/* entry is borrowed. A refused entry stays MCP_OFF. */
struct mcp_server *mcp_server_new(const struct mcp_entry *entry,
				  const struct mcp_host *host);
/* Reads the tool list that an earlier run cached. */
void mcp_server_recall(struct mcp_server *s);
/* Starts the server on its own thread unless it was started. Any thread. */
void mcp_server_start(struct mcp_server *s);
/* Waits until the start has succeeded or failed. -1: stop ended the wait. Any
 * thread. */
int mcp_server_wait(struct mcp_server *s, const struct stop *stop,
		    struct error *err);
struct mcp_call { /* borrowed */
	const char *tool;
	const cJSON *args;
	/* Called with the server's progress notification, unchecked. On the
	 * calling thread; or NULL. */
	void (*progress)(void *arg, const cJSON *params);
	void *arg;
};
/* Calls a tool. Starts the server first if it does not run, unless its last
 * start failed a moment ago. *result is owned by the caller. On -1 the server
 * was told to cancel the call. Any thread. */
int mcp_server_call(struct mcp_server *s, const struct mcp_call *call,
		    cJSON **result, const struct stop *stop, struct error *err);
/* Stops the server if it runs and starts it again. Waits up to ten seconds for
 * running calls, which may fail. False: the server is disabled or unusable.
 * Must not be called from two threads at once. */
bool mcp_server_reconnect(struct mcp_server *s);
/* Asks the server to end; mcp_server_free() must follow and waits for it. */
void mcp_server_leave(struct mcp_server *s);
void mcp_server_free(struct mcp_server *s);

const struct mcp_entry *mcp_server_entry(const struct mcp_server *s);
/* True if the tool list is known, from this run or from the cache. */
bool mcp_server_is_known(struct mcp_server *s);
/* True once after the tool list changed. Requests the new list if the server
 * announced one. */
bool mcp_server_changed(struct mcp_server *s);
/* True once after a start failed; *why is the error. */
bool mcp_server_failed(struct mcp_server *s, struct error *why);
/* Calls each with every tool, with the server's lock held. */
void mcp_server_each_tool(struct mcp_server *s,
			  void (*each)(void *arg, const struct mcp_tool *t),
			  void *arg);

struct mcp_status { /* a copy */
	enum mcp_state state;
	size_t tools, left_out;
	bool recalled;      /* the tools come from the cache */
	int64_t started_ms; /* duration of the start; -1: not started yet */
	int64_t calls;      /* number of calls so far */
	int64_t calls_ms;   /* their total duration */
	struct error why;   /* why it is MCP_FAILED or MCP_OFF */
	char lost[640];     /* names the first tools left out, with reasons;
			     * or "" */
};
void mcp_server_status(struct mcp_server *s, struct mcp_status *out);
/* Appends the end of the server's standard error output, not sanitized. */
void mcp_server_said(struct mcp_server *s, struct buf *out);

#endif
