/* server.h - one MCP server of a run: start, calls, restart, end. */
/* SPDX-License-Identifier: MIT */
#ifndef MCP_SERVER_H
#define MCP_SERVER_H

#include "base/stop.h"
#include "config/settings.h"
#include "mcp/entry.h"
#include "net/http.h"

struct mcp_tool {          /* owned */
	char *name;        /* the server's own name for it */
	char *description; /* without control characters */
	char *schema;      /* JSON schema of an object */
	bool reads;        /* the server says that it only reads */
};

struct mcp_list { /* initialize to { 0 }; mcp_list_release() */
	struct mcp_tool *items;
	size_t n;
	/* number of tools left out: invalid or repeated names, too large, or
	 * too many */
	size_t left_out;
	char *lost; /* names the first tools left out, with reasons; or NULL */
	size_t bytes;
};

enum mcp_state {
	MCP_IDLE, /* not started; its tools may be cached */
	MCP_STARTING,
	MCP_READY,
	MCP_FAILED,
	MCP_OFF, /* disabled by the user or the file */
};

/* How servers are started. Borrowed; must outlive the servers. */
struct mcp_host {
	const struct settings *settings;
	struct http *http;
	const char *cwd; /* session directory */
	/* directory in which tool lists are cached; NULL: do not cache */
	const char *cache_dir;
	/* limit for the start, until the tools are listed */
	int64_t startup_ms;
	int64_t call_ms; /* limit per call */
	/* Called before each start, on any thread. False: do not start it. */
	bool (*may_start)(void *arg, const struct settings *set,
			  const struct mcp_entry *e);
	mcp_token_fn *token; /* NULL: logins are not supported */
	mcp_scope_fn *scope;
	void *arg;
};

struct mcp_server;

/* entry and host are borrowed. A server whose entry is refused stays
 * MCP_OFF. */
struct mcp_server *mcp_server_new(const struct mcp_entry *entry,
				  const struct mcp_host *host);
/* Reads the tool list that an earlier run cached. */
void mcp_server_recall(struct mcp_server *s);
/* Starts the server on its own thread. Does nothing if it was started before.
 * Any thread. */
void mcp_server_start(struct mcp_server *s);
/* Waits until the start has succeeded or failed. -1: stop ended the wait. Any
 * thread. */
int mcp_server_wait(struct mcp_server *s, const struct stop *stop,
		    struct error *err);
struct mcp_call { /* borrowed */
	const char *tool;
	const cJSON *args;
	/* Called with each progress notification of the server, which is not
	 * checked or sanitized. On the calling thread. May be NULL. */
	void (*progress)(void *arg, const cJSON *params);
	void *arg;
};
/* Calls a tool. Starts the server first if it does not run, unless its last
 * start failed a moment ago. *result is owned by the caller. If stop or the
 * timeout ends the call, the server is told to cancel it. Any thread. */
int mcp_server_call(struct mcp_server *s, const struct mcp_call *call,
		    cJSON **result, const struct stop *stop, struct error *err);
/* Stops the server if it runs and starts it again. Waits up to ten seconds for
 * running calls; they may fail. False: the server is disabled or cannot be
 * used. Must not be called from two threads at once. */
bool mcp_server_reconnect(struct mcp_server *s);
/* Asks the server to end, without waiting. mcp_server_free() must follow; it
 * waits. */
void mcp_server_leave(struct mcp_server *s);
void mcp_server_free(struct mcp_server *s);

const struct mcp_entry *mcp_server_entry(const struct mcp_server *s);
/* True if the tool list is known, from this run or from the cache. */
bool mcp_server_is_known(struct mcp_server *s);
/* True if the tool list has changed since the last call. If the server has
 * announced a new list, starts to read it. */
bool mcp_server_changed(struct mcp_server *s);
/* True if a start has failed since the last call; *why is the error. */
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
	struct error why;   /* for MCP_FAILED and MCP_OFF: the reason */
	char lost[640];     /* names the first tools left out, with reasons;
			     * or "" */
};
void mcp_server_status(struct mcp_server *s, struct mcp_status *out);
/* Appends the end of the server's standard error output, not sanitized. */
void mcp_server_said(struct mcp_server *s, struct buf *out);

void mcp_list_release(struct mcp_list *l);
/* Adds the tools in one answer to tools/list, except those that the entry's
 * filters withhold. ERR_PROTOCOL if the answer has no array "tools". */
int mcp_list_read(struct mcp_list *l, const struct mcp_entry *e,
		  const cJSON *result, struct error *err);
/* Appends the list as JSON that mcp_list_read() reads. Also used to compare two
 * lists. */
void mcp_list_write(const struct mcp_list *l, struct buf *out);
/* Reads the record about tools left out from the JSON of mcp_list_write(). */
void mcp_list_read_lost(struct mcp_list *l, const cJSON *tree);

#endif
