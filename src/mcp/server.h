/* server.h - one server: started, asked for its tools, called, ended. */
/* SPDX-License-Identifier: MIT */
#ifndef MCP_SERVER_H
#define MCP_SERVER_H

#include "base/stop.h"
#include "config/settings.h"
#include "mcp/entry.h"
#include "mcp/list.h"
#include "net/http.h"

enum mcp_state {
	MCP_IDLE, /* not started: its tools are known from before */
	MCP_STARTING,
	MCP_READY,
	MCP_FAILED,
	MCP_OFF, /* not to be used, by the user's or the file's word */
};

/* What servers are started with. Borrowed; outlives them. */
struct mcp_host {
	const struct settings *settings;
	struct http *http;
	const char *cwd;       /* the session's directory */
	const char *cache_dir; /* lists of tools are kept there; NULL: not */
	int64_t startup_ms;    /* until it has named its tools */
	int64_t call_ms;       /* for one call */
	/* Asked right before each start, on any thread. */
	bool (*may_start)(void *arg, const struct settings *set,
			  const struct mcp_entry *e);
	mcp_token_fn *token; /* NULL: there are no logins */
	mcp_scope_fn *scope;
	void *arg;
};

struct mcp_server;

/* entry is borrowed; one that is refused stays MCP_OFF. */
struct mcp_server *mcp_server_new(const struct mcp_entry *entry,
				  const struct mcp_host *host);
/* Reads the list of tools that was kept of the last time. */
void mcp_server_recall(struct mcp_server *s);
/* Starts it, on a thread of its own, unless that was done. Any thread. */
void mcp_server_start(struct mcp_server *s);
/* Until it has started, or failed to. -1: stop says that it must not wait any
 * more. Any thread. */
int mcp_server_wait(struct mcp_server *s, const struct stop *stop,
		    struct error *err);
struct mcp_call { /* borrowed */
	const char *tool;
	const cJSON *args;
	/* What the server says of how far it is: as it is, unchecked. On the
	 * calling thread; or NULL. */
	void (*progress)(void *arg, const cJSON *params);
	void *arg;
};
/*
 * One call: starts the server where it does not run, and waits for that; one
 * whose start has failed a moment ago is not started again yet.
 * *result is owned by the caller. On -1 the server has been told to cancel it.
 * Any thread.
 */
int mcp_server_call(struct mcp_server *s, const struct mcp_call *call,
		    cJSON **result, const struct stop *stop, struct error *err);
/* Ends it, if it runs, and starts it anew; false: it is one that is not to be
 * used. Waits up to ten seconds for calls under way, many of which fail. Not
 * from two threads at once. */
bool mcp_server_reconnect(struct mcp_server *s);
/* It may end: mcp_server_free(), which waits for it, follows. */
void mcp_server_leave(struct mcp_server *s);
void mcp_server_free(struct mcp_server *s);

const struct mcp_entry *mcp_server_entry(const struct mcp_server *s);
/* Whether its tools are known: from itself or from the last time. */
bool mcp_server_is_known(struct mcp_server *s);
/* True once after its list of tools was changed; asks for the new one where the
 * server has said that there is one. */
bool mcp_server_changed(struct mcp_server *s);
/* True once after a start has failed; *why says how. */
bool mcp_server_failed(struct mcp_server *s, struct error *why);
/* Calls each with every tool, within the server's lock. */
void mcp_server_each_tool(struct mcp_server *s,
			  void (*each)(void *arg, const struct mcp_tool *t),
			  void *arg);

struct mcp_status { /* a copy */
	enum mcp_state state;
	size_t tools, left_out;
	bool recalled;      /* the tools are those of the last time */
	int64_t started_ms; /* how long it took to start; -1: not yet */
	int64_t calls;      /* made so far, */
	int64_t calls_ms;   /* and how long they took together */
	struct error why;   /* of MCP_FAILED and MCP_OFF */
	char lost[640];     /* the first of those left out, and why; or "" */
};
void mcp_server_status(struct mcp_server *s, struct mcp_status *out);
/* Appends the last that it wrote to its standard error, as it is. */
void mcp_server_said(struct mcp_server *s, struct buf *out);

#endif
