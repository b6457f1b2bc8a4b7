/* name.c - names of MCP tools as models see them. */
/* SPDX-License-Identifier: MIT */
#include "mcp/name.h"

#include <stdio.h>
#include <string.h>

#include <sodium.h>

#include "base/buf.h"

enum { DIGITS = 8, WHOLE_MAX = 1024 };

/* Appends text with '_' for characters that vendors reject. True if there were
 * none. */
static bool copy_clean(const char *text, char room[MCP_SHOWN_NAME], size_t *n)
{
	static const char taken[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "abcdefghijklmnopqrstuvwxyz0123456789_-";
	bool whole = true;

	for (; *text && *n < MCP_SHOWN_NAME - 1; text++) {
		bool good = strchr(taken, *text) != NULL;

		room[(*n)++] = good ? *text : '_';
		whole &= good;
	}
	room[*n] = '\0';
	return whole && !*text;
}

/* Replaces the end of the name by a hash of server and tool. */
static void add_hash(const char *server, const char *tool,
		     char room[MCP_SHOWN_NAME])
{
	unsigned char sum[crypto_hash_sha256_BYTES];
	struct buf both = BUF_INIT(WHOLE_MAX);
	size_t n = strlen(room);

	buf_adds(&both, server);
	buf_addc(&both, '\0');
	buf_adds(&both, tool);
	crypto_hash_sha256(sum, (const unsigned char *)both.ptr, both.len);
	buf_release(&both);
	if (n > MCP_SHOWN_NAME - 1 - DIGITS - 1)
		n = MCP_SHOWN_NAME - 1 - DIGITS - 1;
	room[n++] = '_';
	for (size_t i = 0; i < DIGITS / 2; i++)
		n += (size_t)snprintf(room + n, 3, "%02x", sum[i]);
}

void mcp_clean_name(const char *text, char room[MCP_SHOWN_NAME])
{
	size_t n = 0;

	(void)copy_clean(text, room, &n);
}

void mcp_name(const char *server, const char *tool,
	      bool (*taken)(void *arg, const char *name), void *arg,
	      char room[MCP_SHOWN_NAME])
{
	size_t n = 0;
	bool whole = copy_clean(server, room, &n);

	whole &= copy_clean("_", room, &n);
	whole &= copy_clean(tool, room, &n);
	if (!whole || taken(arg, room))
		add_hash(server, tool, room);
}
