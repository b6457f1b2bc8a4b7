/* langsmith.c - sandboxes of LangSmith: the account, and one's life. */
/* SPDX-License-Identifier: MIT */
#include "providers/langsmith/langsmith.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "providers/kit/vendor.h"

enum {
	COMMAND_MAX = 80 << 10, /* one argument, 128 KiB, once encoded */
	LIFETIME_S = 1800,
	WAIT_MS = 180000,
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

	/* A stored key stands for the first name; a variable that is set for
	 * dcode alone takes precedence over it, whichever of them. */
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

static int no_key(struct error *err)
{
	error_set(err, ERR_AUTH,
		  "No LangSmith sandbox API key found. Set LANGSMITH_API_KEY, "
		  "LANGCHAIN_API_KEY, or LANGSMITH_SANDBOX_API_KEY (or the "
		  "DEEPAGENTS_CODE_-prefixed equivalents)");
	return error_hint(err, "Get a key at https://smith.langchain.com "
			       "(Settings, API Keys), then export "
			       "LANGSMITH_API_KEY=lsv2_...");
}

/* Paths below are /api/v2/sandboxes/...; the vendor's SDK takes /api/v1 or /api
 * off the end of an endpoint (npm langsmith 0.12.0, 2026-11-26). */
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
	if (!l->key)
		return no_key(err);
	if (set_address(&l->kit.api, set, err) < 0 ||
	    rest_header(&l->kit.api, "X-Api-Key", l->key, err) < 0)
		return -1;
	client->endpoint = l->kit.api.base;
	return 0;
}

/* The address of its data plane. */
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

static int start(struct sandbox *sb, const char *id, cJSON **answer,
		 const struct stop *stop, struct error *err)
{
	struct rest_ask ask = { .method = "POST",
				.path = "/start",
				.body = STR("{}"),
				.what = "starting the sandbox",
				.flags = REST_AGAIN };

	(void)answer;
	return vendor_ask(sb->client->priv, id, &ask, NULL, stop, err);
}

/* The server takes whole minutes. */
static int set_seconds(struct vendor_client *c, const char *id,
		       const char *member, int64_t seconds,
		       const struct stop *stop, struct error *err)
{
	char *body = xasprintf("{\"%s\":%lld}", member,
			       (long long)(seconds + 59) / 60 * 60);
	struct rest_ask ask = { .method = "PATCH",
				.body = str_of(body),
				.what = "extending the sandbox's life",
				.flags = REST_AGAIN };
	int rc = vendor_ask(c, id, &ask, NULL, stop, err);

	free(body);
	return rc;
}

static int hold(struct vendor_client *c, const char *id, int64_t *keep_s,
		const struct stop *stop, struct error *err)
{
	return set_seconds(c, id, "delete_after_stop_seconds", *keep_s, stop,
			   err);
}

/* 1 when it runs, else 0: a request to the data plane would wake one that
 * somebody has stopped. */
static int is_ready(struct sandbox *sb, const struct stop *stop,
		    struct error *err)
{
	struct rest_ask ask = { .method = "GET",
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

/* Any request to the data plane starts the idle time again. */
static int touch_activity(struct sandbox *sb, const struct stop *stop,
			  struct error *err)
{
	struct http_response res = { 0 };
	struct rest_ask ask = {
		.method = "POST",
		.path = "/execute",
		.body = STR("{\"command\":\":\",\"timeout\":10,\"shell\":"
			    "\"/bin/sh\"}"),
		.what = "keeping the sandbox alive",
		.flags = REST_AGAIN,
	};
	int rc = vendor_send(sb, &ask, &res, stop, err);

	http_response_release(&res);
	return rc;
}

static int extend(struct sandbox *sb, int64_t lifetime_s,
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

/* "dcode-" and 8 characters. */
static bool is_label(const char *name)
{
	return strlen(name) == 14 && strncmp(name, "dcode-", 6) == 0 &&
	       strspn(name + 6, "abcdefghijklmnopqrstuvwxyz234567") == 8;
}

/* An older server reports no labels; the name is one. */
static void add_label(const cJSON *item, struct sandbox_info *info)
{
	(void)item;
	if (!info->label[0] && is_label(info->id))
		info->label = info->id;
}

/* By label, "key" or "key=value" (npm langsmith 0.12.0, BoxListParams). An
 * older server ignores the filter: the kit compares labels again. */
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
	langsmith_list_path(path, LANGSMITH_API "/boxes", filter.ptr);
	buf_release(&filter);
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
					   .next = langsmith_next_path };

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
	.describe = langsmith_describe,
	.post = langsmith_post,
	.start = start,
	.set_endpoint = set_endpoint,
	.stop_path = "/stop",
	.stop_body = "{}",
	.hold = hold,
	.extend = extend,
	.info = add_label,
	.list_path = list_path,
	.may_be_gone = (const int[]){ 400, 404, 409, 502, 503, 0 },
	.files = &langsmith_files,
};

static const struct sandbox_ops ops = {
	.open = langsmith_open,
	.close = vendor_close,
	.create = vendor_create,
	.attach = vendor_attach,
	.list = vendor_list,
	.info = vendor_info,
	.extend = vendor_extend,
	.snapshot = langsmith_snapshot,
	.find_snapshot = langsmith_find_snapshot,
	.execute = langsmith_execute,
	.upload = vendor_upload,
	.download = vendor_download,
	.stop = vendor_stop,
	.remove = vendor_remove,
	.discard = vendor_discard,
};

const struct sandbox_provider langsmith_provider = {
	.name = "langsmith",
	.summary = "sandboxes of LangSmith",
	.workdir = "/root",
	.flags = SANDBOX_ATTACH | SANDBOX_SNAPSHOT | SANDBOX_LIVE |
		 SANDBOX_NETWORK | SANDBOX_LIST | SANDBOX_PLACED |
		 SANDBOX_PLACED_AGAIN,
	.max_command = COMMAND_MAX,
	.lifetime_s = LIFETIME_S,
	.settings = langsmith_settings,
	.url_env = (const char *const[]){ "LANGSMITH_ENDPOINT",
					  "LANGCHAIN_ENDPOINT", NULL },
	.regions =
		(const struct sandbox_region[]){
			{ "us", "https://api.smith.langchain.com" },
			{ "eu", "https://eu.api.smith.langchain.com" },
			{ 0 } },
	.ops = &ops,
	.price = langsmith_price,
	.isolation = ISOLATION_MICROVM, /* "microVM isolation" */
	.isolation_source = "langchain.com/langsmith/sandboxes, 2026-11-23",
};
