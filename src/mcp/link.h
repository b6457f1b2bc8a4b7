/* link.h - the way to one server, over its standard streams or HTTP. */
/* SPDX-License-Identifier: MIT */
#ifndef MCP_LINK_H
#define MCP_LINK_H

#include "config/settings.h"
#include "mcp/entry.h"
#include "net/http.h"
#include "rpc/jsonrpc.h"

/* The protocol's versions that are understood, the newest first
 * (modelcontextprotocol.io/specification, read 2026-11-23). Later ones have no
 * handshake; servers that know only those are refused with their own words. */
#define MCP_VERSION "2025-11-25"
/* The params of initialize. */
#define MCP_INITIALIZE                                                         \
	"{\"protocolVersion\":\"" MCP_VERSION "\",\"capabilities\":{},"        \
	"\"clientInfo\":{\"name\":\"dcode\",\"version\":\"" DCODE_VERSION      \
	"\"}}"

struct mcp_link_setup { /* borrowed for as long as the link is open */
	const struct mcp_entry *entry;
	const struct settings *settings;
	struct http *http;
	const char *cwd; /* the session's directory, for MCP_IN_PROJECT */
	/* A notification of the server's; on some thread of the link's. */
	void (*notice)(void *arg, const char *method);
	void *arg;
	mcp_token_fn *token; /* NULL: there are no logins */
	mcp_scope_fn *scope;
	void *token_arg; /* of both */
};

struct mcp_link;
struct mcp_link_ops {
	/* As jsonrpc_call(); any thread. */
	int (*request)(struct mcp_link *l, struct jsonrpc_ask *ask,
		       cJSON **result, const struct stop *stop,
		       struct error *err);
	void (*notify)(struct mcp_link *l, const char *method,
		       struct str params);
	/* The version that initialize has settled. */
	void (*set_version)(struct mcp_link *l, const char *version);
	/* What the server says by itself is to be heard from now on. */
	void (*listen)(struct mcp_link *l);
	bool (*is_broken)(struct mcp_link *l);
	/* Appends what the server has written to its standard error. */
	void (*said)(struct mcp_link *l, struct buf *out);
	/* It may go; close waits for that and frees the link. */
	void (*leave)(struct mcp_link *l);
	void (*close)(struct mcp_link *l);
};
struct mcp_link {
	const struct mcp_link_ops *ops;
	struct mcp_link_setup setup;
	struct jsonrpc_peer peer;
	char name[96]; /* "MCP server fs", of peer */
};

/* Starts the program of an entry. NULL with err. */
struct mcp_link *mcp_child_open(const struct mcp_link_setup *setup,
				struct error *err);
/* The address of an entry; asks it nothing yet. NULL with err. */
struct mcp_link *mcp_remote_open(const struct mcp_link_setup *setup,
				 struct error *err);

/* For both: fills setup, name and peer's name. */
void mcp_link_init(struct mcp_link *l, const struct mcp_link_setup *setup);
/* What is to be done with a message that is no answer: appends the line that
 * refuses a request (dcode offers servers nothing but ping), and passes a
 * notification on. */
void mcp_link_receive(struct mcp_link *l, const cJSON *message,
		      struct buf *reply);
/* Appends {"jsonrpc":...,"method":"notifications/cancelled",...} and LF. */
void mcp_link_cancel(struct buf *out, int64_t id);

#endif
