/* entry.h - the servers that mcpServers of a JSON file names. */
/* SPDX-License-Identifier: MIT */
#ifndef MCP_ENTRY_H
#define MCP_ENTRY_H

#include <stdbool.h>

#include "base/json.h"
#include "base/stop.h"

enum {
	MCP_FILE_MAX = 1 << 20, /* bytes of such a file */
	MCP_SERVERS_MAX = 64,
	MCP_HASH = 65,          /* hex digits and NUL */
	MCP_MESSAGE = 32 << 20, /* bytes of a request, and of an answer */
};

/*
 * The "cwd" of a user's own entry that starts in the session's directory. Only
 * by this word: npx, python3 -m and their like take code from the directory
 * that they start in, which is the repository's there.
 */
#define MCP_IN_PROJECT "project"

enum mcp_kind {
	MCP_STDIO = 1,
	MCP_HTTP, /* streamable HTTP */
	MCP_SSE,  /* the transport before it, HTTP with SSE */
};

struct mcp_pair { /* owned; the value as written, with its ${NAME} */
	char *name;
	char *value;
};

/* One server. Strings are owned. */
struct mcp_entry {
	char *name; /* A-Z a-z 0-9 _ - . and blanks */
	char *file; /* that it is written in */
	char *root; /* a project's server of stdio starts there */
	/* Written in a file of the repository, which anybody may have put
	 * there. */
	bool project;
	enum mcp_kind kind;
	char *command;
	char **args; /* NULL-terminated */
	/* Where it starts. In the user's own file an absolute path with its
	 * ${NAME}, or MCP_IN_PROJECT; NULL: in /. In a file of the repository a
	 * path below root, taken literally; NULL: in root. */
	char *cwd;
	struct mcp_pair *env;
	size_t n_env;
	char *url;
	struct mcp_pair *headers;
	size_t n_headers;
	/* Of a login: a client that is registered already, what it may do, and
	 * the port that its answer comes to; NULL and 0: as they come. */
	char *client_id, *client_secret, *scope;
	unsigned callback_port;
	bool wants_login; /* "auth": "oauth", or the above is there */
	/* Patterns (fnmatch) of the tools that are offered, or are not; NULL:
	 * all are. NULL-terminated. */
	char **allowed, **disabled;
	char *text;    /* the entry as JSON on one line, for people */
	char *ignored; /* "\"timeout\", \"trust\"": what does not count */
	char *wrong;   /* why it cannot be used, or NULL */
	/* Why it is not to be started, as others have decided; or NULL. */
	char *refused;
	/* The user's own entry of this name, which one of the project has
	 * taken the place of; or NULL. Owned. */
	struct mcp_entry *own;
	bool off; /* "disabled": true */
	/* Of everything above that says what is started and where. */
	char hash[MCP_HASH];
};

struct mcp_token_ask { /* borrowed */
	const struct mcp_entry *entry;
	const char *url; /* where it is sent */
	bool renew;      /* the server has refused the last one */
};
/* Appends the token of a login to this server at this very address, 1; 0: there
 * is none; -1: it cannot be renewed for now. Any thread. */
typedef int mcp_token_fn(void *arg, const struct mcp_token_ask *ask,
			 struct buf *out, const struct stop *stop,
			 struct error *err);

/* Appends the scopes that a login to it has to ask for, to reach as far as more
 * besides what the present one reaches. Any thread. */
typedef void mcp_scope_fn(void *arg, const struct mcp_token_ask *ask,
			  struct str more, struct buf *out);

struct mcp_entries { /* from { 0 }; mcp_entries_release() */
	struct mcp_entry *list;
	size_t n;
};
void mcp_entries_release(struct mcp_entries *e);

struct mcp_place {        /* where a file is; borrowed */
	const char *file; /* its path, for messages */
	const char *root;
	bool project;
};
/*
 * Adds those of a file's text; one of a name that is there already takes its
 * place. ERR_CONFIG, and nothing added, when it is no JSON with an object
 * mcpServers; a single entry that is wrong says so itself (wrong).
 */
int mcp_entries_read(struct mcp_entries *e, struct str text,
		     const struct mcp_place *place, struct error *err);
/* Puts the user's own entry back in the place of list[i]; false: there is
 * none. */
bool mcp_entries_restore(struct mcp_entries *e, size_t i);

/* True for a server of stdio that starts in a directory of the project. */
bool mcp_entry_in_project(const struct mcp_entry *e);

/* Whether the entry's filters let a tool of this name through. */
bool mcp_entry_offers(const struct mcp_entry *e, const char *tool);

#endif
