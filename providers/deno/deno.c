/* deno.c - creates, lists and deletes sandboxes at Deno Deploy. */
/* SPDX-License-Identifier: MIT */
/* A sandbox is created by opening a WebSocket with its description in a header
 * (open_new). The API does not refuse a second sandbox with the same label. So
 * if a create is repeated, create_once() searches the console's list for the
 * first one. Begin with deno_create(); the provider's table is at the end. */
#include "providers/deno/deno.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/stop.h"
#include "base/str.h"
#include "net/resolve.h"
#include "providers/kit/rest.h"
#include "providers/kit/vault.h"

enum {
	/* bytes; base64 of it must fit in an argument (128 KiB) */
	REQUEST_MAX = 80 << 10,
	ID_PREFIX = 8, /* length of "sbx_ord_" */
	ID_MAX = 128,
	DOMAIN_MAX = 200,
	DELETE_MS = 20000, /* the request sometimes hangs; the SDK waits 10 s */
	PAGES_MAX = 1000,
	CURSOR_MAX = 4096,
	PATH_MAX_BYTES = 32 << 10,
	CONFIG_MAX = 32 << 10, /* bytes; sent as a header */
	LABELS = 5,
	MEMORY = 1280, /* default in MiB */
	MEMORY_MIN = 768,
	MEMORY_MAX = 1 << 20, /* MiB; the server enforces its own limit */
	/* for every sandbox (docs.deno.com/sandbox, read 2026-11) */
	MILLI_VCPU = 2000,
};

static const struct setting settings[] = {
	{ .key = "token",
	  .type = SETTING_STRING,
	  .flags = SETTING_SECRET | SETTING_REQUIRED | SETTING_ENV_ONLY,
	  .env = "DENO_DEPLOY_TOKEN",
	  .help = "token from https://console.deno.com" },
	{ .key = "org",
	  .example = "\"my-org\"",
	  .type = SETTING_STRING,
	  .flags = SETTING_ENV_ONLY,
	  .env = "DENO_DEPLOY_ORG",
	  .help = "organization; needed unless the token is an organization's "
		  "(ddo_...)" },
	{ .key = "region",
	  .type = SETTING_STRING,
	  .fallback = "\"ord\"",
	  .help = "ord or ams" },
	{ .key = "memory",
	  .unit = "MiB",
	  .type = SETTING_INT,
	  .fallback = "1280",
	  .help = "MiB of memory, 768 to 4096" },
	{ .key = "root",
	  .example = "\"my-snapshot\"",
	  .type = SETTING_STRING,
	  .help = "volume or snapshot to boot from" },
	{ .key = "volumes",
	  .example = "[\"data=/data\"]",
	  .type = SETTING_LIST,
	  .help = "volumes to mount: NAME=/path" },
	{ .key = "workdir",
	  .example = "\"/data\"",
	  .type = SETTING_STRING,
	  .help = "working directory inside (default: the home directory)" },
	{ .key = "env",
	  .example = "[\"LANG=C.UTF-8\"]",
	  .type = SETTING_LIST,
	  .help = "variables for commands: NAME=value" },
	LABELS_ROW("labels of the sandbox: NAME=value, at most three"),
	NETWORK_ROW,
	LIFETIME_ROW("1200",
		     "seconds from the last command to the end of the sandbox "
		     "(default and maximum 1800)"),
	{ 0 },
};

static bool is_region(const char *region)
{
	return strlen(region) == DENO_REGION - 1 &&
	       strspn(region, "abcdefghijklmnopqrstuvwxyz") == DENO_REGION - 1;
}

/* True for "sbx_ord_" and 20 characters. */
static bool is_id(const char *id)
{
	size_t len = strlen(id);
	char region[DENO_REGION] = { 0 };

	if (len <= ID_PREFIX || len > ID_MAX || strncmp(id, "sbx_", 4) != 0 ||
	    id[ID_PREFIX - 1] != '_')
		return false;
	memcpy(region, id + 4, DENO_REGION - 1);
	return is_region(region) &&
	       strspn(id + ID_PREFIX, "abcdefghijklmnopqrstuvwxyz"
				      "0123456789") == len - ID_PREFIX;
}

/* Returns the value of a variable with the address of the sandboxes, or NULL.
 * The token goes there, too, so the rule of rest_variable() holds. */
static const char *sandbox_variable(const struct deno *d, const char *name)
{
	const struct settings *set = d->settings;
	const char *value = settings_env(set, name);
	char *own = xasprintf("DEEPAGENTS_CODE_%s", name);
	bool shared =
		!settings_env_plain(set, own) &&
		settings_env_source(set, "DENO_DEPLOY_TOKEN") == SOURCE_STORED;

	free(own);
	return value && shared && !loopback_url(str_of(value)) ? NULL : value;
}

static int set_addresses(struct deno *d, struct error *err)
{
	static const char *const console[] = { "DENO_DEPLOY_ENDPOINT", NULL };
	static const char *const sandbox[] = { "DENO_SANDBOX_ENDPOINT", NULL };
	const char *domain = sandbox_variable(d, "DENO_SANDBOX_BASE_DOMAIN");
	size_t len = domain ? strlen(domain) : 0;

	if (rest_address(&d->console.base, d->settings, console,
			 "https://console.deno.com", err) < 0)
		return -1;
	if (sandbox_variable(d, sandbox[0]) &&
	    rest_address(&d->fixed, d->settings, sandbox, "", err) < 0)
		return -1;
	d->domain = domain ? domain : "sandbox-api.deno.net";
	if (domain && (!len || len > DOMAIN_MAX ||
		       strspn(domain, "abcdefghijklmnopqrstuvwxyz"
				      "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789.-") != len))
		return error_set(
			err, ERR_CONFIG,
			"DENO_SANDBOX_BASE_DOMAIN=%.200s is not a domain",
			domain);
	return 0;
}

static void deno_close(struct sandbox_client *client)
{
	struct deno *d = client->priv;

	if (!d)
		return;
	rest_release(&d->console);
	create_log_release(&d->tried);
	free(d->fixed);
	free(d->endpoint);
	free(d);
	client->priv = NULL;
	client->endpoint = NULL;
}

static int deno_open(struct sandbox_client *client, const struct settings *set,
		     struct error *err)
{
	struct deno *d = xcalloc(1, sizeof(*d));

	client->priv = d;
	create_log_init(&d->tried);
	d->console.http = client->http;
	d->settings = set;
	d->token = settings_credential(set, "DENO_DEPLOY_TOKEN",
				       &client->project_key);
	d->org = settings_env(set, "DENO_DEPLOY_ORG");
	if (!d->token) {
		error_set(
			err, ERR_AUTH,
			"No Deno Deploy token found. Set DENO_DEPLOY_TOKEN (or "
			"DEEPAGENTS_CODE_DENO_DEPLOY_TOKEN)");
		return error_hint(err,
				  "Make an organization token at "
				  "https://console.deno.com (Settings, Access "
				  "Tokens), then export "
				  "DENO_DEPLOY_TOKEN=ddo_...");
	}
	if (!d->org && strncmp(d->token, "ddo_", 4) != 0) {
		error_set(err, ERR_AUTH,
			  "DENO_DEPLOY_TOKEN is not an organization token "
			  "(ddo_...), and no organization is named. Set "
			  "DENO_DEPLOY_ORG");
		return error_hint(
			err, "Run export DENO_DEPLOY_ORG=... (the name in "
			     "the address of your console.deno.com page).");
	}
	if (set_addresses(d, err) < 0 ||
	    deno_add_headers(d, &d->console, err) < 0)
		return -1;
	d->endpoint = xasprintf("%s%s%s", d->console.base, d->org ? "/" : "",
				d->org ? d->org : "");
	client->endpoint = d->endpoint;
	return 0;
}

static int add_volumes(const struct deno *d, cJSON *config, struct error *err)
{
	cJSON *pairs = cJSON_CreateObject();
	cJSON *list = cJSON_AddArrayToObject(config, "volumes");
	int rc = env_list_add(d->settings, "deno", "volumes", pairs, err);
	const cJSON *pair;

	cJSON_ArrayForEach (pair, pairs) {
		cJSON *volume = cJSON_CreateObject();

		cJSON_AddStringToObject(volume, "volume", pair->string);
		cJSON_AddStringToObject(volume, "path", pair->valuestring);
		cJSON_AddItemToArray(list, volume);
		if (rc == 0 && pair->valuestring[0] != '/')
			rc = error_set(
				err, ERR_CONFIG,
				"volumes: not an absolute path: '%.100s'",
				pair->valuestring);
	}
	cJSON_Delete(pairs);
	return rc;
}

static int add_labels(const struct deno *d, const struct sandbox_spec *spec,
		      cJSON *config, struct error *err)
{
	cJSON *labels = cJSON_AddObjectToObject(config, "labels");

	if (env_list_labels(d->settings, "deno", spec, labels, err) < 0)
		return -1;
	if (cJSON_GetArraySize(labels) > LABELS)
		return error_set(err, ERR_CONFIG,
				 "labels: a sandbox has at most %d, and dcode "
				 "uses two of them",
				 LABELS);
	return 0;
}

static const struct network_limits network_limits = {
	.can = NETWORK_CAN_PORTS | NETWORK_CAN_ADDRESSES | NETWORK_CAN_IPV6,
	.note = "The list cannot be changed later.",
};

/* Adds the hosts that may be reached. An empty list blocks all traffic; without
 * a list all of it is allowed. */
static void add_network(const struct network *n, cJSON *config)
{
	if (n->mode == NETWORK_NONE)
		cJSON_AddArrayToObject(config, "allow_net");
	if (n->mode == NETWORK_LIST)
		body_add_hosts(config, "allow_net", n,
			       HOSTS_NAMES | HOSTS_ADDRESSES);
}

/* A variable holds the vendor's own placeholder. The documents have no "*.x"
 * for secrets. */
static const struct secret_limits secret_limits = {
	.can = SECRET_CAN_PLACEHOLDER | SECRET_CLIENT_SENDS,
	.note = "Deno replaces the placeholder of a secret where a client "
		"sends it.",
};

static void add_secrets(const struct secrets *all, cJSON *config)
{
	cJSON *object;

	if (!all)
		return;
	object = cJSON_AddObjectToObject(config, "secrets");
	for (size_t i = 0; i < all->n; i++) {
		const struct secret *s = &all->list[i];
		cJSON *one = cJSON_AddObjectToObject(object, s->env);

		vault_add_hosts(one, "hosts", s);
		cJSON_AddStringToObject(one, "value", s->value);
	}
}

static int add_root(const struct deno *d, const struct sandbox_spec *spec,
		    cJSON *config, struct error *err)
{
	const char *root = NULL;

	if (settings_string(d->settings, "deno", "root", &root, err) < 0)
		return -1;
	if (spec->snapshot)
		root = spec->snapshot;
	if (root && *root)
		cJSON_AddStringToObject(cJSON_AddObjectToObject(config, "root"),
					"volume", root);
	return 0;
}

/* Adds all members of the description except stop_at_ms. */
static int add_config(const struct deno *d, const struct sandbox_spec *spec,
		      cJSON *config, struct error *err)
{
	int64_t memory = MEMORY;

	if (settings_int(d->settings, "deno", "memory", &memory, err) < 0)
		return -1;
	if (memory < MEMORY_MIN || memory > MEMORY_MAX)
		return error_set(err, ERR_CONFIG,
				 "memory must be at least %d MiB", MEMORY_MIN);
	cJSON_AddNumberToObject(config, "memory_mb", (double)memory);
	if (add_labels(d, spec, config, err) < 0 ||
	    add_volumes(d, config, err) < 0 ||
	    add_root(d, spec, config, err) < 0)
		return -1;
	add_network(spec->network, config);
	add_secrets(spec->secrets, config);
	return 0;
}

/* Returns "x-deno-sandbox-config: BASE64", owned by the caller; NULL if it is
 * too large. */
static char *config_header(cJSON *config, int64_t lifetime_s, struct error *err)
{
	struct buf json = BUF_INIT(CONFIG_MAX);
	struct buf header = BUF_INIT(2 * CONFIG_MAX);
	char *text = NULL;

	cJSON_DeleteItemFromObjectCaseSensitive(config, "stop_at_ms");
	cJSON_AddNumberToObject(config, "stop_at_ms",
				(double)(clock_unix_ms() + lifetime_s * 1000));
	json_print(&json, config);
	buf_adds(&header, "x-deno-sandbox-config: ");
	json_base64(&header, buf_str(&json));
	if (buf_check(&json, "the sandbox's description", err) == 0 &&
	    buf_check(&header, "the sandbox's description", err) == 0)
		text = buf_detach(&header);
	/* Both may have values of secrets. */
	buf_wipe(&json);
	buf_wipe(&header);
	return text;
}

static int set_id(struct sandbox *sb, const char *id, int64_t lifetime_s,
		  struct error *err)
{
	struct deno_box *b = deno_box(sb);

	if (!id || !is_id(id)) {
		deno_rpc_end(b->rpc);
		return error_set(err, ERR_PROTOCOL,
				 "unexpected server response: no sandbox id: "
				 "'%.100s'",
				 id ? id : "");
	}
	free(sb->id);
	sb->id = xstrdup(id);
	pthread_mutex_lock(&b->lock);
	b->ends = clock_ms() + lifetime_s * 1000;
	pthread_mutex_unlock(&b->lock);
	return 0;
}

/* Creates the sandbox by opening its WebSocket. */
static int open_new(struct sandbox *sb, cJSON *config, int64_t lifetime_s,
		    const struct stop *stop, struct error *err)
{
	struct deno *d = sb->client->priv;
	const char *region = NULL;
	struct rest server = { 0 };
	char *id = NULL;
	char *header = config_header(config, lifetime_s, err);
	struct deno_opening o = { .rpc = deno_box(sb)->rpc,
				  .server = &server,
				  .path = "/api/v3/sandboxes/create",
				  .header = header,
				  .id = &id };
	int rc = header ? settings_string(d->settings, "deno", "region",
					  &region, err)
			: -1;

	if (rc == 0 && !is_region(region ? region : ""))
		rc = error_set(err, ERR_CONFIG, "region must be three letters");
	if (rc == 0)
		rc = deno_server(d, region, &server, err);
	if (rc == 0)
		rc = deno_open_socket(sb, &o, stop, err);
	if (rc == 0)
		rc = set_id(sb, id, lifetime_s, err);
	if (rc < 0)
		error_wrap(err, "creating the sandbox");
	rest_release(&server);
	if (header)
		sodium_memzero(header, strlen(header));
	free(header);
	free(id);
	return rc;
}

/* Reads the cursor of the next page from the header Link:
 * <https://.../sandboxes?cursor=abc>; rel="next", <...>; rel="prev". The SDK
 * does the same for other lists (client.js), but does not paginate this one. */
static void on_page_header(void *arg, struct str line)
{
	char **cursor = arg;
	size_t colon = str_find(line, ':');
	struct str rest = str_trim(str_skip(line, colon + 1));
	struct str item;

	if (!str_is_nocase((struct str){ line.ptr, colon }, "link"))
		return;
	while (str_split(&rest, ',', &item)) {
		size_t at = str_search(item, STR("cursor="));
		struct str next = str_skip(item, at + strlen("cursor="));

		next.len = str_find(next, '>');
		next.len = str_find(next, '&');
		if (at == item.len || !next.len || next.len > CURSOR_MAX ||
		    str_search(item, STR("rel=\"next\"")) == item.len)
			continue;
		free(*cursor);
		*cursor = xstrndup(next.ptr, next.len);
	}
}

static bool is_valid_cursor(const char *cursor)
{
	return strspn(cursor, "abcdefghijklmnopqrstuvwxyz"
			      "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
			      "0123456789-._~%+=/") == strlen(cursor);
}

struct deno_selection {    /* which sandboxes are passed to sink */
	const char *label; /* only sandboxes with this label; or NULL */
	const char *owner; /* only sandboxes of this owner; or NULL */
	/* only the sandbox with this id, in any state; or NULL */
	const char *id;
	const struct info_sink *sink;
	bool found;
};

/* Requests one page. *cursor is the cursor of this page, URL-encoded (NULL: the
 * first page), and becomes that of the next page; owned by the caller. */
static int get_page(struct deno *d, const struct deno_selection *s,
		    char **cursor, cJSON **page, const struct stop *stop,
		    struct error *err)
{
	const char *value = s->label ? s->label : s->owner;
	struct buf path = BUF_INIT(PATH_MAX_BYTES);
	struct http_request ask = { .method = "GET",
				    .what = "listing sandboxes",
				    .flags = REST_AGAIN,
				    .header = on_page_header,
				    .arg = cursor };
	int rc;

	buf_adds(&path, "/api/v2/sandboxes");
	if (value) {
		buf_addf(&path, "?labels%%5Bdcode.%s%%5D=",
			 s->label ? "label" : "owner");
		rest_encode(&path, str_of(value));
	}
	if (*cursor)
		buf_addf(&path, "%ccursor=%s", value ? '&' : '?', *cursor);
	free(*cursor);
	*cursor = NULL;
	ask.path = path.ptr;
	rc = buf_check(&path, "the request", err);
	if (rc == 0)
		rc = rest_json(&d->console, &ask, page, NULL, stop, err);
	deno_add_hint(err);
	buf_release(&path);
	if (rc == 0 && !cJSON_IsArray(*page))
		rc = error_set(err, ERR_PROTOCOL,
			       "unexpected server response: no list");
	if (rc == 0 && *cursor && !is_valid_cursor(*cursor))
		rc = error_set(err, ERR_PROTOCOL,
			       "unexpected server response: no next page");
	return rc;
}

/* True if the sandbox is one of those selected. A stopped sandbox counts as
 * gone, because it cannot be started again. */
static bool is_selected(const struct deno_selection *s,
			const struct sandbox_info *info)
{
	if (!is_id(info->id))
		return false;
	if (s->id)
		return !s->found && strcmp(info->id, s->id) == 0;
	return info->state != STATE_GONE && info->label[0] &&
	       (!s->owner || strcmp(info->owner, s->owner) == 0);
}

/* Passes one sandbox of the list to the sink if it is selected. */
static void emit_info(struct deno_selection *s, const cJSON *item)
{
	const cJSON *labels = json_get(item, "labels");
	bool runs = strcmp(json_string(item, "status", ""), "running") == 0;
	struct sandbox_info info = {
		.id = json_string(item, "id", ""),
		.label = json_string(labels, "dcode.label", ""),
		.owner = json_string(labels, "dcode.owner", ""),
		.state = runs ? STATE_RUNNING : STATE_GONE,
		.image = "",
		.created = json_time(item, "createdAt"),
	};

	if (!is_selected(s, &info))
		return;
	s->found = true;
	info_emit(s->sink, &info);
}

static int list_pages(struct deno *d, struct deno_selection *s,
		      const struct stop *stop, struct error *err)
{
	char *cursor = NULL;
	int pages = 0;
	int rc;

	do {
		const cJSON *item;
		cJSON *page = NULL;

		rc = get_page(d, s, &cursor, &page, stop, err);
		if (rc == 0)
			cJSON_ArrayForEach (item, page)
				emit_info(s, item);
		cJSON_Delete(page);
		if (rc == 0 && ++pages == PAGES_MAX)
			rc = error_set(
				err, ERR_LIMIT,
				"the list of sandboxes has too many pages");
	} while (rc == 0 && cursor);
	free(cursor);
	return rc;
}

static int deno_list(struct sandbox_client *client, const char *owner,
		     const struct info_sink *sink, const struct stop *stop,
		     struct error *err)
{
	struct deno_selection s = { .owner = owner, .sink = sink };

	return list_pages(client->priv, &s, stop, err);
}

/* Lists the sandboxes with that label. */
static int list_label(struct sandbox_client *client, const char *label,
		      const struct info_sink *sink, const struct stop *stop,
		      struct error *err)
{
	struct deno_selection s = { .label = label, .sink = sink };

	return list_pages(client->priv, &s, stop, err);
}

/* The API cannot describe a single sandbox, so this searches the list. */
static int deno_info(struct sandbox_client *client, const char *id,
		     const struct info_sink *sink, const struct stop *stop,
		     struct error *err)
{
	struct deno_selection s = { .id = id, .sink = sink };

	if (list_pages(client->priv, &s, stop, err) < 0)
		return -1;
	if (!s.found)
		return error_set(err, ERR_NOT_FOUND, "sandbox not found: %s",
				 id);
	return 0;
}

/* Creates a sandbox. If a create for this label was sent before, its sandbox
 * may exist: if the list shows it, that one is used. If it appears only after
 * this function has created another one, it is deleted. */
static int create_once(struct sandbox *sb, const struct sandbox_spec *spec,
		       cJSON *config, const struct stop *stop,
		       struct error *err)
{
	const struct duplicate_query made = { spec->label, list_label,
					      spec->label };
	struct deno *d = sb->client->priv;
	bool again = create_log_add(&d->tried, spec->label);
	int64_t lifetime_s = deno_box(sb)->lifetime_s;
	struct error ignored = { 0 };
	char *id = NULL;
	int rc = 0;

	if (again)
		rc = duplicate_create_resolve(sb->client, &made, &id, stop,
					      err);
	if (rc == 0 && id)
		rc = set_id(sb, id, lifetime_s, err);
	else if (rc == 0)
		rc = open_new(sb, config, lifetime_s, stop, err);
	if (rc == 0 && again && !id)
		(void)duplicate_create_resolve(sb->client, &made, &sb->id, stop,
					       &ignored);
	free(id);
	return rc;
}

static int deno_create(struct sandbox *sb, const struct sandbox_spec *spec,
		       const struct stop *stop, struct error *err)
{
	struct deno_box *b = deno_box(sb);
	cJSON *config = cJSON_CreateObject();
	int rc;

	b->lifetime_s = spec->lifetime_s < DENO_LONGEST_S ? spec->lifetime_s
							  : DENO_LONGEST_S;
	if (spec->lifetime_s > 0)
		rc = add_config(sb->client->priv, spec, config, err);
	else
		rc = error_set(err, ERR_CONFIG,
			       "the lifetime must be above zero");
	if (rc < 0)
		err->nothing_made = true;
	if (rc == 0)
		rc = create_once(sb, spec, config, stop, err);
	if (rc == 0)
		rc = deno_set_workdir(sb, stop, err);
	body_wipe(config);
	return rc;
}

static int deno_attach(struct sandbox *sb, const char *id,
		       const struct stop *stop, struct error *err)
{
	struct deno_box *b = deno_box(sb);
	int64_t lifetime = 0;

	if (!is_id(id))
		return error_set(err, ERR_USAGE, "not a sandbox id: '%.100s'",
				 id);
	if (settings_int(sb->client->settings, "deno", "lifetime", &lifetime,
			 err) < 0)
		return -1;
	b->lifetime_s = lifetime > 0 ? lifetime : DENO_LIFETIME_S;
	b->attached = clock_ms();
	sb->id = xstrdup(id);
	if (deno_set_workdir(sb, stop, err) == 0)
		return 0;
	/* the first connection failed: perhaps the id never existed */
	if (err->code == ERR_GONE) {
		*err = (struct error){ 0 };
		error_set(err, ERR_NOT_FOUND, "sandbox not found: %s", id);
	}
	return -1;
}

static int deno_remove(struct sandbox_client *client, const char *id,
		       const struct stop *stop, struct error *err)
{
	struct http_request ask = { .method = "DELETE",
				    .what = "deleting the sandbox",
				    .timeout_ms = DELETE_MS,
				    .flags = REST_MISSING_OK };
	struct http_response res = { 0 };
	int rc;

	if (!is_id(id))
		return error_set(err, ERR_USAGE, "not a sandbox id: '%.100s'",
				 id);
	rc = deno_call_server(client, id, &ask, &res, stop, err);
	if (rc == 0 && res.status == 404)
		rc = 1;
	http_response_release(&res);
	return rc;
}

static void deno_discard(struct sandbox *sb)
{
	struct deno_box *b = sb->priv;

	if (!b)
		return;
	deno_rpc_free(b->rpc);
	pthread_mutex_destroy(&b->dial);
	pthread_mutex_destroy(&b->lock);
	free(b);
	sb->priv = NULL;
}

/* Memory is billed as allocated, CPU as used. What the account's plan includes
 * is not subtracted (deno.com/deploy/pricing, as of 2026-09-28). */
static const struct rates rates = {
	.vcpu = RATES_HOUR(0.10),
	.gib = RATES_HOUR(0.025),
};

static int deno_price(const struct settings *set, const char *snapshot,
		      struct sandbox_price *price, struct error *err)
{
	struct rates_size size = { .milli_vcpu = MILLI_VCPU, .mib = MEMORY };

	(void)snapshot;
	if (settings_int(set, "deno", "memory", &size.mib, err) < 0)
		return -1;
	price->usd_s = rates_price(&rates, &size);
	price->at_most = true;
	return 0;
}

static const struct sandbox_ops ops = {
	.open = deno_open,
	.close = deno_close,
	.create = deno_create,
	.attach = deno_attach,
	.list = deno_list,
	.info = deno_info,
	.extend = deno_extend,
	.execute = deno_execute,
	.ports = &deno_ports,
	.upload = deno_upload,
	.download = deno_download,
	.remove = deno_remove,
	.discard = deno_discard,
};

const struct sandbox_provider deno_provider = {
	.name = "deno",
	.summary = "sandboxes of Deno Deploy",
	.workdir = "/home/sandbox",
	.flags = SANDBOX_ATTACH | SANDBOX_SNAPSHOT | SANDBOX_LIVE |
		 SANDBOX_NETWORK | SANDBOX_LIST,
	.network = &network_limits,
	.secrets = &secret_limits,
	.max_command = REQUEST_MAX,
	.lifetime_s = DENO_LIFETIME_S,
	.settings = settings,
	.url_env = (const char *const[]){ "DENO_DEPLOY_ENDPOINT", NULL },
	.ops = &ops,
	.price = deno_price,
	.isolation = ISOLATION_MICROVM, /* docs: "Individual Linux microVMs" */
	.isolation_source = "docs.deno.com/sandbox, 2026-11-23",
};
