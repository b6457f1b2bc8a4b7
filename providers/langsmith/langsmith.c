/* langsmith.c - LangSmith: creates, lists and deletes sandboxes and
 * snapshots. */
/* SPDX-License-Identifier: MIT */
/* A sandbox starts from a snapshot, which is found by name or built from an
 * image (resolve_snapshot). The tables at the end contain the other special
 * cases of LangSmith; providers/kit does the rest. */
#include "providers/langsmith/langsmith.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "net/retry.h"
#include "providers/kit/lease.h"
#include "providers/kit/rest.h"
#include "providers/kit/vault.h"
#include "sandbox/ports/ports.h"
#include "sandbox/sandbox.h"

/* Two servers: the API at LANGSMITH_ENDPOINT, which creates and deletes
 * sandboxes and stores snapshots, and the data plane, whose address is in each
 * sandbox's description. A sandbox's name is its id in every path. dcode uses
 * the label as the name, so a label cannot be used twice. Sources of the
 * protocol: what the Python SDK at bc8dd672 and the JavaScript SDK 0.10.5 were
 * seen to send, and the source of npm langsmith 0.12.0 (2026-11-26), whose
 * control plane is below /api/v2/sandboxes. */
#define LANGSMITH_API "/api/v2/sandboxes"
#define SNAPSHOTS LANGSMITH_API "/snapshots"
/* A change replaces the whole member, and values of type "opaque" are never
 * returned. */
#define PROXY "proxy_config"
#define ACCESS PROXY ".access_control"

enum {
	/* bytes; base64 of it must fit in one argument (128 KiB) */
	USER_COMMAND_MAX = 80 << 10,
	LIFETIME_S = 1800,
	PORT_S = 3600,      /* life of a token for a port */
	PORT_EARLY_S = 120, /* renew it so long before its end */
	WAIT_MS = 180000,
	/* ms; the server may wait this long until a sandbox has started */
	READY_MS = 180000,
	CREATE_SLACK_MS = 30000,
	MEMORY_MAX = 1 << 20, /* GiB */
	DISK_MAX = 1 << 20,   /* GiB */
	MOST_GIB_EACH = 6,    /* GiB of memory per vCPU: the server's limit */
	PAGE = 500,
	/* Constants for snapshots: */
	POLL_MS = 2000,
	/* ms; python:3 may take longer than the 60 s of the SDK */
	BUILD_MS = 900000,
	PROGRESS_MS = 10000,
	NAME_MAX_BYTES = 128,
	TRIES = 4,
	/* first pause; each is twice as long as the one before */
	BUILD_PAUSE_MS = 500,
	POST_MS = 120000,
};

struct langsmith { /* sandbox_client.priv points to it */
	struct vendor_client kit;
	const char *key; /* borrowed */
};

static const struct setting settings[] = {
	{ .key = "api_key",
	  .type = SETTING_STRING,
	  .flags = SETTING_SECRET | SETTING_ENV_ONLY,
	  .env = "LANGSMITH_SANDBOX_API_KEY",
	  .help = "key from https://smith.langchain.com; if not set, "
		  "LANGSMITH_API_KEY or LANGCHAIN_API_KEY is used" },
	{ .key = "langsmith_api_key",
	  .type = SETTING_STRING,
	  .flags = SETTING_SECRET | SETTING_ENV_ONLY,
	  .env = "LANGSMITH_API_KEY",
	  .help = "second choice" },
	{ .key = "langchain_api_key",
	  .type = SETTING_STRING,
	  .flags = SETTING_SECRET | SETTING_ENV_ONLY,
	  .env = "LANGCHAIN_API_KEY",
	  .help = "third choice" },
	{ .key = "snapshot_id",
	  .example = "\"5f0c1a3e\"",
	  .type = SETTING_STRING,
	  .env = "LANGSMITH_SANDBOX_SNAPSHOT_ID",
	  .help = "id of the snapshot to start from; no snapshot is looked "
		  "up or built" },
	{ .key = "snapshot",
	  .type = SETTING_STRING,
	  .env = "LANGSMITH_SANDBOX_SNAPSHOT_NAME",
	  .fallback = "\"deepagents-code\"",
	  .help = "snapshot to start from, built if it does not exist" },
	{ .key = "image",
	  .type = SETTING_STRING,
	  .fallback = "\"python:3\"",
	  .help = "image to build the snapshot from" },
	{ .key = "disk",
	  .unit = "GiB",
	  .type = SETTING_INT,
	  .fallback = "16",
	  .help = "GiB of disk of a snapshot that is built" },
	{ .key = "cpu",
	  .unit = "CPUs",
	  .example = "2",
	  .type = SETTING_INT,
	  .field = "vcpus",
	  .least = 1,
	  .help = "CPUs" },
	{ .key = "memory",
	  .unit = "GiB",
	  .example = "4",
	  .type = SETTING_INT,
	  .help = "GiB of memory" },
	WORKDIR_ROW("/root"),
	ENV_ROW("env_vars"),
	LABELS_ROW("labels of the sandbox: NAME=value"),
	NETWORK_ROW,
	LIFETIME_ROW("3600", "seconds from the last command to the end of the "
			     "sandbox (default 1800)"),
	{ .key = "keep_stopped",
	  .unit = "seconds",
	  .type = SETTING_INT,
	  .fallback = "60",
	  .help = "seconds after which a stopped sandbox is deleted" },
	{ .key = "websocket",
	  .type = SETTING_BOOL,
	  .fallback = "true",
	  .help = "run long commands over a WebSocket; false: plain requests" },
	{ 0 },
};

static const char *find_key(const struct settings *set, const char **project)
{
	static const char *const names[] = { "LANGSMITH_SANDBOX_API_KEY",
					     "LANGSMITH_API_KEY",
					     "LANGCHAIN_API_KEY" };
	static const char *const own[] = {
		"DEEPAGENTS_CODE_LANGSMITH_SANDBOX_API_KEY",
		"DEEPAGENTS_CODE_LANGSMITH_API_KEY",
		"DEEPAGENTS_CODE_LANGCHAIN_API_KEY"
	};
	bool stored = settings_env_source(set, names[0]) == SOURCE_STORED;
	const char *key = NULL;

	/* A key that `dcode auth` stored is used as if it were the first of
	 * names. A variable that is meant only for dcode (own) takes precedence
	 * over it. */
	for (size_t i = 0; stored && i < sizeof(own) / sizeof(*own); i++) {
		key = settings_env_plain(set, own[i]);
		if (key && key[0])
			return key;
	}
	key = NULL;
	for (size_t i = 0; !key && i < sizeof(names) / sizeof(*names); i++)
		key = settings_credential(set, names[i], project);
	return key;
}

/* Sets the API's address. Paths are /api/v2/sandboxes/..., so an /api/v1 or
 * /api at the end of the endpoint is removed, as the vendor's SDK does (npm
 * langsmith 0.12.0, 2026-11-26). */
static int set_address(struct rest *api, const struct settings *set,
		       struct error *err)
{
	static const char *const names[] = { "LANGSMITH_ENDPOINT",
					     "LANGCHAIN_ENDPOINT", NULL };
	static const char *const ends[] = { "/api/v1", "/api" };
	struct str base;

	if (rest_address(&api->base, set, names,
			 "https://api.smith.langchain.com", err) < 0)
		return -1;
	base = str_of(api->base);
	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++) {
		if (!str_ends(base, ends[i]))
			continue;
		api->base[base.len - strlen(ends[i])] = '\0';
		break;
	}
	return 0;
}

static const struct vendor vendor;

static int langsmith_open(struct sandbox_client *client,
			  const struct settings *set, struct error *err)
{
	struct langsmith *l = (struct langsmith *)vendor_open(client, &vendor);

	l->key = find_key(set, &client->project_key);
	if (!l->key) {
		error_set(err, ERR_AUTH,
			  "No LangSmith sandbox API key found. Set "
			  "LANGSMITH_API_KEY, LANGCHAIN_API_KEY, or "
			  "LANGSMITH_SANDBOX_API_KEY (or the "
			  "DEEPAGENTS_CODE_-prefixed equivalents)");
		return error_hint(err,
				  "Get a key at https://smith.langchain.com "
				  "(Settings, API Keys), then export "
				  "LANGSMITH_API_KEY=lsv2_...");
	}
	if (set_address(&l->kit.api, set, err) < 0 ||
	    rest_header(&l->kit.api, "X-Api-Key", l->key, err) < 0)
		return -1;
	client->endpoint = l->kit.api.base;
	return 0;
}

/* Appends the path of a list's first page. filter is URL-encoded:
 * "label=a%3Db". */
static void add_list_path(struct buf *path, const char *list,
			  const char *filter)
{
	buf_addf(path, "%s?page_size=%d&%s", list, PAGE, filter);
}

/* Implements vendor_pages.next. Newer servers answer
 * {"items":[...],"next_cursor":C}. Older servers ignore page_size, choose a
 * page size themselves, and expect an offset. */
static void next_path(struct buf *path, const char *first, const cJSON *page,
		      int64_t seen)
{
	struct str list = { first, strcspn(first, "?") };
	const char *cursor = json_string(page, "next_cursor", "");
	bool newer = json_get(page, "next_cursor") || json_get(page, "items");
	const cJSON *member;
	bool any = false;

	cJSON_ArrayForEach (member, page)
		any = any || (cJSON_IsArray(member) && member->child);
	if (newer ? !*cursor : !any)
		return;
	buf_addstr(path, list);
	if (newer) {
		buf_addf(path, "?page_size=%d&cursor=", PAGE);
		rest_encode(path, str_of(cursor));
	} else {
		buf_addf(path, "?limit=%d&offset=%lld", PAGE, (long long)seen);
	}
	buf_adds(path, strchr(first, '&'));
}

struct snapshot_search {
	const char *name;
	/* owned: id of the best one so far, a ready one if possible */
	char *id;
	char status[32]; /* status of that snapshot */
	char message[160];
};

/* Stores the item if it has the name searched for. Returns false, which ends
 * the list, once a ready snapshot is found. */
static bool on_snapshot(void *arg, const cJSON *item)
{
	struct snapshot_search *f = arg;
	const char *id = json_string(item, "id", "");
	const char *status = json_string(item, "status", "");

	if (strcmp(json_string(item, "name", ""), f->name) != 0 ||
	    !vendor_id_ok(id))
		return true;
	/* Prefer a snapshot that is being built to a failed one. */
	if (f->id && strcmp(f->status, "building") == 0 &&
	    strcmp(status, "ready") != 0)
		return true;
	free(f->id);
	f->id = xstrdup(id);
	snprintf(f->status, sizeof(f->status), "%s", status);
	snprintf(f->message, sizeof(f->message), "%s",
		 json_string(item, "status_message", ""));
	return strcmp(status, "ready") != 0;
}

static const struct vendor_pages snapshot_pages = { .items = "snapshots",
						    .next = next_path };

static int find_snapshot(struct vendor_client *c, struct snapshot_search *f,
			 const struct stop *stop, struct error *err)
{
	struct buf filter = BUF_INIT(4096);
	struct buf path = BUF_INIT(8192);
	struct vendor_query q = { .pages = &snapshot_pages,
				  .each = on_snapshot,
				  .arg = f };
	int rc;

	free(f->id);
	f->id = NULL;
	buf_adds(&filter, "name_contains=");
	rest_encode(&filter, str_of(f->name));
	add_list_path(&path, SNAPSHOTS, filter.ptr);
	buf_release(&filter);
	q.path = path.ptr;
	rc = vendor_pages(c, &q, stop, err);
	buf_release(&path);
	if (rc < 0)
		error_wrap(err, "Failed to list snapshots");
	return rc;
}

static void report_progress(const struct sandbox_spec *spec, const char *name,
			    const char *status, int64_t began)
{
	char line[256];

	if (!spec || !spec->progress)
		return;
	snprintf(line, sizeof(line), "snapshot %.100s: %.30s, %lld s", name,
		 status, (long long)(clock_ms() - began) / 1000);
	spec->progress(spec->arg, line);
}

static int fail_not_ready(const char *name, const char *status,
			  const char *message, struct error *err)
{
	return error_set(err, ERR_REMOTE,
			 "Snapshot '%s' exists but is in state '%s'%s%s. Wait "
			 "for it to finish building, or delete it to rebuild",
			 name, status, *message ? ": " : "", message);
}

/* Waits until the snapshot is built. */
static int poll_ready(struct vendor_client *c, const char *id, const char *name,
		      const struct sandbox_spec *spec, const struct stop *stop,
		      struct error *err)
{
	char *path = xasprintf(SNAPSHOTS "/%s", id);
	struct http_request ask = { .method = "GET",
				    .path = path,
				    .what = "waiting for the snapshot",
				    .flags = REST_AGAIN };
	struct stop within = stop_within(stop, BUILD_MS);
	int64_t began = clock_ms();
	int64_t reported = began - PROGRESS_MS;
	int rc = 0;

	while (rc == 0) {
		cJSON *tree = NULL;
		const char *status;

		rc = vendor_api(c, &ask, &tree, &within, err);
		status = json_string(tree, "status", "");
		if (rc == 0 && strcmp(json_string(tree, "id", ""), id) != 0)
			rc = error_set(err, ERR_PROTOCOL,
				       "unexpected server response: another "
				       "snapshot");
		else if (rc == 0 && strcmp(status, "ready") == 0)
			rc = 1;
		else if (rc == 0 && strcmp(status, "building") != 0)
			rc = fail_not_ready(
				name, status,
				json_string(tree, "status_message", ""), err);
		if (rc == 0 && clock_ms() - reported >= PROGRESS_MS) {
			reported = clock_ms();
			report_progress(spec, name, status, began);
		}
		cJSON_Delete(tree);
		if (rc == 0)
			rc = stop_sleep(&within, POLL_MS, err);
	}
	free(path);
	return rc > 0 ? 0 : -1;
}

/* Returns the id of the snapshot in an answer, owned by the caller, or NULL. */
static char *parse_id(const cJSON *answer, struct error *err)
{
	const char *text = json_string(answer, "id", "");

	if (vendor_id_ok(text))
		return xstrdup(text);
	error_set(err, ERR_PROTOCOL, "unexpected server response: no snapshot");
	return NULL;
}

/* Requests a build of the snapshot from the configured image. Sets *id, owned
 * by the caller. */
static int post_build(struct vendor_client *c, const char *name, char **id,
		      const struct stop *stop, struct error *err)
{
	const struct settings *set = c->client->settings;
	struct http_request ask = { .method = "POST",
				    .path = SNAPSHOTS,
				    .what = "building the snapshot",
				    .timeout_ms = POST_MS };
	const char *image = NULL;
	int64_t gib = 0;
	cJSON *tree = NULL;
	cJSON *body;
	int rc;

	if (settings_string(set, "langsmith", "image", &image, err) < 0 ||
	    settings_int(set, "langsmith", "disk", &gib, err) < 0)
		return -1;
	if (gib < 1 || gib > DISK_MAX)
		return error_set(err, ERR_CONFIG, "disk must be from 1 to %d",
				 DISK_MAX);
	body = cJSON_CreateObject();
	cJSON_AddStringToObject(body, "name", name);
	cJSON_AddStringToObject(body, "docker_image", image);
	cJSON_AddNumberToObject(body, "fs_capacity_bytes",
				(double)gib * (1 << 30));
	rc = vendor_post(c, &ask, body, &tree, stop, err);
	*id = rc == 0 ? parse_id(tree, err) : NULL;
	cJSON_Delete(tree);
	cJSON_Delete(body);
	return *id ? 0 : -1;
}

/* Finds the snapshot, or requests a build. If the build is refused, searches
 * again, because another client may be building the same snapshot. */
static int find_or_build(struct vendor_client *c, struct snapshot_search *f,
			 const struct stop *stop, struct error *err)
{
	int64_t pause = BUILD_PAUSE_MS;

	for (int i = 1;; i++, pause *= 2) {
		struct error why = { 0 };
		int rc = find_snapshot(c, f, stop, err);

		if (rc < 0 || f->id)
			return rc;
		rc = post_build(c, f->name, &f->id, stop, &why);
		snprintf(f->status, sizeof(f->status), "building");
		if (rc == 0)
			return 0;
		/* 409: a snapshot of this name is being built already. */
		if ((!retry_is_transient(&why) && why.http_status != 409) ||
		    i == TRIES) {
			*err = why;
			return error_wrap(err, "Failed to build snapshot '%s'",
					  f->name);
		}
		if (retry_sleep(&why, pause, stop, err) < 0)
			return -1;
	}
}

/* Sets *id (owned by the caller) to the snapshot to start from: found by name,
 * or built if it does not exist. */
static int resolve_snapshot(struct vendor_client *c,
			    const struct sandbox_spec *spec, char **id,
			    const struct stop *stop, struct error *err)
{
	struct snapshot_search f = { .name = spec->snapshot };
	const char *known = NULL;
	const struct settings *set = c->client->settings;
	int rc;

	if (settings_string(set, "langsmith", "snapshot_id", &known, err) < 0 ||
	    (!f.name &&
	     settings_string(set, "langsmith", "snapshot", &f.name, err) < 0))
		return -1;
	if (known) {
		*id = xstrdup(known);
		return 0;
	}
	if (!f.name || !*f.name || strlen(f.name) > NAME_MAX_BYTES)
		return error_set(err, ERR_CONFIG, "not a snapshot name");
	rc = find_or_build(c, &f, stop, err);
	if (rc == 0 && strcmp(f.status, "building") == 0) {
		rc = poll_ready(c, f.id, f.name, spec, stop, err);
		if (rc < 0)
			error_wrap(err, "Failed to build snapshot '%s'",
				   f.name);
	} else if (rc == 0 && strcmp(f.status, "ready") != 0) {
		rc = fail_not_ready(f.name, f.status, f.message, err);
	}
	if (rc == 0)
		*id = f.id;
	else
		free(f.id);
	return rc;
}

static int langsmith_find_snapshot(struct sandbox_client *client,
				   const char *name, char **id,
				   const struct stop *stop, struct error *err)
{
	struct snapshot_search f = { .name = name };

	if (find_snapshot(client->priv, &f, stop, err) < 0) {
		free(f.id);
		return -1;
	}
	*id = f.id;
	return f.id != NULL;
}

static int langsmith_remove_snapshot(struct sandbox_client *client,
				     const char *name, const char *id,
				     const struct stop *stop, struct error *err)
{
	(void)name;
	return vendor_delete_snapshot(client, SNAPSHOTS "/", id, stop, err);
}

/* Makes a snapshot while the sandbox continues to run. */
static int langsmith_snapshot(struct sandbox *sb, const char *name,
			      bool replace, const struct stop *stop,
			      struct error *err)
{
	const struct http_request ask = { .path = "/snapshot",
					  .timeout_ms = POST_MS };
	cJSON *tree = NULL;
	char *id = NULL;
	int rc = vendor_post_snapshot(sb, &ask, name, &tree, stop, err);

	/* names are not unique at this vendor: the newest is used */
	(void)replace;
	if (rc == 0)
		id = parse_id(tree, err);
	rc = id ? poll_ready(sb->client->priv, id, name, NULL, stop, err) : -1;
	free(id);
	cJSON_Delete(tree);
	return rc;
}

/* The server accepts a list of allowed hosts, and then blocks all others, or a
 * list of denied ones. Without a list, ports 80 and 443 of all hosts are
 * open. */
static const struct network_limits network_limits = {
	.can = NETWORK_CAN_PORTS | NETWORK_CAN_ADDRESSES |
	       NETWORK_CAN_NETWORKS | NETWORK_CAN_IPV6 |
	       NETWORK_CAN_DENY_NAMES | NETWORK_CAN_DENY_ADDRESSES,
};

/* A rule can have paths, too, but "/a/../b" begins like "/a/". */
static const struct secret_limits secret_limits = {
	.can = SECRET_CAN_HEADER | SECRET_CAN_FORMAT | SECRET_CAN_WILD,
};

static void add_access(cJSON *body, const struct network *n)
{
	static const char *const none[] = { "127.0.0.1/32" };
	unsigned all = HOSTS_NAMES | HOSTS_ADDRESSES;

	if (n->mode == NETWORK_NONE)
		cJSON_AddItemToObject(body_object(body, ACCESS), "allow_list",
				      cJSON_CreateStringArray(none, 1));
	if (n->mode != NETWORK_LIST)
		return;
	if (n->open)
		body_add_hosts(body_object(body, ACCESS), "deny_list", n,
			       all | HOSTS_DENIED);
	else
		body_add_hosts(body_object(body, ACCESS), "allow_list", n, all);
}

/* Without a header, the placeholder is replaced where the client has sent it:
 * in Authorization, as the secret's format says. */
static void add_placeholder(cJSON *rule, const struct secret *s)
{
	struct buf text = BUF_INIT(16 << 10);
	cJSON *list = cJSON_AddArrayToObject(rule, "match_headers");

	buf_adds(&text, "authorization: ");
	secret_print_value(s, str_of(s->placeholder), &text);
	cJSON_AddItemToArray(list, cJSON_CreateString(text.ptr));
	buf_release(&text);
}

static void add_header(cJSON *rule, const struct secret *s)
{
	cJSON *headers = cJSON_GetObjectItemCaseSensitive(rule, "headers");
	cJSON *header = cJSON_CreateObject();

	if (!headers)
		headers = cJSON_AddArrayToObject(rule, "headers");
	cJSON_AddStringToObject(header, "name",
				s->header ? s->header : "Authorization");
	cJSON_AddStringToObject(header, "type", "opaque");
	vault_add_header(header, "value", s, false);
	cJSON_AddItemToArray(headers, header);
}

/* Adds the rule of one host: it sets the headers of all secrets for it. */
static void add_rule(cJSON *rules, const struct network_rule *host,
		     const struct secrets *secrets)
{
	char *text = vault_host_text(host);
	cJSON *rule = cJSON_CreateObject();
	cJSON *hosts;

	cJSON_AddStringToObject(rule, "name", text);
	hosts = cJSON_AddArrayToObject(rule, "match_hosts");
	cJSON_AddItemToArray(hosts, cJSON_CreateString(text));
	for (size_t i = 0; i < secrets->n; i++) {
		const struct secret *s = &secrets->list[i];

		if (!vault_covers(s, host))
			continue;
		if (!s->header)
			add_placeholder(rule, s);
		add_header(rule, s);
	}
	cJSON_AddItemToArray(rules, rule);
	free(text);
}

/* Adds the rules of all hosts that the sandbox may reach. */
static void add_rules(cJSON *body, const struct network *n,
		      const struct secrets *secrets)
{
	cJSON *rules =
		cJSON_AddArrayToObject(body_object(body, PROXY), "rules");
	struct network hosts = vault_hosts(secrets, NULL);
	const struct network_rule *ignored;

	for (size_t i = 0; i < hosts.n; i++)
		if (n->mode != NETWORK_LIST ||
		    network_allows(n, &hosts.rules[i], &ignored))
			add_rule(rules, &hosts.rules[i], secrets);
	network_release(&hosts);
}

/* Adds what the sandbox's proxy lets out, and the rules that put the secrets in
 * (NULL: none). The first rule that matches a request is applied. */
static void add_proxy(cJSON *body, const struct network *n,
		      const struct secrets *secrets)
{
	add_access(body, n);
	if (secrets && secrets->n)
		add_rules(body, n, secrets);
}

static int add_secrets(struct vendor_client *c, const struct sandbox_spec *spec,
		       cJSON *body, const struct stop *stop, struct error *err)
{
	(void)c;
	(void)stop;
	if (vault_check_rules(spec->secrets, NULL, "LangSmith", err) < 0) {
		err->nothing_made = true;
		return -1;
	}
	cJSON_DeleteItemFromObjectCaseSensitive(body, PROXY);
	add_proxy(body, spec->network, spec->secrets);
	vault_add_variables(body_object(body, "env_vars"), spec->secrets);
	return 0;
}

static const struct vendor_vault vault = { .add = add_secrets };

static int get_proxy(struct sandbox *sb, cJSON **info, const struct stop *stop,
		     struct error *err)
{
	int rc = vendor_get(sb->client->priv, sb->id, info, stop, err);

	return rc > 0 ? error_set(err, ERR_GONE, "the sandbox has ended") : rc;
}

static int set_network(struct sandbox *sb, const struct network *n,
		       const struct stop *stop, struct error *err)
{
	cJSON *body = cJSON_CreateObject();
	cJSON *info = NULL;
	int rc = get_proxy(sb, &info, stop, err);

	if (rc == 0 && !sb->secrets.n &&
	    cJSON_GetArraySize(json_get(json_get(info, PROXY), "rules")))
		rc = error_set(
			err, ERR_USAGE,
			"a change would remove its rules: LangSmith does "
			"not return their values, and this dcode did "
			"not create the sandbox");
	cJSON_Delete(info);
	if (rc < 0) {
		cJSON_Delete(body);
		return -1;
	}
	add_proxy(body, n, &sb->secrets);
	return vendor_change_network(
		sb, "PATCH", xasprintf(LANGSMITH_API "/boxes/%s", sb->id), body,
		stop, err);
}

static int get_network(struct sandbox *sb, struct network *n,
		       const struct stop *stop, struct error *err)
{
	cJSON *info = NULL;
	const cJSON *access;
	const cJSON *allow;
	int rc = get_proxy(sb, &info, stop, err);

	access = json_get(json_get(info, PROXY), "access_control");
	allow = json_get(access, "allow_list");
	if (rc == 0)
		rc = body_read_hosts(n, allow, json_get(access, "deny_list"),
				     !allow, err);
	if (rc == 0 && n->n == 1 && !strcmp(n->rules[0].host, "127.0.0.1")) {
		network_release(n);
		n->mode = NETWORK_NONE;
	}
	cJSON_Delete(info);
	return rc;
}

static int add_resources(const struct vendor_client *c, cJSON *body,
			 struct error *err)
{
	int64_t memory = 0;

	if (body_add_settings(c->client, "cpu", body, err) < 0 ||
	    settings_int(c->client->settings, "langsmith", "memory", &memory,
			 err) < 0)
		return -1;
	if (memory < 0 || memory > MEMORY_MAX)
		return error_set(err, ERR_CONFIG, "memory must be from 0 to %d",
				 MEMORY_MAX);
	if (memory)
		cJSON_AddNumberToObject(body, "mem_bytes",
					(double)memory * (1 << 30));
	return 0;
}

/* Rounds up to whole minutes, as the server requires. */
static double whole_minutes(int64_t seconds)
{
	int64_t whole = (seconds + 59) / 60;

	return (double)(whole * 60);
}

/* Sets the lifetime. The server stops the sandbox when it has been idle for
 * that time, and deletes it later. */
static int add_life(const struct vendor_client *c,
		    const struct sandbox_spec *spec, cJSON *body,
		    struct error *err)
{
	int64_t keep = 0;

	if (settings_int(c->client->settings, "langsmith", "keep_stopped",
			 &keep, err) < 0)
		return -1;
	if (keep < 1)
		return error_set(err, ERR_CONFIG,
				 "keep_stopped must be above zero");
	cJSON_AddNumberToObject(body, "idle_ttl_seconds",
				whole_minutes(spec->lifetime_s));
	cJSON_AddNumberToObject(body, "delete_after_stop_seconds",
				whole_minutes(keep));
	return 0;
}

static int describe(struct vendor_client *c, const struct sandbox_spec *spec,
		    cJSON *body, const struct stop *stop, struct error *err)
{
	int64_t seconds = sandbox_start_ms(c->client, READY_MS) / 1000;
	char *snapshot = NULL;

	cJSON_AddBoolToObject(body, "wait_for_ready", true);
	cJSON_AddNumberToObject(body, "timeout", (double)seconds);
	cJSON_AddStringToObject(body, "name", spec->label);
	cJSON_AddObjectToObject(body, "labels");
	if (body_add_settings(c->client, "env", body, err) < 0 ||
	    add_life(c, spec, body, err) < 0 ||
	    add_resources(c, body, err) < 0 ||
	    resolve_snapshot(c, spec, &snapshot, stop, err) < 0)
		return -1;
	add_proxy(body, spec->network, NULL);
	cJSON_AddStringToObject(body, "snapshot_id", snapshot);
	free(snapshot);
	return 0;
}

static int post_create(struct sandbox *sb, const struct sandbox_spec *spec,
		       cJSON *body, cJSON **answer, const struct stop *stop,
		       struct error *err)
{
	struct http_request ask = { .method = "POST",
				    .path = LANGSMITH_API "/boxes",
				    .what = "creating the sandbox",
				    .timeout_ms = sandbox_start_ms(sb->client,
								   READY_MS) +
						  CREATE_SLACK_MS };

	(void)spec;
	return vendor_post(sb->client->priv, &ask, body, answer, stop, err);
}

/* Sets the address of the sandbox's data plane. */
static int set_endpoint(struct sandbox *sb, const cJSON *answer,
			const struct stop *stop, struct error *err)
{
	const struct langsmith *l = sb->client->priv;
	struct rest plane = { .http = sb->client->http };
	int rc = -1;

	(void)stop;
	plane.base = vendor_server_url(
		&l->kit, json_string(answer, "dataplane_url", ""), err);
	if (plane.base)
		rc = rest_header(&plane, "X-Api-Key", l->key, err);
	if (rc == 0)
		vendor_set_server(sb, &plane);
	rest_release(&plane);
	return rc;
}

static int start_sandbox(struct sandbox *sb, const char *id, cJSON **answer,
			 const struct stop *stop, struct error *err)
{
	struct http_request ask = { .method = "POST",
				    .path = "/start",
				    .body = STR("{}"),
				    .what = "starting the sandbox",
				    .flags = REST_AGAIN };

	(void)answer;
	return vendor_ask(sb->client->priv, id, &ask, NULL, stop, err);
}

/* Changes one of the sandbox's time limits, rounded up to whole minutes as the
 * server requires. */
static int set_seconds(struct vendor_client *c, const char *id,
		       const char *member, int64_t seconds,
		       const struct stop *stop, struct error *err)
{
	char *body = xasprintf("{\"%s\":%lld}", member,
			       (long long)(seconds + 59) / 60 * 60);
	struct http_request ask = { .method = "PATCH",
				    .body = str_of(body),
				    .what = "extending the sandbox's life",
				    .flags = REST_AGAIN };
	int rc = vendor_ask(c, id, &ask, NULL, stop, err);

	free(body);
	return rc;
}

static int set_delete_after_stop(struct vendor_client *c, const char *id,
				 int64_t *keep_s, const struct stop *stop,
				 struct error *err)
{
	return set_seconds(c, id, "delete_after_stop_seconds", *keep_s, stop,
			   err);
}

/* Returns 1 if the sandbox runs, 0 if not, -1 on failure. Call before a request
 * to the data plane, which would wake a sandbox that somebody has stopped. */
static int is_ready(struct sandbox *sb, const struct stop *stop,
		    struct error *err)
{
	struct http_request ask = { .method = "GET",
				    .path = "/status",
				    .what = "asking for the sandbox",
				    .flags = REST_AGAIN };
	cJSON *tree = NULL;
	int rc = vendor_ask(sb->client->priv, sb->id, &ask, &tree, stop, err);

	if (rc == 0)
		rc = strcmp(json_string(tree, "status", ""), "ready") == 0;
	cJSON_Delete(tree);
	return rc;
}

/* Restarts the idle time, with a request to the data plane: any such request
 * does. */
static int touch_activity(struct sandbox *sb, const struct stop *stop,
			  struct error *err)
{
	struct http_response res = { 0 };
	struct http_request ask = {
		.method = "POST",
		.path = "/execute",
		.body = STR("{\"command\":\":\",\"timeout\":10,\"shell\":"
			    "\"/bin/sh\"}"),
		.what = "keeping the sandbox alive",
		.flags = REST_AGAIN,
	};
	int rc = rest_call(vendor_server(sb), &ask, &res, stop, err);

	http_response_release(&res);
	return rc;
}

static int extend_life(struct sandbox *sb, int64_t lifetime_s,
		       const struct stop *stop, struct error *err)
{
	int rc;

	if (vendor_lifetime(sb) != lifetime_s) {
		rc = set_seconds(sb->client->priv, sb->id, "idle_ttl_seconds",
				 lifetime_s, stop, err);
	} else {
		rc = is_ready(sb, stop, err);
		if (rc > 0)
			rc = touch_activity(sb, stop, err);
	}
	if (rc == 0)
		vendor_set_lease(sb, lifetime_s);
	return rc;
}

/* True for "dcode-" and 8 characters. */
static bool is_label(const char *name)
{
	return strlen(name) == 14 && strncmp(name, "dcode-", 6) == 0 &&
	       strspn(name + 6, "abcdefghijklmnopqrstuvwxyz234567") == 8;
}

/* Sets the label from the sandbox's name, which is the same. Needed for older
 * servers, which report no labels. */
static void add_label(const cJSON *item, struct sandbox_info *info)
{
	(void)item;
	if (!info->label[0] && is_label(info->id))
		info->label = info->id;
}

/* Builds the path of the list. The filter is a label, "key" or "key=value" (npm
 * langsmith 0.12.0, BoxListParams). Older servers ignore the filter, so
 * vendor_search() compares labels again. */
static void list_path(const struct vendor_client *c, struct buf *path,
		      const char *label, const char *value)
{
	struct buf filter = BUF_INIT(4096);

	(void)c;
	buf_adds(&filter, "label=");
	rest_encode(&filter, str_of(label ? label : "dcode.label"));
	if (label) {
		buf_adds(&filter, "%3D");
		rest_encode(&filter, str_of(value));
	}
	add_list_path(path, LANGSMITH_API "/boxes", filter.ptr);
	buf_release(&filter);
}

/* Per hour: 0.0384 LCU for a vCPU, 0.0123 LCU for a GiB of memory, 0.000123 LSU
 * for a GiB of disk. An LCU costs $1.50, an LSU $1.00
 * (www.langchain.com/pricing, as of 2026-09-28). What the account includes is
 * not subtracted. */
static const struct rates rates = {
	.vcpu = RATES_HOUR(0.0384 * 1.5),
	.gib = RATES_HOUR(0.0123 * 1.5),
	.disk_gib = RATES_HOUR(0.000123),
};

/* Computes the price. Unknown if the setting for the number of CPUs is missing,
 * since the server then chooses the size. */
static int langsmith_price(const struct settings *set, const char *snapshot,
			   struct sandbox_price *price, struct error *err)
{
	struct rates_size size = { 0 };
	int64_t vcpus = 0;
	int64_t gib = 0;

	(void)snapshot;
	if (settings_int(set, "langsmith", "cpu", &vcpus, err) < 0 ||
	    settings_int(set, "langsmith", "memory", &gib, err) < 0 ||
	    settings_int(set, "langsmith", "disk", &size.disk_gib, err) < 0)
		return -1;
	if (vcpus <= 0)
		return 0;
	size.milli_vcpu = vcpus * 1000;
	size.mib = (gib > 0 ? gib : vcpus * MOST_GIB_EACH) * 1024;
	price->usd_s = rates_price(&rates, &size);
	price->at_most = true;
	return 0;
}

static const struct vendor_state states[] = {
	{ "ready", STATE_RUNNING, STEP_READY, false },
	{ "provisioning", STATE_STARTING, STEP_WAIT, false },
	{ "stopped", STATE_STOPPED, STEP_START, false },
	{ "deleting", STATE_GONE, STEP_ENDING, false },
	{ "failed", STATE_STOPPED, STEP_FAIL, false },
	{ 0 },
};

static const struct vendor_pages pages = { .items = "sandboxes",
					   .next = next_path };

static const struct vendor vendor = {
	.noun = "sandbox",
	.auth_hint =
		"Check that LANGSMITH_API_KEY is a key of this account and "
		"region: https://smith.langchain.com (Settings, API Keys)",
	.client_size = sizeof(struct langsmith),
	.box_size = sizeof(struct langsmith_box),
	.path = LANGSMITH_API "/boxes/",
	.fields = { .id = "name",
		    .alias = "id",
		    .labels = "labels",
		    .state = "status",
		    .reason = "status_message",
		    .created = "created_at",
		    .image = { "snapshot_id" } },
	.states = states,
	.pages = &pages,
	.wait_ms = WAIT_MS,
	.unique_names = true,
	.name_is_id = true,
	.describe = describe,
	.vault = &vault,
	.post = post_create,
	.start = start_sandbox,
	.set_endpoint = set_endpoint,
	.stop_path = "/stop",
	.stop_body = "{}",
	.hold = set_delete_after_stop,
	.extend = extend_life,
	.info = add_label,
	.list_path = list_path,
	.may_be_gone = (const int[]){ 400, 404, 409, 502, 503, 0 },
	.files = &langsmith_files,
};

/* Implements port_ops.url (service-url of the SDK langsmith 0.12.0,
 * read 2026-11-26). */
static int langsmith_port_url(struct sandbox *sb, unsigned port,
			      struct port_url *u, const struct stop *stop,
			      struct error *err)
{
	static const struct port_names names = {
		"service_url", "token", "X-Langsmith-Sandbox-Service-Token"
	};
	char *body = xasprintf("{\"port\":%u,\"expires_in_seconds\":%d}", port,
			       PORT_S);
	struct http_request ask = { .method = "POST",
				    .path = xstrdup("/service-url"),
				    .body = str_of(body),
				    .what = "asking for the port's address" };

	u->until = clock_ms() + (PORT_S - PORT_EARLY_S) * 1000LL;
	return vendor_port_url(sb, &ask, &names, u, stop, err);
}

static const struct port_ops port_ops = { .url = langsmith_port_url };

static const struct sandbox_ops ops = {
	VENDOR_OPS,
	.open = langsmith_open,
	.attach = vendor_attach,
	.snapshot = langsmith_snapshot,
	.find_snapshot = langsmith_find_snapshot,
	.ports = &port_ops,
	.remove_snapshot = langsmith_remove_snapshot,
	.execute = langsmith_execute,
	.set_network = set_network,
	.get_network = get_network,
};

const struct sandbox_provider langsmith_provider = {
	.name = "langsmith",
	.summary = "sandboxes of LangSmith",
	.workdir = "/root",
	.flags = SANDBOX_ATTACH | SANDBOX_SNAPSHOT | SANDBOX_LIVE |
		 SANDBOX_NETWORK | SANDBOX_LIST | SANDBOX_PLACED |
		 SANDBOX_PLACED_AGAIN,
	.network = &network_limits,
	.secrets = &secret_limits,
	.max_command = USER_COMMAND_MAX,
	.lifetime_s = LIFETIME_S,
	.settings = settings,
	.url_env = (const char *const[]){ "LANGSMITH_ENDPOINT",
					  "LANGCHAIN_ENDPOINT", NULL },
	.regions =
		(const struct sandbox_region[]){
			{ "us", "https://api.smith.langchain.com" },
			{ "eu", "https://eu.api.smith.langchain.com" },
			{ 0 } },
	.ops = &ops,
	.price = langsmith_price,
	.isolation = ISOLATION_MICROVM, /* docs: "microVM isolation" */
	.isolation_source = "langchain.com/langsmith/sandboxes, 2026-11-23",
};
