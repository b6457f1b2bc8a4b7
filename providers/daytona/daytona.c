/* daytona.c - sandboxes of Daytona: the account, and one sandbox's life. */
/* SPDX-License-Identifier: MIT */
#include "providers/daytona/daytona.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "providers/kit/vendor.h"

enum {
	COMMAND_MAX = 512 << 10,
	LIFETIME_S = 1800,
	WAIT_MS = 180000,
	START_MS = 90000, /* the server holds a start for 30 s */
	TOUCH_MS = 10000,
};

/* From 0.167.0 on the server tells standard output and error output apart and
 * answers in JSON. */
static const char version[] = "0.190.0";

static int no_key(struct error *err)
{
	error_set(err, ERR_AUTH, "DAYTONA_API_KEY is not set");
	return error_hint(err, "Get a key at https://app.daytona.io/dashboard/"
			       "keys, then export DAYTONA_API_KEY=dtn_...");
}

static int no_organization(struct error *err)
{
	error_set(err, ERR_AUTH,
		  "DAYTONA_JWT_TOKEN is set, but DAYTONA_ORGANIZATION_ID is "
		  "not");
	return error_hint(err,
			  "Set DAYTONA_ORGANIZATION_ID to the id that "
			  "https://app.daytona.io/dashboard shows in Settings, "
			  "or use a DAYTONA_API_KEY.");
}

/* What both servers are told. */
static int add_headers(struct rest *r, const struct settings *set,
		       const char **project, struct error *err)
{
	const char *key = settings_credential(set, "DAYTONA_API_KEY", project);
	const char *jwt =
		key ? NULL
		    : settings_credential(set, "DAYTONA_JWT_TOKEN", project);
	const char *org = settings_env(set, "DAYTONA_ORGANIZATION_ID");

	if (!key && !jwt)
		return no_key(err);
	if (!key && !org)
		return no_organization(err);
	if (vendor_bearer(r, key ? key : jwt, err) < 0 ||
	    (!key &&
	     rest_header(r, "X-Daytona-Organization-ID", org, err) < 0) ||
	    rest_header(r, "X-Daytona-Source", "dcode", err) < 0)
		return -1;
	return rest_header(r, "X-Daytona-SDK-Version", version, err);
}

static const struct vendor vendor;

static int daytona_open(struct sandbox_client *client,
			const struct settings *set, struct error *err)
{
	static const char *const variables[] = { "DAYTONA_API_URL",
						 "DAYTONA_SERVER_URL", NULL };
	struct vendor_client *c = vendor_open(client, &vendor);

	if (add_headers(&c->api, set, &client->project_key, err) < 0 ||
	    rest_header(&c->api, "Accept", "application/json", err) < 0 ||
	    rest_address(&c->api.base, set, variables,
			 "https://app.daytona.io/api", err) < 0)
		return -1;
	client->endpoint = c->api.base;
	return 0;
}

/* Servers before toolboxProxyUrl have a path of its own for it. Owned, or
 * NULL. */
static char *ask_url(struct sandbox *sb, const struct stop *stop,
		     struct error *err)
{
	struct rest_ask ask = { .method = "GET",
				.path = "/toolbox-proxy-url",
				.what = "asking for the toolbox's address",
				.flags = REST_AGAIN };
	cJSON *tree = NULL;
	char *url = NULL;

	if (vendor_ask(sb->client->priv, sb->id, &ask, &tree, stop, err) == 0)
		url = xstrdup(json_string(tree, "url", ""));
	cJSON_Delete(tree);
	return url;
}

/* The toolbox's address may differ from region to region. */
static int set_endpoint(struct sandbox *sb, const cJSON *answer,
			const struct stop *stop, struct error *err)
{
	const char *named = json_string(answer, "toolboxProxyUrl", "");
	char *url = *named ? xstrdup(named) : ask_url(sb, stop, err);
	char *base = url ? vendor_server_url(sb->client->priv, url, err) : NULL;
	struct rest toolbox = { .http = sb->client->http };
	int rc = -1;

	if (base) {
		toolbox.base = xasprintf("%s/%s", base, sb->id);
		rc = add_headers(&toolbox, sb->client->settings, NULL, err);
	}
	if (rc == 0) {
		vendor_set_server(sb, &toolbox);
		vendor_set_lease(sb,
				 json_int(answer, "autoStopInterval", 0) * 60);
	}
	rest_release(&toolbox);
	free(base);
	free(url);
	return rc;
}

static int start(struct sandbox *sb, const char *id, cJSON **answer,
		 const struct stop *stop, struct error *err)
{
	struct rest_ask ask = { .method = "POST",
				.path = "/start",
				.what = "starting the sandbox",
				.timeout_ms =
					sandbox_start_ms(sb->client, START_MS),
				.flags = REST_AGAIN };

	return vendor_ask(sb->client->priv, id, &ask, answer, stop, err);
}

static int touch(struct sandbox *sb, const struct stop *stop, struct error *err)
{
	struct rest_ask ask = { .method = "POST",
				.path = "/last-activity",
				.what = "keeping the sandbox alive" };

	return vendor_ask(sb->client->priv, sb->id, &ask, NULL, stop, err);
}

/* The server counts minutes since the last activity. */
static int extend(struct sandbox *sb, int64_t lifetime_s,
		  const struct stop *stop, struct error *err)
{
	long long minutes = (lifetime_s + 59) / 60;
	char *path = xasprintf("/autostop/%lld", minutes);
	struct rest_ask ask = { .method = "POST",
				.path = path,
				.what = "extending the sandbox's life",
				.flags = REST_AGAIN };
	struct stop within = stop_within(stop, TOUCH_MS);
	struct error ignored = { 0 };
	int rc = 0;

	if (vendor_lifetime(sb) != minutes * 60)
		rc = vendor_ask(sb->client->priv, sb->id, &ask, NULL, stop,
				err);
	free(path);
	if (rc < 0)
		return -1;
	vendor_set_lease(sb, minutes * 60);
	(void)touch(sb, &within, &ignored);
	return 0;
}

/* Minutes from stop to deletion; with 0, the default of create, there are
 * none. */
static int hold(struct vendor_client *c, const char *id, int64_t *keep_s,
		const struct stop *stop, struct error *err)
{
	char *path =
		xasprintf("/autodelete/%lld", (long long)(*keep_s + 59) / 60);
	struct rest_ask ask = { .method = "POST",
				.path = path,
				.what = "putting off the sandbox's deletion",
				.flags = REST_AGAIN };
	int rc = vendor_ask(c, id, &ask, NULL, stop, err);

	free(path);
	return rc;
}

static void add_end(const cJSON *item, struct sandbox_info *info)
{
	int64_t minutes = json_int(item, "autoStopInterval", 0);
	int64_t active = json_time(item, "lastActivityAt");

	if (active && minutes > 0 && info->state == STATE_RUNNING)
		info->ends = active + minutes * 60;
}

/* The filter is JSON in the query. */
static void list_path(const struct vendor_client *c, struct buf *path,
		      const char *label, const char *value)
{
	struct buf labels = BUF_INIT(4096);

	(void)c;
	buf_adds(path, "/sandbox?limit=100");
	if (!label)
		return;
	buf_addc(&labels, '{');
	json_member(&labels, label, str_of(value));
	buf_addc(&labels, '}');
	buf_adds(path, "&labels=");
	rest_encode(path, buf_str(&labels));
	buf_release(&labels);
}

static const struct vendor_state states[] = {
	{ "started", STATE_RUNNING, STEP_READY, false },
	{ "stopped", STATE_STOPPED, STEP_START, false },
	{ "archived", STATE_STOPPED, STEP_START, false },
	{ "paused", STATE_STOPPED, STEP_START, false },
	{ "stopping", STATE_STOPPED, STEP_WAIT, false },
	{ "pausing", STATE_STOPPED, STEP_WAIT, false },
	{ "archiving", STATE_STOPPED, STEP_WAIT, true },
	{ "creating", STATE_STARTING, STEP_WAIT, false },
	{ "starting", STATE_STARTING, STEP_WAIT, false },
	{ "resuming", STATE_STARTING, STEP_WAIT, false },
	{ "restoring", STATE_STARTING, STEP_WAIT, true },
	{ "pending_build", STATE_STARTING, STEP_WAIT, true },
	{ "building_snapshot", STATE_STARTING, STEP_WAIT, true },
	{ "pulling_snapshot", STATE_STARTING, STEP_WAIT, true },
	{ "error", STATE_UNKNOWN, STEP_FAIL, false },
	{ "build_failed", STATE_UNKNOWN, STEP_FAIL, false },
	{ "destroying", STATE_GONE, STEP_ENDING, false },
	{ "destroyed", STATE_GONE, STEP_ENDED, false },
	{ 0 },
};

/* Servers of old answer with a plain array of all. */
static const struct vendor_pages pages = { .items = "items",
					   .member = "nextCursor",
					   .query = "cursor" };

static const struct vendor vendor = {
	.noun = "sandbox",
	.auth_hint = "Check that DAYTONA_API_KEY belongs to this account and "
		     "may do this: https://app.daytona.io/dashboard/keys",
	.client_size = sizeof(struct vendor_client),
	.box_size = sizeof(struct vendor_box),
	.path = "/sandbox/",
	.fields = { .id = "id",
		    .alias = "name",
		    .labels = "labels",
		    .state = "state",
		    .reason = "errorReason",
		    .created = "createdAt",
		    .image = { "snapshot" } },
	.states = states,
	.pages = &pages,
	.wait_ms = WAIT_MS,
	.unique_names = true,
	.awaits_end = true,
	.describe = daytona_describe,
	.post = daytona_post,
	.start = start,
	.set_endpoint = set_endpoint,
	.stop_path = "/stop",
	.stop_body = "",
	.hold = hold,
	.extend = extend,
	.touch = touch,
	.info = add_end,
	.list_path = list_path,
	.call = daytona_call,
	.max_command = 1 << 20,
	.max_answer = 4 << 20,
	.may_be_gone = (const int[]){ 400, 401, 404, 502, 503, 504, 0 },
	.files = &daytona_files,
};

static const struct sandbox_ops ops = {
	.open = daytona_open,
	.close = vendor_close,
	.create = vendor_create,
	.attach = vendor_attach,
	.list = vendor_list,
	.info = vendor_info,
	.extend = vendor_extend,
	.snapshot = daytona_snapshot,
	.find_snapshot = daytona_find_snapshot,
	.execute = vendor_execute,
	.upload = vendor_upload,
	.download = vendor_download,
	.stop = vendor_stop,
	.remove = vendor_remove,
	.discard = vendor_discard,
};

const struct sandbox_provider daytona_provider = {
	.name = "daytona",
	.summary = "sandboxes of Daytona",
	.workdir = "/home/daytona",
	.flags = SANDBOX_ATTACH | SANDBOX_SNAPSHOT | SANDBOX_LIVE |
		 SANDBOX_NETWORK | SANDBOX_LIST | SANDBOX_PLACED |
		 SANDBOX_PLACED_AGAIN,
	.max_command = COMMAND_MAX,
	.lifetime_s = LIFETIME_S,
	.settings = daytona_settings,
	.url_env = (const char *const[]){ "DAYTONA_API_URL",
					  "DAYTONA_SERVER_URL", NULL },
	.ops = &ops,
	.price = daytona_price,
	/* Sandboxes of the default class are containers with namespaces of
	 * their own. */
	.isolation = ISOLATION_CONTAINER,
	.isolation_source = "daytona.io/docs/en/isolation, 2026-11-23",
};
