/* body.h - converts settings and commands to the JSON of a request. */
/* SPDX-License-Identifier: MIT */
#ifndef PROVIDERS_KIT_BODY_H
#define PROVIDERS_KIT_BODY_H

#include "base/json.h"
#include "config/settings.h"
#include "sandbox/sandbox.h"

/* Entries of a provider's settings table that most vendors need. The parameters
 * become members of struct setting: dir .fallback, member .field, text .help,
 * and seconds .example. */
#define WORKDIR_ROW(dir)                                                       \
	{                                                                      \
		.key = "workdir", .type = SETTING_STRING,                      \
		.fallback = "\"" dir "\"", .help = "working directory inside"  \
	}
#define ENV_ROW(member)                                                        \
	{                                                                      \
		.key = "env", .example = "[\"LANG=C.UTF-8\"]",                 \
		.type = SETTING_LIST, .flags = SETTING_PAIRS,                  \
		.field = (member), .help = "variables inside: NAME=value"      \
	}
#define LABELS_ROW(text)                                                       \
	{                                                                      \
		.key = "labels", .example = "[\"team=web\"]",                  \
		.type = SETTING_LIST, .help = (text)                           \
	}
#define NETWORK_ROW                                                            \
	{                                                                      \
		.key = "network", .type = SETTING_LIST,                        \
		.example = "[\"crates.io\", \"*.npmjs.org\"]",                 \
		.help = "\"none\", \"full\" or the hosts that can be reached"  \
	}
#define LIFETIME_ROW(seconds, text)                                            \
	{                                                                      \
		.key = "lifetime", .unit = "seconds", .example = (seconds),    \
		.type = SETTING_INT, .help = (text)                            \
	}

/* Adds settings of the provider to body: those that are named in keys ("user
 * region", in this order) and have a value. struct setting.field names the JSON
 * member ("resources.vcpus" also creates the object). A value is written as
 * text, a number of at least .least, true, an array of text, or (SETTING_PAIRS)
 * an object. ERR_CONFIG for a value out of range. */
int body_add_settings(const struct sandbox_client *client, const char *keys,
		      cJSON *body, struct error *err);
enum { /* which entries body_hosts() returns */
       HOSTS_NAMES = 1 << 0,
       HOSTS_ADDRESSES = 1 << 1,
       HOSTS_DENIED = 1 << 2, /* the denied ones instead of the allowed */
       HOSTS_PREFIX = 1 << 3, /* write one address as a network: 1.2.3.4/32 */
};
/* Returns an array of text: those entries of the list that `which` names. NULL
 * if there are none. */
cJSON *body_hosts(const struct network *n, unsigned which);
/* Adds body_hosts() as a member, unless it is NULL. */
void body_add_hosts(cJSON *object, const char *key, const struct network *n,
		    unsigned which);
/* Reads a vendor's list: the arrays of text `allow` and `deny`. open: hosts
 * that neither contains are allowed. ERR_PROTOCOL if dcode cannot read it. */
int body_read_hosts(struct network *n, const cJSON *allow, const cJSON *deny,
		    bool open, struct error *err);
/* Like cJSON_Delete(), but zeroes the texts first: a body may have values of
 * secrets. */
void body_wipe(cJSON *body);
/* Returns the object at a path of members like "a.b", created if it is
 * missing. */
cJSON *body_object(cJSON *body, const char *path);

/* Reads a setting that is a list of NAME=value. The list is borrowed.
 * ERR_CONFIG if an entry has another form. */
int env_list_get(const struct settings *set, const char *group, const char *key,
		 const char *const **list, size_t *n, struct error *err);
/* Returns the n entries followed by those of more, NULL-terminated. more may be
 * NULL. The caller owns only the array. */
const char **env_list_join(const char *const *list, size_t n,
			   const char *const *more);
/* Adds the list's pairs as members. If a name occurs twice, the last pair
 * counts. ERR_CONFIG for an entry that is not NAME=value. */
int env_list_add(const struct settings *set, const char *group, const char *key,
		 cJSON *object, struct error *err);
/* Adds the pairs of the setting "labels", then dcode's own labels dcode.label
 * and dcode.owner, which a setting cannot replace. */
int env_list_labels(const struct settings *set, const char *group,
		    const struct sandbox_spec *spec, cJSON *labels,
		    struct error *err);

/* Appends, as JSON, the strings that follow "-c" in the arguments of sh. This
 * is the command itself. If it is too long for one argument (Linux allows 128
 * KiB), it is a script followed by the command's parts, which the script
 * joins. */
void shell_argument_add(struct buf *json, struct str command);

#endif
