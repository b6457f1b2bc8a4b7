/* body.h - settings and commands as JSON of a request. */
/* SPDX-License-Identifier: MIT */
#ifndef PROVIDERS_KIT_BODY_H
#define PROVIDERS_KIT_BODY_H

#include "base/json.h"
#include "config/settings.h"
#include "sandbox/sandbox.h"

/*
 * Adds those of the provider's settings named in keys ("user region", in this
 * order) that have a value, as the member of body that the setting's row names
 * in .field ("resources.vcpus" makes the object too): text, numbers from
 * .least on, true, arrays of text, and for SETTING_PAIRS an object. ERR_CONFIG
 * for a value out of range.
 */
int body_add_settings(const struct sandbox_client *client, const char *keys,
		      cJSON *body, struct error *err);
/* The object at a path of members like "a.b", made if it is missing. */
cJSON *body_object(cJSON *body, const char *path);

/* A setting's list of NAME=value, borrowed. ERR_CONFIG for another entry. */
int env_list_get(const struct settings *set, const char *group, const char *key,
		 const char *const **list, size_t *n, struct error *err);
/* These n and then those of more, NULL-terminated (more may be NULL); only the
 * array is owned by the caller. */
const char **env_list_join(const char *const *list, size_t n,
			   const char *const *more);
/* Adds the list's pairs as members; the last of a name counts. ERR_CONFIG for
 * an entry that is not NAME=value. */
int env_list_add(const struct settings *set, const char *group, const char *key,
		 cJSON *object, struct error *err);
/* Adds the pairs of the key "labels", and ours, which a setting cannot replace:
 * dcode.label and dcode.owner. */
int env_list_labels(const struct settings *set, const char *group,
		    const struct sandbox_spec *spec, cJSON *labels,
		    struct error *err);

/* Appends the strings that follow "-c" in an array of arguments of sh: the
 * command, or, when it is too long for one argument (Linux takes 128 KiB), a
 * script that joins the pieces that come after it. */
void shell_argument_add(struct buf *json, struct str command);

#endif
