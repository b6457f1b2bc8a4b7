/* entry.h - the servers under mcpServers in a JSON file. */
/* SPDX-License-Identifier: MIT */
#ifndef MCP_ENTRY_H
#define MCP_ENTRY_H

#include <stdbool.h>

#include "base/json.h"
#include "base/stop.h"
#include "config/settings.h"

enum { MCP_VALUE_MAX = 1 << 20 }; /* bytes of an expanded value */

enum {
	MCP_FILE_MAX = 1 << 20, /* bytes of a configuration file */
	MCP_SERVERS_MAX = 64,
	MCP_HASH = 65,          /* hex digits and NUL */
	MCP_MESSAGE = 32 << 20, /* bytes of a request, and of an answer */
};

/* The "cwd" value that makes a user's own server start in the session's
 * directory. That directory belongs to the repository, and npx, python3 -m and
 * similar programs load code from their working directory. So the user must ask
 * for it. */
#define MCP_IN_PROJECT "project"

enum mcp_kind {
	MCP_STDIO = 1,
	MCP_HTTP, /* streamable HTTP */
	MCP_SSE,  /* HTTP with SSE, the transport before streamable HTTP */
};

struct mcp_pair { /* strings are owned; value still contains its ${NAME} */
	char *name;
	char *value;
};

/* One server. Strings are owned. */
struct mcp_entry {
	char *name; /* letters, digits, "_", "-", "." and spaces */
	char *file; /* path of the file that defines it */
	char *root; /* the directory in which a project's stdio server starts */
	/* Defined in a file of the repository, whose author is not trusted. */
	bool project;
	enum mcp_kind kind;
	char *command;
	char **args; /* NULL-terminated */
	/* Working directory. In the user's own file: an absolute path with
	 * ${NAME}, or MCP_IN_PROJECT; NULL means /. In a file of the
	 * repository: a path below root, taken literally; NULL means root. */
	char *cwd;
	struct mcp_pair *env;
	size_t n_env;
	char *url;
	struct mcp_pair *headers;
	size_t n_headers;
	/* Login: the registered client and its secret, the scope, and the port
	 * of the redirect address. NULL or 0: dcode chooses. */
	char *client_id, *client_secret, *scope;
	unsigned callback_port;
	bool wants_login; /* "auth" is "oauth", or one of the above is set */
	/* fnmatch() patterns of the tools that are offered or withheld.
	 * NULL-terminated; NULL: no filter. */
	char **allowed, **disabled;
	char *text; /* the entry as one line of JSON, for display */
	/* names of the members that dcode ignores: "\"timeout\", \"trust\"" */
	char *ignored;
	char *wrong; /* why it cannot be used, or NULL */
	/* Why it must not be started, or NULL. Set by the code that checks
	 * whether the user trusts it. */
	char *refused;
	/* The user's own entry of the same name, which this project's entry
	 * replaced; or NULL. Owned. */
	struct mcp_entry *own;
	bool off; /* "disabled": true */
	/* Hash of every field above that says what is started and where. */
	char hash[MCP_HASH];
};

struct mcp_token_ask { /* how a login's token is requested; borrowed */
	const struct mcp_entry *entry;
	const char *url; /* the address that the token will be sent to */
	bool renew;      /* the server refused the last token */
};
/* Appends the login's token for this server and address and returns 1. 0: the
 * user is not logged in. -1: the token cannot be renewed now. Any thread. */
typedef int mcp_token_fn(void *arg, const struct mcp_token_ask *ask,
			 struct buf *out, const struct stop *stop,
			 struct error *err);

/* Appends the scopes to request in a new login: those of the present login plus
 * those in more. Any thread. */
typedef void mcp_scope_fn(void *arg, const struct mcp_token_ask *ask,
			  struct str more, struct buf *out);

struct mcp_entries { /* initialize to { 0 }; mcp_entries_release() */
	struct mcp_entry *list;
	size_t n;
};
void mcp_entries_release(struct mcp_entries *e);

struct mcp_place {        /* where a configuration file is; borrowed */
	const char *file; /* path of the file, for messages */
	const char *root;
	bool project;
};
/* Adds the servers in a file's text. A server replaces an earlier one of the
 * same name. ERR_CONFIG, with nothing added, if the text is not JSON with an
 * object mcpServers. An entry that is invalid is still added; its member wrong
 * says why. */
int mcp_entries_read(struct mcp_entries *e, struct str text,
		     const struct mcp_place *place, struct error *err);
/* Replaces list[i] by the user's own entry of the same name, which list[i] had
 * replaced. False if there is none. */
bool mcp_entries_restore(struct mcp_entries *e, size_t i);

/* True for a stdio server whose working directory is in the project. */
bool mcp_entry_in_project(const struct mcp_entry *e);

/* True if the entry's filters allow a tool of this name. */
bool mcp_entry_offers(const struct mcp_entry *e, const char *tool);

/* Appends text with ${NAME} and ${NAME:-fallback} expanded. Values come from
 * the exported environment; for an entry of the user's own also from the user's
 * .env. A project's .env is never used: its author is not trusted. ERR_CONFIG
 * names a variable that is not set. */
int mcp_expand(const struct mcp_entry *e, const struct settings *set,
	       const char *text, struct buf *out, struct error *err);
/* Calls each with the name of every variable in the entry's env, url and
 * headers. The same name may be passed several times. */
void mcp_each_variable(const struct mcp_entry *e,
		       void (*each)(void *arg, struct str name), void *arg);
/* Returns the environment of a stdio server: exported variables, then the
 * entry's own env. Of the exported variables a repository's server gets only
 * HOME, LOGNAME, PATH, SHELL, TERM, USER, LANG, LC_* and TMPDIR. Free with
 * settings_environ_free(); NULL with err. */
char **mcp_environ(const struct mcp_entry *e, const struct settings *set,
		   struct error *err);

#endif
