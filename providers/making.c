/* making.c - what the vendors share where they make a sandbox. */
/* SPDX-License-Identifier: MIT */
#include "providers/making.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

void making_tried_init(struct making_tried *t)
{
	*t = (struct making_tried){ .n = 0 };
	pthread_mutex_init(&t->lock, NULL);
}

void making_tried_release(struct making_tried *t)
{
	pthread_mutex_destroy(&t->lock);
}

bool making_tried_before(struct making_tried *t, const char *label)
{
	bool known = false;

	pthread_mutex_lock(&t->lock);
	for (size_t i = 0; i < MAKING_TRIED && !known; i++)
		known = strcmp(t->labels[i], label) == 0;
	if (!known)
		snprintf(t->labels[t->n++ % MAKING_TRIED], sizeof(t->labels[0]),
			 "%s", label);
	pthread_mutex_unlock(&t->lock);
	return known;
}

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
