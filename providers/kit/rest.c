/* rest.c - JSON over HTTP: address, headers, bodies, errors, retries. */
/* SPDX-License-Identifier: MIT */
/*
 * rest_call() sends one request with the server's headers and decides whether a
 * failed one is repeated. Before a repetition it waits in retry_after()
 * (net/retry.c), which obeys Retry-After. rest_json() also parses the answer.
 * Settings choose the server's address (rest_address). A key is sent only to
 * https or to this machine.
 *
 * body_add_settings() writes settings to the create request: struct
 * setting.field names the JSON member for each. env_list_add() converts a list
 * of NAME=value to an object. shell_argument_add() splits a long shell command
 * into several strings.
 */
#include "providers/kit/rest.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "config/settings.h"
#include "net/resolve.h"
#include "net/retry.h"
#include "sandbox/sandbox.h"

enum {
	TRIES_AGAIN = 4,
	TRIES_REACH = 2, /* for servers that accept no connection */
	REACH_MS = 3000, /* no second try if the first failed after this time */
	CALL_MS = 60000,
	ANSWER_MAX = 16 << 20, /* bytes of an answer */
	CLAIMS_MAX = 16 << 10,
};

const char *rest_variable(const struct settings *set, const char *variable)
{
	const char *value = settings_env(set, variable);

	return value && settings_address_is_shared(set, variable) &&
			       !loopback_url(str_of(value))
		       ? NULL
		       : value;
}

int rest_address(char **base, const struct settings *set,
		 const char *const *variables, const char *fallback,
		 struct error *err)
{
	const char *value = NULL;
	struct str url;
	char *from;

	for (; !value && *variables; variables++) {
		value = rest_variable(set, *variables);
		if (value && !loopback_or_https(str_of(value))) {
			error_set(err, ERR_CONFIG,
				  "%s: refusing to send a key to %.200s",
				  *variables, value);
			from = settings_address_name(set, *variables);
			if (strcmp(from, *variables) != 0)
				error_add(err, " (%s)", from);
			free(from);
			return error_hint(err, "Use https://..., or http:// on "
					       "a loopback address.");
		}
	}
	url = str_of(value ? value : fallback);
	while (str_ends(url, "/"))
		url.len--;
	*base = xstrndup(url.ptr, url.len);
	return 0;
}

int rest_header(struct rest *r, const char *name, const char *value,
		struct error *err)
{
	size_t n = 0;

	for (const char *c = value; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7F)
			return error_set(
				err, ERR_CONFIG,
				"the value for %s contains a control character",
				name);
	while (r->headers[n])
		n++;
	if (n == REST_HEADERS)
		return error_set(err, ERR_CONFIG, "too many headers");
	r->headers[n] = xasprintf("%s: %s", name, value);
	return 0;
}

void rest_release(struct rest *r)
{
	free(r->base);
	for (size_t n = 0; r->headers[n]; n++)
		mem_wipe(r->headers[n]);
	*r = (struct rest){ 0 };
}

void rest_encode(struct buf *out, struct str text)
{
	percent_encode(out, text, "");
}

/*
 * Gathers the server's headers, the type and the caller's headers in one list.
 * type is a buffer of the caller.
 */
static void gather_headers(const struct rest *r, const struct http_request *ask,
			   const char **list, const char *type)
{
	size_t n = 0;

	for (size_t i = 0; r->headers[i]; i++)
		list[n++] = r->headers[i];
	if (ask->body.len || ask->source)
		list[n++] = type;
	for (size_t i = 0;
	     ask->headers && ask->headers[i] && n < (size_t)2 * REST_HEADERS;
	     i++)
		list[n++] = ask->headers[i];
	list[n] = NULL;
}

/*
 * True if the request may be sent again. That is always safe if no connection
 * was made, since nothing was sent.
 */
static bool is_repeatable(const struct http_request *ask,
			  const struct retry *retry, int64_t began,
			  const struct error *err)
{
	if (err->code != ERR_UNREACHABLE)
		return ask->flags & REST_AGAIN && !ask->source &&
		       err->code != ERR_PROTOCOL && retry_is_transient(err);
	return retry->attempt < TRIES_REACH && clock_ms() - began < REACH_MS;
}

int rest_call(const struct rest *r, const struct http_request *ask,
	      struct http_response *res, const struct stop *stop,
	      struct error *err)
{
	const char *list[2 * REST_HEADERS + 1];
	char *type = xasprintf("Content-Type: %s",
			       ask->type ? ask->type : "application/json");
	char *url = xasprintf("%s%s", r->base, ask->path);
	int64_t ms = ask->timeout_ms ? ask->timeout_ms : CALL_MS;
	struct http_request req = *ask;
	struct retry retry = { .max = TRIES_AGAIN };
	int64_t began = clock_ms();
	int rc;

	gather_headers(r, ask, list, type);
	req.url = url;
	req.headers = list;
	for (;;) {
		struct stop limit = stop_within(stop, ms);
		struct error why = { 0 };

		if (!res->body.max)
			res->body.max = ANSWER_MAX;
		rc = http_do(r->http, &req, res, &limit, &why);
		/* If only the time limit of one try has passed, this counts as
		 * a network failure. */
		if (rc < 0 && why.code == ERR_TIMEOUT &&
		    clock_ms() < stop->deadline)
			error_set(&why, ERR_NETWORK, "no answer within %lld s",
				  (long long)(ms / 1000));
		if (rc == 0 &&
		    (res->status < 400 ||
		     (res->status == 404 && ask->flags & REST_MISSING_OK)))
			break;
		if (rc == 0)
			rc = http_status_error(res, NULL, &why);
		if (!is_repeatable(ask, &retry, began, &why) ||
		    !retry_after(&retry, stop, &why)) {
			*err = why;
			(void)error_wrap(err, "%s", ask->what);
			break;
		}
	}
	free(type);
	free(url);
	return rc;
}

int rest_json(const struct rest *r, const struct http_request *ask,
	      cJSON **tree, int *status, const struct stop *stop,
	      struct error *err)
{
	struct http_response res = { 0 };
	int rc = rest_call(r, ask, &res, stop, err);

	*tree = NULL;
	if (rc == 0 && status)
		*status = res.status;
	if (rc == 0 && str_trim(buf_str(&res.body)).len) {
		*tree = json_parse(buf_str(&res.body));
		if (!*tree) {
			rc = error_set(err, ERR_PROTOCOL,
				       "%s: the answer is not JSON", ask->what);
			err->http_status = res.status;
		}
	}
	http_response_release(&res);
	return rc;
}

cJSON *jwt_claims(const char *token)
{
	struct str rest = str_of(token);
	struct str part;
	char text[CLAIMS_MAX];
	size_t len = 0;

	for (int i = 0; i < 2; i++)
		if (!str_split(&rest, '.', &part))
			return NULL;
	if (!rest.len ||
	    sodium_base642bin((unsigned char *)text, sizeof(text), part.ptr,
			      part.len, "=", &len, NULL,
			      sodium_base64_VARIANT_URLSAFE_NO_PADDING) < 0)
		return NULL;
	return json_parse((struct str){ text, len });
}

int64_t jwt_expires(const char *token)
{
	cJSON *claims = jwt_claims(token);
	int64_t at = json_int(claims, "exp", 0);

	cJSON_Delete(claims);
	return at > 0 ? at : 0;
}

/* Converts settings and commands to the JSON of a request. */

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

int body_read_ports(const struct sandbox_client *client, size_t most,
		    cJSON **list, struct error *err)
{
	const char *const *items = NULL;
	size_t n = 0;
	int rc = settings_list(client->settings, client->provider->name,
			       "ports", &items, &n, err);

	*list = cJSON_CreateArray();
	if (rc == 0 && n > most)
		rc = error_set(err, ERR_CONFIG, "ports: at most %zu", most);
	for (size_t i = 0; rc == 0 && i < n; i++) {
		int64_t port = 0;

		if (!str_to_int(str_of(items[i]), &port) || port < 1 ||
		    port > 65535)
			rc = error_set(err, ERR_CONFIG,
				       "ports: not a port: '%.40s'", items[i]);
		cJSON_AddItemToArray(*list, cJSON_CreateNumber((double)port));
	}
	if (rc == 0)
		return 0;
	cJSON_Delete(*list);
	*list = NULL;
	return -1;
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
