/* list.h - the tools of one server, as it announced them, cleaned. */
/* SPDX-License-Identifier: MIT */
#ifndef MCP_LIST_H
#define MCP_LIST_H

#include "mcp/entry.h"

enum {
	MCP_TOOLS_MAX = 256,            /* of one server */
	MCP_NAME_MAX = 256,             /* bytes of the server's own name */
	MCP_DESCRIPTION_MAX = 16 << 10, /* bytes */
	MCP_SCHEMA_MAX = 128 << 10,     /* bytes of one tool */
	MCP_LIST_MAX = 2 << 20,         /* bytes of all of them */
};

struct mcp_tool {          /* owned */
	char *name;        /* the server's */
	char *description; /* without control characters */
	char *schema;      /* JSON of an object schema */
	bool reads;        /* the server says that it changes nothing */
};
struct mcp_list { /* from { 0 }; mcp_list_release() */
	struct mcp_tool *items;
	size_t n;
	size_t left_out; /* nameless, too large, or too many */
	char *lost;      /* the first of those, and why; or NULL */
	size_t bytes;
};
void mcp_list_release(struct mcp_list *l);
/* Adds the array "tools" of one answer to tools/list, but those that the
 * entry's filters leave out. ERR_PROTOCOL where it has none. */
int mcp_list_read(struct mcp_list *l, const struct mcp_entry *e,
		  const cJSON *result, struct error *err);
/* The list as JSON, in the form that mcp_list_read() takes: also how two are
 * compared. */
void mcp_list_write(const struct mcp_list *l, struct buf *out);

/* What mcp_list_write() has noted of the tools that were left out. */
void mcp_list_read_lost(struct mcp_list *l, const cJSON *tree);

#endif
