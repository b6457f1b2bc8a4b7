/* place.c - where the tools will act, before there is a sandbox. */
/* SPDX-License-Identifier: MIT */
#include "sandbox/place.h"

#include <string.h>

#include "sandbox/sandbox.h"

static bool has_setting(const struct sandbox_provider *p, const char *key)
{
	const struct setting *row = p->settings;

	while (row && row->key && strcmp(row->key, key) != 0)
		row++;
	return row && row->key;
}

const char *place_expect(const struct sandbox_client *client, bool attaches)
{
	const struct sandbox_provider *p = client->provider;
	unsigned wanted = attaches ? SANDBOX_PLACED_AGAIN : SANDBOX_PLACED;
	struct error ignored = { 0 };
	const char *dir = NULL;

	if (p->flags & SANDBOX_UNNAMED)
		return ".";
	if (!(p->flags & ~client->lacks & wanted) ||
	    (has_setting(p, "workdir") &&
	     settings_directory(client->settings, p->name, "workdir", &dir,
				&ignored) < 0))
		return NULL;
	return dir ? dir : p->workdir;
}

bool place_is(const struct sandbox *sb, const char *expected)
{
	return !sb->mounts.n &&
	       (sb->client->provider->flags & SANDBOX_UNNAMED ||
		!strcmp(sandbox_tree_dir(sb), expected));
}
