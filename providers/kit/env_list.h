/* env_list.h - a setting's list of NAME=value as a JSON object. */
/* SPDX-License-Identifier: MIT */
#ifndef PROVIDERS_KIT_ENV_LIST_H
#define PROVIDERS_KIT_ENV_LIST_H

#include "base/json.h"
#include "config/settings.h"
#include "sandbox/sandbox.h"

/* The list as it is. ERR_CONFIG for an entry that is none. */
int env_list_get(const struct settings *set, const char *group, const char *key,
		 const char *const **list, size_t *n, struct error *err);
/* These n and then those of more, NULL-terminated (more may be NULL); only the
 * array is owned by the caller. */
const char **env_list_join(const char *const *list, size_t n,
			   const char *const *more);
/* Adds them as members, the last of a name counts. ERR_CONFIG for an entry
 * that is none. */
int env_list_add(const struct settings *set, const char *group, const char *key,
		 cJSON *object, struct error *err);
/* The pairs of the key "labels", and ours, which none of them replaces:
 * dcode.label and dcode.owner. */
int env_list_labels(const struct settings *set, const char *group,
		    const struct sandbox_spec *spec, cJSON *labels,
		    struct error *err);

#endif
