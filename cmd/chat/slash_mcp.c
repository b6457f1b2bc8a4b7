/* slash_mcp.c - /mcp: the servers of this run, and how they are. */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cmd/chat/slash_cmd.h"
#include "cmd/session/mcp_show.h"

enum { OUTPUT_MAX = 16 << 20 };

static void show(struct run *r, const char *name)
{
	struct buf out = BUF_INIT(OUTPUT_MAX);

	for (size_t i = 0; r->mcp && i < mcp_count(r->mcp); i++) {
		struct mcp_server *s = mcp_server(r->mcp, i);

		if (!name || !strcmp(name, mcp_server_entry(s)->name))
			mcp_show(r->app, s, name != NULL, &out);
	}
	if (out.len)
		fputs(out.ptr, stderr);
	else if (name)
		fputs("Unknown MCP server. /mcp lists them.\n", stderr);
	else
		fputs("No MCP servers. `dcode mcp config` lists the files that "
		      "can name them.\n",
		      stderr);
	buf_release(&out);
}

/* Its tools, where they are others now, go with the next message. */
static void reconnect_one(struct run *r, struct mcp_server *s)
{
	const char *name = mcp_server_entry(s)->name;
	struct stop stop = app_stop(r->app);
	struct error ignored = { 0 };

	if (!mcp_server_reconnect(s)) {
		show(r, name);
		return;
	}
	if (mcp_server_wait(s, &stop, &ignored) == 0)
		show(r, name);
}

static void reconnect(struct run *r, const char *name)
{
	bool found = false;

	for (size_t i = 0; r->mcp && i < mcp_count(r->mcp); i++) {
		struct mcp_server *s = mcp_server(r->mcp, i);
		struct mcp_status st;

		mcp_server_status(s, &st);
		if (name ? strcmp(name, mcp_server_entry(s)->name) != 0
			 : st.state != MCP_FAILED)
			continue;
		found = true;
		reconnect_one(r, s);
	}
	if (!found && name)
		show(r, name);
	else if (!found)
		fputs("No MCP server has failed. /mcp reconnect NAME restarts "
		      "one.\n",
		      stderr);
}

/* The server that a login was to: options may stand behind its name. */
static void reconnect_named(struct run *r, int n, char **words)
{
	for (int i = 1; i < n; i++)
		for (size_t k = 0; r->mcp && k < mcp_count(r->mcp); k++) {
			struct mcp_server *s = mcp_server(r->mcp, k);

			if (strcmp(words[i], mcp_server_entry(s)->name) != 0)
				continue;
			reconnect_one(r, s);
			return;
		}
}

/* A name may hold blanks, with quotes or without. Owned; NULL: there is none.
 */
static char *join(int n, char **words)
{
	char *name = NULL;

	for (int i = 0; i < n; i++) {
		char *before = name;

		name = xasprintf("%s%s%s", before ? before : "",
				 before ? " " : "", words[i]);
		free(before);
	}
	return name;
}

bool slash_cmd_mcp(struct run *r, int n, char **words)
{
	char *name = NULL;

	if (!n) {
		show(r, NULL);
	} else if (!strcmp(words[0], "reconnect")) {
		name = join(n - 1, words + 1);
		reconnect(r, name);
	} else if (!strcmp(words[0], "login") || !strcmp(words[0], "logout")) {
		if (command_run_words(r->app, &command_mcp, n, words) == 0 &&
		    n > 1 && !strcmp(words[0], "login"))
			reconnect_named(r, n, words);
	} else {
		name = join(n, words);
		show(r, name);
	}
	free(name);
	return true;
}

void slash_list_mcp(struct run *r, struct buf *out)
{
	buf_adds(out, "reconnect\t[NAME]\nlogin\tNAME\nlogout\tNAME\n");
	for (size_t i = 0; r->mcp && i < mcp_count(r->mcp); i++)
		buf_addf(out, "%s\t\n",
			 mcp_server_entry(mcp_server(r->mcp, i))->name);
}
