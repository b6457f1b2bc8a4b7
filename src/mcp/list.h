/* list.h - the tools of one server, as announced, sanitized. */
/* SPDX-License-Identifier: MIT */
#ifndef MCP_LIST_H
#define MCP_LIST_H

#include "mcp/entry.h"

enum {
	MCP_TOOLS_MAX = 256,            /* per server */
	MCP_NAME_MAX = 256,             /* bytes of a tool's name */
	MCP_DESCRIPTION_MAX = 16 << 10, /* bytes */
	MCP_SCHEMA_MAX = 128 << 10,     /* bytes, per tool */
	MCP_LIST_MAX = 2 << 20,         /* bytes, all tools together */
};

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
