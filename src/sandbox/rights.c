/* rights.c - whose files the tools of a sandbox can change. */
/* SPDX-License-Identifier: MIT */
#include "sandbox/rights.h"

#include <stdio.h>

#include "sandbox/sandbox.h"

bool sandbox_acts_on_host(const struct sandbox *sb)
{
	return sb->mounts.n > 0 || sandbox_is_shared(sb) ||
	       (sb->client && sb->client->provider->flags & SANDBOX_UNISOLATED);
}

bool sandbox_is_shared(const struct sandbox *sb)
{
	return sb->client && sb->client->provider->flags & ~sb->client->lacks &
				     SANDBOX_SHARED;
}

const char *sandbox_called(const struct sandbox *sb, char *room, size_t size)
{
	const char *noun = sb->client->provider->noun;

	snprintf(room, size, "%s%s%s", noun ? noun : "", noun ? " " : "",
		 sb->id);
	return room;
}
