/* mcp.c - /mcp: the servers of this run, and how they are. */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "cmd/mcp/show.h"
#include "cmd/slash/slash_cmd.h"

enum { OUTPUT_MAX = 16 << 20 };

bool slash_cmd_mcp(struct run *r, int n, char **words)
{
	struct buf out = BUF_INIT(OUTPUT_MAX);

	for (size_t i = 0; r->mcp && i < mcp_count(r->mcp); i++) {
		struct mcp_server *s = mcp_server(r->mcp, i);

		if (!n || !strcmp(words[0], mcp_server_entry(s)->name))
			mcp_show(r->app, s, n > 0, &out);
	}
	if (out.len)
		fputs(out.ptr, stderr);
	else if (n)
		fputs("There is no MCP server of this name.\n", stderr);
	else
		fputs("No MCP server: dcode mcp config shows where they can be "
		      "named.\n",
		      stderr);
	buf_release(&out);
	return true;
}

void slash_list_mcp(struct run *r, struct buf *out)
{
	for (size_t i = 0; r->mcp && i < mcp_count(r->mcp); i++)
		buf_addf(out, "%s\t\n",
			 mcp_server_entry(mcp_server(r->mcp, i))->name);
}
