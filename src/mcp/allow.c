/* allow.c - matches the patterns of [mcp] allow against the servers' tools. */
/* SPDX-License-Identifier: MIT */
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "mcp/mcp.h"
#include "mcp/name.h"

/* Attack: a pattern for one server matches the tools of another. If patterns
 * were matched against SERVER_TOOL names, "git_*" would also match every tool
 * of a server git_evil, and of a repository's server that calls itself git. So
 * server and tool are matched separately. A repository's server matches only if
 * the pattern spells out its exact name and the user has no server of that
 * name. */

static bool may_be_meant(const struct mcp_entry *e)
{
	return !e->refused && !e->off && !e->wrong;
}

/* Server names have no slash, so the first one divides "server/tool". */
static bool matches_parts(const char *pattern, const char *slash,
			  const struct mcp_entry *e, const char *tool)
{
	char *server = xstrndup(pattern, (size_t)(slash - pattern));
	bool named = e->project ? !e->own && !strcmp(server, e->name)
				: fnmatch(server, e->name, 0) == 0;

	free(server);
	return named && fnmatch(slash + 1, tool, 0) == 0;
}

/* True if the pattern begins with the server's name as models see it. */
static bool begins_with(const char *pattern, const struct mcp_entry *e)
{
	char name[MCP_SHOWN_NAME];
	size_t n;

	mcp_clean_name(e->name, name);
	n = strlen(name);
	return !strncmp(pattern, name, n) && pattern[n] == '_';
}

/* Returns the one server of the user's own that a pattern without a slash can
 * mean. NULL if there is none or more than one. */
static const struct mcp_entry *find_only(const struct mcp *m,
					 const char *pattern)
{
	const struct mcp_entry *found = NULL;

	for (size_t i = 0; i < mcp_count(m); i++) {
		const struct mcp_entry *e = mcp_server_entry(mcp_server(m, i));

		if (e->project || !may_be_meant(e) || !begins_with(pattern, e))
			continue;
		if (found)
			return NULL;
		found = e;
	}
	return found;
}

bool mcp_allow_means(const struct mcp *m, const char *pattern)
{
	return strchr(pattern, '/') || find_only(m, pattern);
}

bool mcp_allow_matches(const struct mcp *m, const char *pattern,
		       const struct tool *tool)
{
	const struct mcp_server *s = mcp_server_of(tool);
	const char *slash = strchr(pattern, '/');
	const struct mcp_entry *e;

	if (!s)
		return false;
	e = mcp_server_entry(s);
	if (slash)
		return matches_parts(pattern, slash, e, mcp_remote_name(tool));
	return find_only(m, pattern) == e &&
	       fnmatch(pattern, tool->spec.name, 0) == 0;
}
