/* env_list.c - a setting's list of NAME=value as a JSON object. */
/* SPDX-License-Identifier: MIT */
#include "providers/kit/env_list.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

int env_list_get(const struct settings *set, const char *group, const char *key,
		 const char *const **list, size_t *n, struct error *err)
{
	if (settings_list(set, group, key, list, n, err) < 0)
		return -1;
	for (size_t i = 0; i < *n; i++)
		if (!strchr((*list)[i], '=') || (*list)[i][0] == '=')
			return error_set(err, ERR_CONFIG,
					 "%s: each entry must be NAME=value",
					 key);
	return 0;
}

const char **env_list_join(const char *const *list, size_t n,
			   const char *const *more)
{
	const char **joined;
	size_t n_more = 0;

	while (more && more[n_more])
		n_more++;
	joined = xcalloc(n + n_more + 1, sizeof(*joined));
	for (size_t i = 0; i < n + n_more; i++)
		joined[i] = i < n ? list[i] : more[i - n];
	return joined;
}

int env_list_add(const struct settings *set, const char *group, const char *key,
		 cJSON *object, struct error *err)
{
	const char *const *list;
	size_t n = 0;

	if (env_list_get(set, group, key, &list, &n, err) < 0)
		return -1;
	for (size_t i = 0; i < n; i++) {
		const char *eq = strchr(list[i], '=');
		char *name = xstrndup(list[i], (size_t)(eq - list[i]));

		cJSON_DeleteItemFromObjectCaseSensitive(object, name);
		cJSON_AddStringToObject(object, name, eq + 1);
		free(name);
	}
	return 0;
}

int env_list_labels(const struct settings *set, const char *group,
		    const struct sandbox_spec *spec, cJSON *labels,
		    struct error *err)
{
	if (env_list_add(set, group, "labels", labels, err) < 0)
		return -1;
	cJSON_DeleteItemFromObjectCaseSensitive(labels, "dcode.label");
	cJSON_DeleteItemFromObjectCaseSensitive(labels, "dcode.owner");
	cJSON_AddStringToObject(labels, "dcode.label", spec->label);
	cJSON_AddStringToObject(labels, "dcode.owner",
				spec->owner ? spec->owner : "");
	return 0;
}
