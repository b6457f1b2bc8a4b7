/* http_provider.c - a REST service that config.toml describes. */
/* SPDX-License-Identifier: MIT */
#include "providers/external/http_provider.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <sodium.h>

#include "base/mem.h"
#include "base/str.h"
#include "net/loopback.h"
#include "net/retry.h"
#include "providers/external/json_pointer.h"

enum {
	POLL_MS = 500, /* at first; doubled each time */
	POLL_MOST_MS = 4000,
	READY_MS = 30000, /* for one answer */
	HEADER_MAX = 16 << 10,
	LIFETIME_S = 3600,
	COMMAND_MAX = 32 << 10, /* 80 KiB once encoded */
};

static int set_base(struct http_service *t, const struct http_values *v,
		    struct error *err)
{
	struct buf base = BUF_INIT(4096);
	struct str s;
	int rc = http_text_expand(&base, t->p->base, CONTEXT_RAW, v, err);

	s = buf_str(&base);
	if (rc == 0 && (base.over || !loopback_or_https(s))) {
		error_set(err, ERR_CONFIG,
			  "base is not an address that a key may be sent to");
		rc = error_hint(err, "Use https://..., or http:// on a "
				     "loopback address.");
	}
	while (str_ends(s, "/"))
		s.len--;
	if (rc == 0)
		t->rest.base = xstrndup(s.ptr, s.len);
	buf_wipe(&base);
	return rc;
}

static int set_headers(struct http_service *t, const struct http_values *v,
		       struct error *err)
{
	const struct toml_value *all = t->p->headers;
	int rc = 0;

	for (size_t i = 0; rc == 0 && all && i < all->n_items; i++) {
		struct buf value = BUF_INIT(HEADER_MAX);

		rc = http_text_expand(&value, all->items[i].text,
				      CONTEXT_HEADER, v, err);
		if (rc == 0)
			rc = buf_check(&value, all->items[i].key, err);
		if (rc == 0)
			rc = rest_header(&t->rest, all->items[i].key,
					 value.len ? value.ptr : "", err);
		buf_wipe(&value);
	}
	return rc;
}

static int open_client(struct sandbox_client *client,
		       const struct settings *set, struct error *err)
{
	struct http_service *t = xcalloc(1, sizeof(*t));
	struct http_values v;

	client->priv = t;
	t->p = (const struct http_provider *)client->provider;
	t->settings = set;
	t->start_ms = client->start_ms;
	t->rest.http = client->http;
	v = http_service_call(client, NULL, OP_CREATE).values;
	v.project_key = &client->project_key;
	if (set_base(t, &v, err) < 0 || set_headers(t, &v, err) < 0)
		return -1;
	client->endpoint = t->rest.base;
	return 0;
}

static void close_client(struct sandbox_client *client)
{
	struct http_service *t = http_service_of(client);

	if (!t)
		return;
	rest_release(&t->rest);
	free(t);
	client->priv = NULL;
	client->endpoint = NULL;
}

static bool is_listed(const struct toml_value *list, const char *state)
{
	for (size_t i = 0; list && i < list->n_items; i++)
		if (!strcmp(list->items[i].text, state))
			return true;
	return false;
}

/* 1 ready, 0 not yet, -1 never. */
static int parse_state(const struct http_operation *op, const cJSON *tree,
		       struct error *err)
{
	char *state = op->state ? json_pointer_text(tree, op->state) : NULL;
	int rc = 0;

	if (!op->state || (state && is_listed(op->is, state)))
		rc = 1;
	else if (!state)
		rc = error_set(err, ERR_PROTOCOL,
			       "the answer has no state at %s", op->state);
	else if (is_listed(op->failed, state))
		rc = error_set(err, ERR_REMOTE,
			       "the sandbox is in the state '%.80s'", state);
	free(state);
	return rc;
}

/* A host name of a URL that loopback_or_https() accepts. */
static struct str host_of(struct str url)
{
	struct str host = str_skip(url, str_search(url, STR("://")) + 3);

	if (str_starts(host, "["))
		host.len = str_find(host, ']') + 1;
	else
		host.len = strcspn(host.ptr, ":/");
	return host;
}

static bool is_within(struct str host, const struct toml_value *within)
{
	for (size_t i = 0; i < within->n_items; i++) {
		struct str name = str_of(within->items[i].text);

		if (host.len < name.len ||
		    strncasecmp(host.ptr + host.len - name.len, name.ptr,
				name.len) != 0)
			continue;
		if (host.len == name.len ||
		    host.ptr[host.len - name.len - 1] == '.')
			return true;
	}
	return false;
}

/* The headers of the description, but for Authorization where the sandbox has a
 * token of its own. */
static int copy_headers(struct rest *to, const struct rest *from,
			const char *token, struct error *err)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && from->headers[i]; i++) {
		char *name = xstrdup(from->headers[i]);
		char *value = strchr(name, ':');

		if (value) {
			*value++ = '\0';
			value += strspn(value, " ");
			if (!token || strcasecmp(name, "Authorization") != 0)
				rc = rest_header(to, name, value, err);
		}
		free(name);
	}
	if (rc == 0 && token) {
		char *value = xasprintf("Bearer %s", token);

		rc = rest_header(to, "Authorization", value, err);
		sodium_memzero(value, strlen(value));
		free(value);
	}
	return rc;
}

/*
 * The sandbox's own server, as the answer of create or ready names it. The
 * attack: a service, or who answers for it, names a host of somebody else's,
 * who would get the key and answer for the sandbox. Only hosts of the
 * description's within are taken, and the key goes nowhere in the clear.
 */
static int set_server(struct sandbox *sb, const cJSON *answer,
		      struct error *err)
{
	const struct http_service *t = http_service_of(sb->client);
	const struct http_operation *op = &t->p->operations[OP_CREATE];
	struct http_box *box = sb->priv;
	struct rest made = { .http = t->rest.http };
	char *url = op->server ? json_pointer_text(answer, op->server) : NULL;
	char *token = op->token ? json_pointer_text(answer, op->token) : NULL;
	struct str base = str_of(url ? url : t->rest.base);
	int rc = 0;

	if ((op->server && !url) || (op->token && !token)) {
		rc = 1; /* not in this answer */
	} else if (url && (!loopback_or_https(base) ||
			   (!str_starts(base, "https://") &&
			    str_starts(str_of(t->rest.base), "https://")) ||
			   !is_within(host_of(base), op->within))) {
		rc = error_set(err, ERR_PROTOCOL,
			       "refusing to send the key to '%.200s': not a "
			       "host of create.within",
			       url);
	} else if (op->server || op->token) {
		while (str_ends(base, "/"))
			base.len--;
		made.base = xstrndup(base.ptr, base.len);
		rc = copy_headers(&made, &t->rest, token, err);
	}
	if (rc == 0 && made.base) {
		rest_release(&box->rest);
		box->rest = made;
		made = (struct rest){ 0 };
	}
	rest_release(&made);
	if (token)
		sodium_memzero(token, strlen(token));
	free(token);
	free(url);
	return rc;
}

/* After the last answer that may name it. */
static int check_server(const struct sandbox *sb, struct error *err)
{
	const struct http_service *t = http_service_of(sb->client);
	const struct http_operation *op = &t->p->operations[OP_CREATE];
	const struct http_box *box = sb->priv;

	if (box->rest.base || (!op->server && !op->token))
		return 0;
	return error_set(err, ERR_PROTOCOL,
			 "the answer has no address or token of the sandbox at "
			 "%s",
			 op->server ? op->server : op->token);
}

int http_provider_wait(struct sandbox *sb, const struct stop *stop,
		       struct error *err)
{
	const struct http_service *t = http_service_of(sb->client);
	const struct http_operation *op = &t->p->operations[OP_READY];
	int64_t most = sandbox_start_ms(sb->client, op->timeout_s * 1000);
	struct stop limit = stop_within(stop, most);
	int64_t pause = POLL_MS;
	int state = op->given ? 0 : 1;

	while (state == 0) {
		struct http_call c =
			http_service_call(sb->client, sb, OP_READY);
		cJSON *tree = NULL;

		c.ask.flags = REST_AGAIN;
		c.ask.timeout_ms = READY_MS;
		state = http_call_send(&c, NULL, &tree, &limit, err);
		if (state == 0)
			state = parse_state(op, tree, err);
		if (state == 1 && set_server(sb, tree, err) < 0)
			state = -1;
		cJSON_Delete(tree);
		if (state == 0 && stop_sleep(&limit, pause, err) < 0)
			state = -1;
		pause = pause < POLL_MOST_MS ? pause * 2 : POLL_MOST_MS;
	}
	if (state < 0 && err->code == ERR_TIMEOUT &&
	    clock_ms() < stop->deadline)
		error_set(err, ERR_TIMEOUT,
			  "the sandbox was not ready within %" PRId64 " s",
			  most / 1000);
	return state < 0 ? -1 : 0;
}

static int parse_id(struct sandbox *sb, const cJSON *tree, struct error *err)
{
	const struct http_service *t = http_service_of(sb->client);
	const char *pointer = t->p->operations[OP_CREATE].id;
	char *id = json_pointer_text(tree, pointer);

	if (id && provider_config_id_ok(id)) {
		sb->id = id;
		return 0;
	}
	free(id);
	return error_set(err, ERR_PROTOCOL,
			 "the answer has no id of a sandbox at %s", pointer);
}

static void prepare(struct sandbox *sb)
{
	if (!sb->priv)
		sb->priv = xcalloc(1, sizeof(struct http_box));
}

static void discard(struct sandbox *sb)
{
	struct http_box *box = sb->priv;

	if (box)
		rest_release(&box->rest);
	free(box);
	sb->priv = NULL;
}

static int create(struct sandbox *sb, const struct sandbox_spec *spec,
		  const struct stop *stop, struct error *err)
{
	const struct http_service *t = http_service_of(sb->client);
	struct http_call c = http_service_call(sb->client, NULL, OP_CREATE);
	cJSON *tree = NULL;
	char lifetime[24];
	int rc;

	prepare(sb);
	snprintf(lifetime, sizeof(lifetime), "%" PRId64, spec->lifetime_s);
	c.values.is[VALUE_LABEL] = str_of(spec->label);
	c.values.is[VALUE_OWNER] = str_of(spec->owner);
	c.values.is[VALUE_SNAPSHOT] = str_of(spec->snapshot);
	c.values.is[VALUE_LIFETIME] = str_of(lifetime);
	rc = http_call_send(&c, NULL, &tree, stop, err);
	/* A value is missing: nothing was sent. */
	if (rc < 0 && !err->http_status &&
	    (err->code == ERR_AUTH || err->code == ERR_CONFIG))
		err->nothing_made = true;
	if (rc == 0)
		rc = parse_id(sb, tree, err);
	/* A create that was refused may be sent again without making a second
	 * sandbox; any other only when config.toml says so. */
	if (rc < 0 && !t->p->operations[OP_CREATE].repeats &&
	    !retry_was_refused(err))
		err->exhausted = true;
	if (rc == 0 && set_server(sb, tree, err) < 0)
		rc = -1;
	cJSON_Delete(tree);
	if (rc == 0)
		rc = http_provider_wait(sb, stop, err);
	if (rc == 0)
		rc = check_server(sb, err);
	if (rc == 0)
		http_provider_probe_held(sb, stop);
	return rc;
}

static int set_not_found(const char *id, struct error *err)
{
	return error_set(err, ERR_NOT_FOUND, "unknown sandbox '%.100s'", id);
}

static int attach(struct sandbox *sb, const char *id, const struct stop *stop,
		  struct error *err)
{
	const struct http_operation *ops =
		http_service_of(sb->client)->p->operations;
	struct exec_request req = { .command = STR(":"), .plain = true };
	struct exec_result res;
	int rc;

	if (!provider_config_id_ok(id))
		return set_not_found(id, err);
	sb->id = xstrdup(id);
	prepare(sb);
	if (sb->client->one_command && !ops[OP_CREATE].server &&
	    !ops[OP_CREATE].token && http_provider_knows_held(sb->client)) {
		((struct http_box *)sb->priv)->unsure = true;
		rc = 0;
	} else if (ops[OP_READY].given) {
		rc = http_provider_wait(sb, stop, err);
	} else {
		rc = http_provider_execute(sb, &req, &res, stop, err);
	}
	if (rc < 0 && (err->code == ERR_NOT_FOUND || err->code == ERR_GONE))
		return set_not_found(id, err);
	if (rc == 0 && !((struct http_box *)sb->priv)->unsure)
		rc = check_server(sb, err);
	if (rc == 0)
		http_provider_probe_held(sb, stop);
	return rc;
}

static int remove_sandbox(struct sandbox_client *client, const char *id,
			  const struct stop *stop, struct error *err)
{
	struct http_call c = http_service_call(client, NULL, OP_DELETE);
	struct http_response res = { 0 };
	int rc;

	if (!provider_config_id_ok(id))
		return error_set(err, ERR_USAGE, "not an id: '%.100s'", id);
	c.values.is[VALUE_ID] = str_of(id);
	c.ask.flags = REST_MISSING_OK;
	rc = http_call_send(&c, &res, NULL, stop, err);
	if (res.status == 404 || res.status == 410)
		rc = 1;
	http_response_release(&res);
	return rc;
}

/* Reports the sandbox of an item of a list, if it has a label of ours. */
static void report(const struct http_operation *op, const cJSON *item,
		   const char *owner, const struct info_sink *sink)
{
	char *id = json_pointer_text(item, op->id);
	char *label = json_pointer_text(item, op->label);
	char *of =
		op->item_owner ? json_pointer_text(item, op->item_owner) : NULL;
	struct sandbox_info info = {
		.id = id, .label = label, .owner = of ? of : "", .image = ""
	};

	if (id && provider_config_id_ok(id) && label &&
	    str_starts(str_of(label), "dcode-") &&
	    (!owner || !op->item_owner || !strcmp(owner, info.owner)))
		info_emit(sink, &info);
	free(id);
	free(label);
	free(of);
}

static int list(struct sandbox_client *client, const char *owner,
		const struct info_sink *sink, const struct stop *stop,
		struct error *err)
{
	const struct http_service *t = http_service_of(client);
	const struct http_operation *op = &t->p->operations[OP_LIST];
	struct http_call c = http_service_call(client, NULL, OP_LIST);
	const cJSON *items;
	const cJSON *item;
	cJSON *tree = NULL;
	int rc;

	c.ask.flags = REST_AGAIN;
	c.values.is[VALUE_OWNER] = str_of(owner);
	rc = http_call_send(&c, NULL, &tree, stop, err);
	items = json_pointer_get(tree, op->items ? op->items : "");
	if (rc == 0 && !cJSON_IsArray(items))
		rc = error_set(err, ERR_PROTOCOL,
			       "the answer has no list of sandboxes");
	if (rc == 0)
		cJSON_ArrayForEach (item, items)
			report(op, item, owner, sink);
	cJSON_Delete(tree);
	return rc;
}

static void free_provider(struct made_provider *made)
{
	struct http_provider *p = (struct http_provider *)made;

	provider_config_release(&p->config);
	free(p);
}

struct made_provider *http_provider_new(struct provider_config *d,
					struct error *err)
{
	struct http_provider *p = xcalloc(1, sizeof(*p));
	const char *colon = strrchr(d->origin, ':'); /* "FILE:3" */
	char *file = xstrndup(d->origin, colon ? (size_t)(colon - d->origin)
					       : strlen(d->origin));
	int rc;

	p->config = *d;
	*d = (struct provider_config){ 0 };
	rc = http_config_read(p, file, err);
	free(file);
	if (rc < 0) {
		free_provider(&p->made);
		return NULL;
	}
	p->ops = (struct sandbox_ops){
		.open = open_client,
		.close = close_client,
		.create = create,
		.attach = attach,
		.list = p->operations[OP_LIST].given ? list : NULL,
		.execute = http_provider_execute,
		.upload = p->operations[OP_WRITE].given ? http_provider_upload
							: NULL,
		.download = p->operations[OP_READ].given
				    ? http_provider_download
				    : NULL,
		.remove = remove_sandbox,
		.discard = discard,
	};
	p->made.free = free_provider;
	p->made.base = (struct sandbox_provider){
		.name = p->config.name,
		.summary = "a REST service that config.toml describes",
		.workdir = p->config.workdir ? p->config.workdir : "/workspace",
		.flags = (p->config.flags & ~(unsigned)SANDBOX_LIST) |
			 SANDBOX_LIVE | (p->ops.list ? SANDBOX_LIST : 0),
		.max_command = COMMAND_MAX,
		.lifetime_s = LIFETIME_S,
		.ops = &p->ops,
		.isolation = p->config.isolation,
	};
	return &p->made;
}
