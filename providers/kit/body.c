/* body.c - converts settings and commands to the JSON of a request. */
/* SPDX-License-Identifier: MIT */
/*
 * body_add_settings() writes settings to the create request: struct
 * setting.field names the JSON member for each. env_list_add() converts a list
 * of NAME=value to an object. shell_argument_add() splits a long shell command
 * into several strings.
 */
#include "providers/kit/body.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"
#include "providers/kit/rest.h"

enum {
	NUMBER_MAX = 1000000,
	SHELL_ARGUMENT_MAX = 120000,
};

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

static const struct setting *find_row(const struct sandbox_provider *p,
				      struct str key)
{
	const struct setting *row = p->settings;

	while (row->key && !str_is(key, row->key))
		row++;
	return row->key ? row : NULL;
}

cJSON *body_object(cJSON *body, const char *path)
{
	struct str rest = str_of(path);
	struct str part;

	while (str_split(&rest, '.', &part)) {
		char *name = xstrndup(part.ptr, part.len);
		cJSON *next = cJSON_GetObjectItemCaseSensitive(body, name);

		body = next ? next : cJSON_AddObjectToObject(body, name);
		free(name);
	}
	return body;
}

static int read_number(const struct settings *set, const char *group,
		       const struct setting *row, cJSON **value,
		       struct error *err)
{
	int64_t n = INT64_MIN;

	if (settings_int(set, group, row->key, &n, err) < 0)
		return -1;
	if (n == INT64_MIN)
		return 0;
	if (n < row->least || n > NUMBER_MAX)
		return error_set(err, ERR_CONFIG, "%s must be from %lld to %d",
				 row->key, (long long)row->least, NUMBER_MAX);
	*value = cJSON_CreateNumber((double)n);
	return 0;
}

static int read_list(const struct settings *set, const char *group,
		     const struct setting *row, cJSON **value,
		     struct error *err)
{
	const char *const *list;
	size_t n = 0;

	if (row->flags & SETTING_PAIRS) {
		*value = cJSON_CreateObject();
		return env_list_add(set, group, row->key, *value, err);
	}
	if (settings_list(set, group, row->key, &list, &n, err) < 0)
		return -1;
	*value = cJSON_CreateStringArray(list, (int)n);
	return 0;
}

/*
 * Reads one setting. *value is owned by the caller, and NULL if the setting has
 * no value.
 */
static int read_setting(const struct settings *set, const char *group,
			const struct setting *row, cJSON **value,
			struct error *err)
{
	const char *text = NULL;
	bool yes = false;
	int rc = 0;

	switch (row->type) {
	case SETTING_INT:
		return read_number(set, group, row, value, err);
	case SETTING_LIST:
		return read_list(set, group, row, value, err);
	case SETTING_BOOL:
		rc = settings_bool(set, group, row->key, &yes, err);
		*value = yes ? cJSON_CreateTrue() : NULL;
		return rc;
	default:
		rc = settings_string(set, group, row->key, &text, err);
		*value = text && *text ? cJSON_CreateString(text) : NULL;
		return rc;
	}
}

static void add_at(cJSON *body, const char *field, cJSON *value)
{
	const char *dot = strrchr(field, '.');

	if (dot) {
		char *path = xstrndup(field, (size_t)(dot - field));

		body = body_object(body, path);
		free(path);
	}
	cJSON_AddItemToObject(body, dot ? dot + 1 : field, value);
}

int body_add_settings(const struct sandbox_client *client, const char *keys,
		      cJSON *body, struct error *err)
{
	struct str rest = str_of(keys);
	struct str key;

	while (str_split(&rest, ' ', &key)) {
		const struct setting *row = find_row(client->provider, key);
		cJSON *value = NULL;
		int rc = read_setting(client->settings, client->provider->name,
				      row, &value, err);
		bool empty = value && !value->child &&
			     (cJSON_IsArray(value) || cJSON_IsObject(value));

		if (rc == 0 && value && !empty)
			add_at(body, row->field, value);
		else
			cJSON_Delete(value);
		if (rc < 0)
			return -1;
	}
	return 0;
}

cJSON *body_hosts(const struct network *n, unsigned which)
{
	cJSON *array = NULL;

	for (size_t i = 0; i < n->n; i++) {
		struct network_rule r = n->rules[i];
		struct buf text = BUF_INIT(512);
		bool denied = which & HOSTS_DENIED;

		if (r.denies != denied ||
		    !(which & (r.family ? HOSTS_ADDRESSES : HOSTS_NAMES)))
			continue;
		if (!array)
			array = cJSON_CreateArray();
		r.denies = false; /* vendors have no "!" */
		network_print_rule(&r, &text);
		if (which & HOSTS_PREFIX && r.family && !strchr(text.ptr, '/'))
			buf_addf(&text, "/%u", r.bits);
		cJSON_AddItemToArray(array, cJSON_CreateString(text.ptr));
		buf_release(&text);
	}
	return array;
}

void body_add_hosts(cJSON *object, const char *key, const struct network *n,
		    unsigned which)
{
	cJSON *hosts = body_hosts(n, which);

	if (hosts)
		cJSON_AddItemToObject(object, key, hosts);
}

int body_read_hosts(struct network *n, const cJSON *allow, const cJSON *deny,
		    bool open, struct error *err)
{
	size_t most = 1 + (size_t)cJSON_GetArraySize(allow) +
		      (size_t)cJSON_GetArraySize(deny);
	const char **list = xcalloc(most, sizeof(*list));
	const cJSON *item;
	size_t count = 0;
	int rc = 0;

	if (open)
		list[count++] = xstrdup("full");
	cJSON_ArrayForEach (item, allow)
		list[count++] =
			xstrdup(cJSON_IsString(item) ? item->valuestring : "");
	cJSON_ArrayForEach (item, deny)
		list[count++] = xasprintf(
			"!%s", cJSON_IsString(item) ? item->valuestring : "");
	if (network_parse(n, list, count, err) < 0) {
		rc = error_wrap(err, "unexpected server response");
		err->code = ERR_PROTOCOL;
		err->hint[0] = '\0';
	}
	while (count)
		free((char *)list[--count]);
	free(list);
	return rc;
}

static void wipe_texts(cJSON *tree)
{
	cJSON *child;

	cJSON_ArrayForEach (child, tree) {
		if (child->valuestring)
			sodium_memzero(child->valuestring,
				       strlen(child->valuestring));
		wipe_texts(child);
	}
}

void body_wipe(cJSON *body)
{
	wipe_texts(body);
	cJSON_Delete(body);
}

static const char join_sh[] = "IFS=;set -- \"$*\";unset IFS;eval \"$1\"";

void shell_argument_add(struct buf *json, struct str command)
{
	if (command.len <= SHELL_ARGUMENT_MAX) {
		json_quote(json, command);
		return;
	}
	json_quote(json, str_of(join_sh));
	buf_adds(json, ",\"sh\"");
	while (command.len) {
		size_t n = command.len < SHELL_ARGUMENT_MAX
				   ? command.len
				   : SHELL_ARGUMENT_MAX;

		buf_addc(json, ',');
		json_quote(json, (struct str){ command.ptr, n });
		command = str_skip(command, n);
	}
}
