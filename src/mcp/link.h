/* link.h - the connection to one server, over standard streams or HTTP. */
/* SPDX-License-Identifier: MIT */
#ifndef MCP_LINK_H
#define MCP_LINK_H

#include "config/settings.h"
#include "mcp/entry.h"
#include "net/http.h"
#include "rpc/jsonrpc.h"

struct mcp_challenge { /* initialize to { 0 }; strings are owned */
	char *url;     /* the entry's url with its variables expanded */
	int status;    /* 401 if the server asks for a login */
	char *header;  /* values of WWW-Authenticate, or "" */
	bool has_key;  /* the entry sets its own Authorization header */
};

/* `dcode --mcp-guard PROGRAM ARGV...` starts PROGRAM, which inherits the
 * guard's descriptors 0 to 2. The guard kills PROGRAM and all its descendants
 * once the other end of the socket on descriptor 3 is closed. dcode closes it,
 * or the kernel does when dcode ends in any way. A byte received on the socket
 * sends SIGTERM to the program's process group. The guard exits with the
 * program's status. */
#define MCP_GUARD_ARGUMENT "--mcp-guard"

/* The newest protocol version that dcode supports
 * (modelcontextprotocol.io/specification, read 2026-11-23). Later versions have
 * no handshake: a server that knows only those fails, and the user sees the
 * server's own error message. */
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
	/* the session's directory, where MCP_IN_PROJECT servers start */
	const char *cwd;
	/* Called for each notification of the server, on a thread of the link.
	 * arg is passed to it. */
	void (*notice)(void *arg, const char *method);
	void *arg;
	mcp_token_fn *token; /* NULL: logins are not supported */
	mcp_scope_fn *scope;
	void *token_arg; /* for token and scope */
};

struct mcp_link;
struct mcp_link_ops {
	/* Like jsonrpc_call(). Any thread. */
	int (*request)(struct mcp_link *l, struct jsonrpc_ask *ask,
		       cJSON **result, const struct stop *stop,
		       struct error *err);
	void (*notify)(struct mcp_link *l, const char *method,
		       struct str params);
	/* Sets the version that initialize negotiated. */
	void (*set_version)(struct mcp_link *l, const char *version);
	/* From now on, receive the messages that the server sends without a
	 * request. */
	void (*listen)(struct mcp_link *l);
	bool (*is_broken)(struct mcp_link *l);
	/* Appends the server's standard error output. */
	void (*said)(struct mcp_link *l, struct buf *out);
	/* leave asks the server to end. close waits for its end and frees the
	 * link. */
	void (*leave)(struct mcp_link *l);
	void (*close)(struct mcp_link *l);
};
struct mcp_link {
	const struct mcp_link_ops *ops;
	struct mcp_link_setup setup;
	struct jsonrpc_peer peer;
	char name[96]; /* "MCP server fs", the peer's name */
};

/* Starts the program of an entry and returns the link to it. NULL with err. */
struct mcp_link *mcp_child_open(const struct mcp_link_setup *setup,
				struct error *err);
/* Prepares a link to the address of an entry; sends nothing yet. NULL with
 * err. */
struct mcp_link *mcp_remote_open(const struct mcp_link_setup *setup,
				 struct error *err);

/* Fills setup, name and the peer's name. For both transports. */
void mcp_link_init(struct mcp_link *l, const struct mcp_link_setup *setup);
/* Handles a notification or request of the server. Notifications go to
 * setup.notice. For a request, appends the answer to reply: success for ping, a
 * refusal for all others. */
void mcp_link_receive(struct mcp_link *l, const cJSON *message,
		      struct buf *reply);
/* Appends {"jsonrpc":...,"method":"notifications/cancelled",...} and LF. */
void mcp_link_cancel(struct buf *out, int64_t id);

int mcp_guard_main(int argc, char **argv);

/* Sends initialize without a token (setup.token is NULL) and records the
 * server's answer. */
int mcp_challenge_get(const struct mcp_link_setup *setup,
		      struct mcp_challenge *out, const struct stop *stop,
		      struct error *err);
void mcp_challenge_release(struct mcp_challenge *c);

#endif
