/* making.c - what the vendors share where they make a sandbox. */
/* SPDX-License-Identifier: MIT */
#include "providers/making.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

int making_pairs(const struct settings *set, const char *provider,
		 const char *key, cJSON *object, struct error *err)
{
	const char *const *list;
	size_t n = 0;

	if (settings_list(set, provider, key, &list, &n, err) < 0)
		return -1;
	for (size_t i = 0; i < n; i++) {
		const char *eq = strchr(list[i], '=');
		char *name;

		if (!eq || eq == list[i])
			return error_set(err, ERR_CONFIG,
					 "%s: each entry is NAME=value", key);
		name = xstrndup(list[i], (size_t)(eq - list[i]));
		cJSON_DeleteItemFromObjectCaseSensitive(object, name);
		cJSON_AddStringToObject(object, name, eq + 1);
		free(name);
	}
	return 0;
}
