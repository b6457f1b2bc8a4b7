/* runloop.c - devboxes of Runloop. */
/* SPDX-License-Identifier: MIT */
/*
 * One server creates devboxes, runs commands in them and transfers files.
 * Sources of the protocol: the vendor's OpenAPI document (2026-05) and what its
 * JavaScript SDK 1.32.0 and Python SDK 1.23.3 were seen to send (2026-11).
 * dcode does not rely on what the document leaves open (error bodies, the
 * answer to a second shutdown): it requests the devbox's status instead.
 *
 * The tables at the end contain the special cases of Runloop; providers/kit
 * does the rest, also the retries, except that of poll_status(). Begin with
 * describe() and run_script().
 */
#include "providers/runloop/runloop.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/ids.h"
#include "base/mem.h"
#include "base/str.h"
#include "net/events.h"
#include "net/retry.h"
#include "providers/kit/files.h"
#include "providers/kit/lease.h"
#include "providers/kit/rest.h"
#include "providers/kit/vault.h"

enum {
	COMMAND_MAX = 64 << 10,
	LIFETIME_S = 14400,
	LIFETIME_MAX_S = 172800, /* maximum of keep_alive_time_seconds */
	WAIT_MS = 600000,
	HOLD_S = 30, /* longest time that the API holds wait_for_status */
	SLACK_MS = 10000,
	PAUSE_MS = 500, /* pause after a failure */
	FAILURES_MAX = 20,
	SEEN_MAX = 4096,
	PAGE = 500, /* devboxes on a page; the API allows 5000 */
	/* Constants for commands: */
	BODY_MAX = 1 << 20,
	/* lines of output in an answer; without this, the API limits it to
	 * 100 */
	LAST_LINES = 50000,
	HOLD_MAX_S = 25, /* longest time that the API holds a request */
	SPARE_S = 2,     /* added to a script's wait, for the shell to start */
	COMMAND_SLACK_MS = 8000,
	STREAM_MS = 60000, /* to read all output, TRIES times */
	TRIES = 4,
	CUSTOM_DISK = 16, /* default in GiB for a custom size */
};

static const struct setting settings[] = {
	{ .key = "api_key",
	  .type = SETTING_STRING,
	  .flags = SETTING_SECRET | SETTING_REQUIRED | SETTING_ENV_ONLY,
	  .env = "RUNLOOP_API_KEY",
	  .help = "key from https://platform.runloop.ai" },
	{ .key = "blueprint_id",
	  .example = "\"bpt_0123456789\"",
	  .type = SETTING_STRING,
	  .field = "blueprint_id",
	  .env = "RUNLOOP_SANDBOX_BLUEPRINT_ID",
	  .help = "id of the blueprint to boot; takes precedence over "
		  "blueprint" },
	{ .key = "blueprint",
	  .example = "\"my-blueprint\"",
	  .type = SETTING_STRING,
	  .env = "RUNLOOP_SANDBOX_BLUEPRINT_NAME",
	  .help = "name of the blueprint to boot, built if it does not exist" },
	{ .key = "snapshot_id",
	  .example = "\"snp_0123456789\"",
	  .type = SETTING_STRING,
	  .help = "disk snapshot to boot instead of a blueprint" },
	{ .key = "dockerfile",
	  .type = SETTING_STRING,
	  .field = "dockerfile",
	  .fallback = "\"FROM python:3\\n\"",
	  .help = "text of the Dockerfile to build a blueprint from" },
	{ .key = "base_blueprint",
	  .example = "\"runloop/starter\"",
	  .type = SETTING_STRING,
	  .field = "base_blueprint_name",
	  .help = "blueprint to build on, instead of a Dockerfile" },
	{ .key = "setup_commands",
	  .example = "[\"apt-get install -y ripgrep\"]",
	  .type = SETTING_LIST,
	  .field = "system_setup_commands",
	  .help = "commands that build a blueprint" },
	{ .key = "launch_commands",
	  .example = "[\"service postgresql start\"]",
	  .type = SETTING_LIST,
	  .field = "launch_parameters.launch_commands",
	  .help = "commands to run after a devbox has booted" },
	{ .key = "size",
	  .example = "\"SMALL\"",
	  .type = SETTING_STRING,
	  .field = "launch_parameters.resource_size_request",
	  .help = "X_SMALL, SMALL, MEDIUM, LARGE, X_LARGE or XX_LARGE" },
	{ .key = "cpu",
	  .unit = "CPUs",
	  .example = "2",
	  .type = SETTING_INT,
	  .field = "launch_parameters.custom_cpu_cores",
	  .least = 1,
	  .help = "cores: 1, 2, 4 to 16" },
	{ .key = "memory",
	  .unit = "GiB",
	  .example = "4",
	  .type = SETTING_INT,
	  .field = "launch_parameters.custom_gb_memory",
	  .least = 1,
	  .help = "GiB of memory: 1, 2, 4 to 64" },
	{ .key = "disk",
	  .unit = "GiB",
	  .example = "16",
	  .type = SETTING_INT,
	  .field = "launch_parameters.custom_disk_size",
	  .least = 1,
	  .help = "GiB of disk: 2 to 64" },
	{ .key = "architecture",
	  .example = "\"arm64\"",
	  .type = SETTING_STRING,
	  .field = "launch_parameters.architecture",
	  .help = "x86_64 or arm64" },
	WORKDIR_ROW("/home/user"),
	ENV_ROW("environment_variables"),
	{ .key = "secrets",
	  .example = "[\"API_TOKEN=my-secret\"]",
	  .type = SETTING_LIST,
	  .flags = SETTING_PAIRS,
	  .field = "secrets",
	  .help = "variables from the account's secrets: NAME=secret" },
	LABELS_ROW("metadata of the devbox: NAME=value"),
	NETWORK_ROW,
	{ .key = "idle",
	  .unit = "seconds",
	  .example = "1800",
	  .type = SETTING_INT,
	  .help = "seconds without activity until it ends (default: the "
		  "lifetime)" },
	{ .key = "on_idle",
	  .type = SETTING_STRING,
	  .fallback = "\"shutdown\"",
	  .help = "what to do after idle seconds: shutdown or suspend" },
	LIFETIME_ROW("3600", "seconds from the last command to the end of the "
			     "devbox (default 14400, at most 172800)"),
	{ 0 },
};

static const struct vendor vendor;

static int runloop_open(struct sandbox_client *client,
			const struct settings *set, struct error *err)
{
	static const char *const variables[] = { "RUNLOOP_BASE_URL", NULL };
	struct vendor_client *c = vendor_open(client, &vendor);
	const char *key = settings_credential(set, "RUNLOOP_API_KEY",
					      &client->project_key);

	if (!key) {
		error_set(err, ERR_AUTH, "RUNLOOP_API_KEY is not set");
		return error_hint(err, "Get a key at "
				       "https://platform.runloop.ai (Settings, "
				       "API Keys), then export "
				       "RUNLOOP_API_KEY=ak_...");
	}
	if (rest_address(&c->api.base, set, variables, "https://api.runloop.ai",
			 err) < 0)
		return -1;
	client->endpoint = c->api.base;
	return vendor_bearer(&c->api, key, err);
}

/* Writes "x-request-id: UUID". The UUID is the same for all tries of one
 * request. */
static void add_request_id(char header[VENDOR_HEADER])
{
	char id[37];

	ids_uuid7(id);
	snprintf(header, VENDOR_HEADER, "x-request-id: %s", id);
}

static int add_size(const struct sandbox_client *client, cJSON *body,
		    struct error *err)
{
	cJSON *launch = body_object(body, "launch_parameters");
	bool custom;

	if (body_add_settings(client, "size cpu memory disk architecture", body,
			      err) < 0)
		return -1;
	custom = json_get(launch, "custom_cpu_cores") ||
		 json_get(launch, "custom_gb_memory") ||
		 json_get(launch, "custom_disk_size");
	if (!custom)
		return 0;
	if (json_get(launch, "resource_size_request"))
		return error_set(
			err, ERR_CONFIG,
			"size cannot be combined with cpu, memory or disk");
	if (!json_get(launch, "custom_cpu_cores") ||
	    !json_get(launch, "custom_gb_memory"))
		return error_set(err, ERR_CONFIG,
				 "cpu and memory must be set together");
	cJSON_AddStringToObject(launch, "resource_size_request", "CUSTOM_SIZE");
	return 0;
}

static int add_life(const struct settings *set, const struct sandbox_spec *spec,
		    cJSON *launch, struct error *err)
{
	const char *on_idle = NULL;
	int64_t idle = 0;
	cJSON *after;

	if (spec->lifetime_s <= 0 || spec->lifetime_s > LIFETIME_MAX_S)
		return error_set(err, ERR_CONFIG,
				 "the lifetime must be from 1 to %d seconds",
				 LIFETIME_MAX_S);
	cJSON_AddNumberToObject(launch, "keep_alive_time_seconds",
				(double)spec->lifetime_s);
	if (settings_int(set, "runloop", "idle", &idle, err) < 0 ||
	    settings_string(set, "runloop", "on_idle", &on_idle, err) < 0)
		return -1;
	if (idle < 0 || idle > LIFETIME_MAX_S ||
	    (strcmp(on_idle, "shutdown") != 0 &&
	     strcmp(on_idle, "suspend") != 0))
		return error_set(err, ERR_CONFIG,
				 "idle must be a number of seconds, and "
				 "on_idle must be shutdown or suspend");
	/* Without an idle limit the devbox's life could not be extended. */
	if (!idle)
		idle = spec->lifetime_s;
	after = body_object(launch, "lifecycle.after_idle");
	cJSON_AddNumberToObject(after, "idle_time_seconds", (double)idle);
	cJSON_AddStringToObject(after, "on_idle", on_idle);
	return 0;
}

static int add_network(struct vendor_client *c, const struct sandbox_spec *spec,
		       cJSON *launch, const struct stop *stop,
		       struct error *err)
{
	char *id = NULL;

	if (spec->network->mode == NETWORK_DEFAULT)
		return 0;
	if (runloop_policy(c, spec, &id, stop, err) < 0)
		return -1;
	cJSON_AddStringToObject(launch, "network_policy_id", id);
	free(id);
	return 0;
}

/* Adds what the devbox starts from: the disk snapshot with the name that dcode
 * or the command line gives, else the blueprint whose id is known, else a
 * blueprint of that name, else what the settings say. */
static int add_source(struct vendor_client *c, const struct sandbox_spec *spec,
		      cJSON *body, const struct stop *stop, struct error *err)
{
	const struct settings *set = c->client->settings;
	const char *name = NULL;
	const char *snapshot = NULL;

	if (settings_string(set, "runloop", "blueprint", &name, err) < 0 ||
	    settings_string(set, "runloop", "snapshot_id", &snapshot, err) < 0)
		return -1;
	if (spec->snapshot) {
		char *id = NULL;
		int rc;

		name = spec->snapshot;
		rc = runloop_find_snapshot(c->client, name, &id, stop, err);
		if (rc > 0)
			cJSON_AddStringToObject(body, "snapshot_id", id);
		free(id);
		if (rc)
			return rc < 0 ? -1 : 0;
	}
	if (body_add_settings(c->client, "blueprint_id", body, err) < 0)
		return -1;
	if (json_get(body, "blueprint_id"))
		return 0;
	if (!spec->snapshot && snapshot) {
		cJSON_AddStringToObject(body, "snapshot_id", snapshot);
		return 0;
	}
	if (!name)
		return 0;
	cJSON_AddStringToObject(body, "blueprint_name", name);
	return runloop_blueprint(c, name, spec, stop, err);
}

static int describe(struct vendor_client *c, const struct sandbox_spec *spec,
		    cJSON *body, const struct stop *stop, struct error *err)
{
	cJSON *launch;

	cJSON_AddObjectToObject(body, "metadata");
	launch = cJSON_AddObjectToObject(body, "launch_parameters");
	cJSON_AddStringToObject(body, "name", spec->label);
	if (body_add_settings(c->client, "env secrets", body, err) < 0 ||
	    add_life(c->client->settings, spec, launch, err) < 0 ||
	    add_size(c->client, body, err) < 0 ||
	    body_add_settings(c->client, "launch_commands", body, err) < 0 ||
	    add_network(c, spec, launch, stop, err) < 0)
		return -1;
	return add_source(c, spec, body, stop, err);
}

/* Sends a request about a policy: a GET, or with a body a POST. path: "ID", or
 * "ID/delete" */
static int ask_policy(struct vendor_client *c, const char *path,
		      const cJSON *body, cJSON **tree, const struct stop *stop,
		      struct error *err)
{
	char *whole = xasprintf("/v1/network-policies/%s", path);
	const struct http_request ask = { .method = body ? "POST" : "GET",
					  .path = whole,
					  .what = "asking for the network "
						  "policy",
					  .flags = REST_AGAIN |
						   REST_MISSING_OK };
	int rc = body ? vendor_post(c, &ask, body, tree, stop, err)
		      : vendor_api(c, &ask, tree, stop, err);

	free(whole);
	return rc;
}

static void delete_policy(struct vendor_client *c, const char *id,
			  const struct stop *stop)
{
	struct error ignored = { 0 };
	cJSON *body = cJSON_CreateObject();
	char *path = xasprintf("%s/delete", id);

	(void)ask_policy(c, path, body, NULL, stop, &ignored);
	free(path);
	cJSON_Delete(body);
}

/* Sets *policy to the network policy of the devbox that info describes, or NULL
 * if it has none. *own: it belongs to this devbox alone. */
static int read_policy(struct vendor_client *c, const cJSON *info,
		       cJSON **policy, bool *own, const struct stop *stop,
		       struct error *err)
{
	const char *label =
		json_string(json_get(info, "metadata"), "dcode.label", "");
	const char *id = json_string(json_get(info, "launch_parameters"),
				     "network_policy_id", "");
	int rc = 0;

	*policy = NULL;
	if (vendor_id_ok(id))
		rc = ask_policy(c, id, NULL, policy, stop, err);
	if (rc > 0)
		rc = error_set(err, ERR_PROTOCOL,
			       "unexpected server response: no network policy");
	*own = *policy && *label &&
	       !strcmp(json_string(*policy, "name", ""), label) &&
	       vendor_id_ok(json_string(*policy, "id", ""));
	return rc;
}

/* Asks for the devbox, then like read_policy(). */
static int find_policy(struct vendor_client *c, const char *devbox,
		       cJSON **policy, bool *own, const struct stop *stop,
		       struct error *err)
{
	cJSON *info = NULL;
	int rc = vendor_get(c, devbox, &info, stop, err);

	*policy = NULL;
	*own = false;
	if (rc > 0)
		rc = error_set(err, ERR_GONE, "the devbox has ended");
	if (rc == 0)
		rc = read_policy(c, info, policy, own, stop, err);
	cJSON_Delete(info);
	return rc;
}

static int get_network(struct sandbox *sb, struct network *n,
		       const struct stop *stop, struct error *err)
{
	cJSON *policy;
	const cJSON *egress;
	bool own;
	int rc =
		find_policy(sb->client->priv, sb->id, &policy, &own, stop, err);

	egress = json_get(policy, "egress");
	if (rc == 0)
		rc = body_read_hosts(
			n, json_get(egress, "allowed_hostnames"), NULL,
			!policy || json_bool(egress, "allow_all", false), err);
	cJSON_Delete(policy);
	return rc;
}

static int set_network(struct sandbox *sb, const struct network *n,
		       const struct stop *stop, struct error *err)
{
	struct vendor_client *c = sb->client->priv;
	cJSON *body = cJSON_CreateObject();
	cJSON *policy;
	bool own;
	int rc = find_policy(c, sb->id, &policy, &own, stop, err);

	if (rc == 0 && !own)
		rc = error_set(err, ERR_USAGE,
			       "other devboxes may use the network policy of "
			       "this one");
	body_add_hosts(body, "allowed_hostnames", n, HOSTS_NAMES);
	if (rc == 0)
		rc = ask_policy(c, json_string(policy, "id", ""), body, NULL,
				stop, err);
	if (rc > 0)
		rc = error_set(err, ERR_GONE, "the network policy was deleted");
	cJSON_Delete(policy);
	cJSON_Delete(body);
	return rc;
}

/* Also deletes the devbox's own network policy, which the answer names. If that
 * fails, an unused policy is left, which restricts nothing and costs nothing.
 */
static int end_devbox(struct vendor_client *c, const char *id, cJSON **answer,
		      const struct stop *stop, struct error *err)
{
	const struct http_request ask = { .method = "POST",
					  .path = "/shutdown",
					  .what = "deleting the sandbox",
					  .flags = REST_MISSING_OK };
	struct error ignored = { 0 };
	cJSON *policy = NULL;
	bool own = false;
	int rc = vendor_ask(c, id, &ask, answer, stop, err);

	if (rc == 0)
		(void)read_policy(c, *answer, &policy, &own, stop, &ignored);
	else if (rc < 0 && err->http_status == 400) /* it has ended before */
		(void)find_policy(c, id, &policy, &own, stop, &ignored);
	if (own)
		delete_policy(c, json_string(policy, "id", ""), stop);
	cJSON_Delete(policy);
	return rc;
}

/* Sends the create request. Its x-request-id is the same for every try with
 * this label. */
static int post_create(struct sandbox *sb, const struct sandbox_spec *spec,
		       cJSON *body, cJSON **answer, const struct stop *stop,
		       struct error *err)
{
	char header[VENDOR_HEADER];
	const char *const headers[] = { header, NULL };
	struct http_request ask = { .method = "POST",
				    .path = "/v1/devboxes",
				    .what = "creating the devbox",
				    .headers = headers };
	int rc;

	snprintf(header, sizeof(header), "x-request-id: %s", spec->label);
	rc = vendor_post(sb->client->priv, &ask, body, answer, stop, err);
	/* The SDKs also retry after 409. */
	if (rc < 0 && err->http_status == 409)
		err->code = ERR_NETWORK;
	return rc;
}

/* Waits once for one of the wanted statuses. *answer stays NULL if the devbox
 * has none of them yet. */
static int poll_once(struct sandbox *sb, const char *wanted, cJSON **answer,
		     const struct stop *stop, struct error *err)
{
	int left = stop_poll_ms(stop, HOLD_S * 1000) / 1000;
	int hold = left > 0 ? left : 1;
	char *body = xasprintf("{\"statuses\":[%s],\"timeout_seconds\":%d}",
			       wanted, hold);
	struct http_request ask = { .method = "POST",
				    .path = "/wait_for_status",
				    .body = str_of(body),
				    .what = "waiting for the devbox",
				    .timeout_ms = hold * 1000 + SLACK_MS };
	struct error why = { 0 };
	int rc = vendor_ask(sb->client->priv, sb->id, &ask, answer, stop, &why);

	if (rc < 0 && why.http_status == 408)
		rc = 0;
	if (rc < 0)
		*err = why;
	free(body);
	return rc;
}

/* Waits until the devbox leaves the temporary status state. Retries after
 * transient errors. */
static int poll_status(struct sandbox *sb, const char *state, cJSON **answer,
		       const struct stop *stop, struct error *err)
{
	const char *wanted = strcmp(state, "suspending") == 0
				     ? "\"suspended\",\"failure\",\"shutdown\""
				     : "\"running\",\"failure\",\"shutdown\"";
	int failures = 0;

	while (!*answer) {
		struct error why = { 0 };
		int rc = poll_once(sb, wanted, answer, stop, &why);

		if (stop_check(stop, err) < 0)
			return -1;
		if (rc < 0 &&
		    (!retry_is_transient(&why) || ++failures > FAILURES_MAX)) {
			*err = why;
			return -1;
		}
		if (rc < 0 && retry_sleep(&why, PAUSE_MS, stop, err) < 0)
			return -1;
	}
	return 0;
}

/* Resumes a devbox. Status 400 means that it is not suspended any more: the
 * next poll shows its state. */
static int resume_devbox(struct sandbox *sb, const char *id, cJSON **answer,
			 const struct stop *stop, struct error *err)
{
	struct http_request ask = { .method = "POST",
				    .path = "/resume",
				    .what = "resuming the devbox",
				    .flags = REST_AGAIN };
	int rc = vendor_ask(sb->client->priv, id, &ask, NULL, stop, err);

	if (rc == 0)
		return vendor_get(sb->client->priv, id, answer, stop, err);
	if (err->http_status == 400)
		err->http_status = 409;
	return -1;
}

/* Extends the life by restarting the idle time. A devbox that another program
 * made with a fixed lifetime cannot be extended. */
static int extend_life(struct sandbox *sb, int64_t lifetime_s,
		       const struct stop *stop, struct error *err)
{
	struct http_request ask = { .method = "POST",
				    .path = "/keep_alive",
				    .what = "extending the devbox's life",
				    .flags = REST_AGAIN };

	(void)lifetime_s;
	return vendor_ask(sb->client->priv, sb->id, &ask, NULL, stop, err);
}

/* Sets when the devbox ends. That is only known for devboxes without an idle
 * limit. */
static void add_end(const cJSON *item, struct sandbox_info *info)
{
	const cJSON *launch = json_get(item, "launch_parameters");
	int64_t seconds = json_int(launch, "keep_alive_time_seconds", 0);

	if (info->state != STATE_RUNNING && info->state != STATE_STARTING)
		return;
	if (cJSON_IsObject(
		    json_get(json_get(launch, "lifecycle"), "after_idle")) ||
	    cJSON_IsObject(json_get(launch, "after_idle")))
		return;
	if (seconds > 0 && seconds <= LIFETIME_MAX_S && info->created > 0)
		info->ends = info->created + seconds;
}

static const struct vendor_pages pages = { .items = "devboxes",
					   .query = "starting_after" };

struct seen {
	bool (*each)(void *arg, const cJSON *item);
	void *arg;
	char *ids[SEEN_MAX]; /* owned: devboxes already reported */
	size_t n;
};

static bool on_item(void *arg, const cJSON *item)
{
	struct seen *s = arg;
	const char *id = json_string(item, "id", "");

	for (size_t i = 0; i < s->n; i++)
		if (strcmp(s->ids[i], id) == 0)
			return true;
	if (s->n < SEEN_MAX)
		s->ids[s->n++] = xstrdup(id);
	return s->each(s->arg, item);
}

/* Lists the first page of all devboxes. Returns 1 if there are more. */
static int list_first(struct vendor_client *c, struct seen *s,
		      const struct stop *stop, struct error *err)
{
	char *path = xasprintf("/v1/devboxes?include_total_count=false&"
			       "limit=%d",
			       PAGE);
	struct http_request ask = { .method = "GET",
				    .path = path,
				    .what = "reading a list",
				    .flags = REST_AGAIN };
	const cJSON *list;
	const cJSON *item;
	cJSON *page = NULL;
	int rc = vendor_api(c, &ask, &page, stop, err);

	list = json_get(page, "devboxes");
	if (rc == 0 && !cJSON_IsArray(list))
		rc = error_set(err, ERR_PROTOCOL,
			       "unexpected server response: no list");
	else if (rc == 0)
		rc = json_bool(page, "has_more", false) && list->child;
	if (rc >= 0)
		cJSON_ArrayForEach (item, list)
			on_item(s, item);
	cJSON_Delete(page);
	free(path);
	return rc;
}

/* Lists devboxes by status. The statuses are in the order in which a devbox
 * passes through them, so that no devbox is missed because it changed its
 * status between two requests. */
static int list_living(struct vendor_client *c, struct seen *s,
		       const struct stop *stop, struct error *err)
{
	static const char *const living[] = {
		"queued",    "provisioning", "initializing", "suspending",
		"suspended", "resuming",     "running",
	};
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < sizeof(living) / sizeof(*living);
	     i++) {
		char *path = xasprintf("/v1/devboxes?status=%s&"
				       "include_total_count=false&limit=%d",
				       living[i], PAGE);
		const struct vendor_query q = { &pages, path, on_item, s };
		struct error why = { 0 };

		rc = vendor_pages(c, &q, stop, &why);
		/* The vendor's API document does not contain this status, but
		 * the SDKs do. */
		if (rc < 0 && i == 0 &&
		    (why.http_status == 400 || why.http_status == 422))
			rc = 0;
		if (rc < 0)
			*err = why;
		free(path);
	}
	return rc;
}

/* Lists all devboxes. The API cannot filter by metadata, and its unfiltered
 * list contains all devboxes that ever existed. For most accounts that is one
 * page. If there are more pages, the devboxes that still exist are listed by
 * status instead. */
static int list_items(struct vendor_client *c,
		      bool (*each)(void *arg, const cJSON *item), void *arg,
		      const struct stop *stop, struct error *err)
{
	struct seen *s = xcalloc(1, sizeof(*s));
	int rc;

	s->each = each;
	s->arg = arg;
	rc = list_first(c, s, stop, err);
	if (rc > 0)
		rc = list_living(c, s, stop, err);
	for (size_t i = 0; i < s->n; i++)
		free(s->ids[i]);
	free(s);
	return rc;
}

static void add_body(struct buf *body, const char *command_id,
		     struct str command, int hold_s)
{
	buf_addc(body, '{');
	json_member(body, "command_id", str_of(command_id));
	buf_addc(body, ',');
	json_member(body, "command", command);
	buf_addf(body, ",\"optimistic_timeout\":%d}", hold_s);
}

/* Waits for an execution whose first answer said that it was still running. */
static int await_execution(struct sandbox *sb, const char *execution,
			   cJSON **tree, const struct stop *stop,
			   struct error *err)
{
	char *path = xasprintf("/v1/devboxes/%s/executions/%s/wait_for_status"
			       "?last_n=%d",
			       sb->id, execution, LAST_LINES);
	int left = stop_poll_ms(stop, HOLD_MAX_S * 1000) / 1000;
	char *body = xasprintf("{\"statuses\":[\"completed\"],"
			       "\"timeout_seconds\":%d}",
			       left > 0 ? left : 1);
	struct http_request ask = { .method = "POST",
				    .path = path,
				    .body = str_of(body),
				    .what = "waiting for the command",
				    .timeout_ms = HOLD_MAX_S * 1000 +
						  COMMAND_SLACK_MS };
	int rc = vendor_api(sb->client->priv, &ask, tree, stop, err);

	free(body);
	free(path);
	return rc;
}

static bool is_completed(const cJSON *tree)
{
	return strcmp(json_string(tree, "status", ""), "completed") == 0;
}

/* Waits until the execution in *tree has completed; *tree becomes its last
 * answer. */
static int until_completed(struct sandbox *sb, cJSON **tree,
			   const struct stop *stop, struct error *err)
{
	char execution[VENDOR_ID_MAX + 1] = "";
	int rc = 0;

	while (rc == 0 && !is_completed(*tree)) {
		struct error why = { 0 };
		const char *id = json_string(*tree, "execution_id", NULL);

		if (stop_check(stop, err) < 0)
			return -1;
		/* An answer may be empty: use the id of the answer before
		 * it. */
		if (*tree ? !id || !vendor_id_ok(id) : !execution[0])
			return error_set(err, ERR_PROTOCOL,
					 "unexpected server response: no "
					 "execution");
		if (id)
			snprintf(execution, sizeof(execution), "%s", id);
		cJSON_Delete(*tree);
		*tree = NULL;
		rc = await_execution(sb, execution, tree, stop, &why);
		if (rc < 0 && why.http_status == 408)
			rc = 0;
		else if (rc < 0)
			*err = why;
		else if (!*tree)
			rc = error_set(err, ERR_PROTOCOL,
				       "unexpected server response: (empty)");
	}
	return rc;
}

/* Reads the complete standard output of an ended execution from its event
 * stream. All other answers contain only the last lines of it. */
struct stream {
	struct sse sse;
	struct buf *out;
	size_t start; /* offset in out where this stream's output begins */
};

/* Handles an event {"offset":N,"output":"..."}. Skips output that was already
 * received. */
static int on_event(void *arg, struct str event, struct str data,
		    struct error *err)
{
	struct stream *s = arg;
	cJSON *tree = json_parse(data);
	struct str text = str_of(json_string(tree, "output", ""));
	int64_t have = (int64_t)(s->out->len - s->start);
	int64_t at = json_int(tree, "offset", have);
	int rc = 0;

	if (str_is(event, "error")) {
		/* 408: the stream was silent for too long. */
		rc = error_set(err,
			       json_int(tree, "code", 0) == 408 ? ERR_NETWORK
								: ERR_REMOTE,
			       "%.200s",
			       json_string(tree, "message", "(no message)"));
	} else if (!tree || at < 0 || at > have) {
		rc = error_set(err, ERR_PROTOCOL,
			       "unexpected server response: a part of the "
			       "output is missing");
	} else if (at + (int64_t)text.len > have) {
		buf_addstr(s->out, str_skip(text, (size_t)(have - at)));
		rc = buf_check(s->out, "the answer", err);
	}
	cJSON_Delete(tree);
	return rc;
}

static int on_data(void *arg, struct str chunk, struct error *err)
{
	struct stream *s = arg;

	return sse_feed(&s->sse, chunk, on_event, s, err);
}

static int read_once(struct sandbox *sb, const char *execution,
		     struct stream *s, const struct stop *stop,
		     struct error *err)
{
	static const char *const headers[] = { "Accept: text/event-stream",
					       NULL };
	char *path = xasprintf("/v1/devboxes/%s/executions/%s/"
			       "stream_stdout_updates?offset=%zu",
			       sb->id, execution, s->out->len - s->start);
	struct http_request ask = { .method = "GET",
				    .path = path,
				    .what = "reading the output",
				    .timeout_ms = STREAM_MS,
				    .data = on_data,
				    .arg = s,
				    .headers = headers };
	int rc;

	sse_init(&s->sse);
	rc = vendor_api(sb->client->priv, &ask, NULL, stop, err);
	sse_release(&s->sse);
	free(path);
	return rc;
}

static int read_output(struct sandbox *sb, const char *execution,
		       struct buf *out, const struct stop *stop,
		       struct error *err)
{
	struct stream s = { .out = out, .start = out->len };

	for (int i = 1;; i++) {
		struct error why = { 0 };

		if (read_once(sb, execution, &s, stop, &why) == 0)
			return 0;
		if (why.code != ERR_NETWORK || i == TRIES) {
			*err = why;
			return -1;
		}
		if (stop_check(stop, err) < 0)
			return -1;
	}
}

static int parse_output(struct sandbox *sb, const cJSON *tree, struct buf *out,
			const struct stop *stop, struct error *err)
{
	const char *execution = json_string(tree, "execution_id", "");

	if (strcmp(json_string(tree, "devbox_id", sb->id), sb->id) != 0)
		return error_set(err, ERR_PROTOCOL,
				 "unexpected server response: belongs to "
				 "another devbox");
	if (json_bool(tree, "stdout_truncated", false)) {
		if (!vendor_id_ok(execution))
			return error_set(err, ERR_PROTOCOL,
					 "unexpected server response: no "
					 "execution");
		return read_output(sb, execution, out, stop, err);
	}
	buf_adds(out, json_string(tree, "stdout", ""));
	return buf_check(out, "the answer", err);
}

/* Implements supervisor.call by one execution, which returns its output at the
 * end. */
static int run_script(void *arg, struct str command, int64_t wait_ms,
		      struct buf *out, const struct stop *stop,
		      struct error *err)
{
	struct sandbox *sb = arg;
	int64_t hold = (wait_ms + 999) / 1000 + SPARE_S;
	int hold_s = hold < HOLD_MAX_S ? (int)hold : HOLD_MAX_S;
	char request[VENDOR_HEADER];
	const char *const headers[] = { request, NULL };
	struct buf body = BUF_INIT(BODY_MAX);
	char *path = xasprintf("/v1/devboxes/%s/execute?last_n=%d", sb->id,
			       LAST_LINES);
	struct http_request ask = { .method = "POST",
				    .path = path,
				    .what = "running the command",
				    .timeout_ms =
					    hold_s * 1000 + COMMAND_SLACK_MS,
				    .headers = headers };
	cJSON *tree = NULL;
	int rc;

	add_request_id(request);
	add_body(&body, request + strlen("x-request-id: "), command, hold_s);
	ask.body = buf_str(&body);
	rc = buf_check(&body, "the command", err);
	if (rc == 0)
		rc = vendor_api(sb->client->priv, &ask, &tree, stop, err);
	if (rc == 0)
		rc = until_completed(sb, &tree, stop, err);
	if (rc == 0)
		rc = parse_output(sb, tree, out, stop, err);
	else
		rc = vendor_exec_failed(sb, err->http_status, false, stop, err);
	cJSON_Delete(tree);
	buf_release(&body);
	free(path);
	return rc;
}

static int send_with_id(struct sandbox *sb, const struct http_request *ask,
			struct http_response *res, const struct stop *stop,
			struct error *err)
{
	char header[VENDOR_HEADER];
	const char *const headers[] = { header,
					ask->data ? "Accept: application/"
						    "octet-stream"
						  : NULL,
					NULL };
	struct http_request own = *ask;

	add_request_id(header);
	own.headers = headers;
	return rest_call(vendor_server(sb), &own, res, stop, err);
}

static void fill_get(struct sandbox *sb, const char *file,
		     struct file_request *req)
{
	buf_addf(&req->path, "/v1/devboxes/%s/download_file", sb->id);
	buf_addc(&req->body, '{');
	json_member(&req->body, "path", str_of(file));
	buf_addc(&req->body, '}');
}

static void fill_put(struct sandbox *sb, const char *file,
		     struct file_request *req)
{
	(void)file;
	buf_addf(&req->path, "/v1/devboxes/%s/upload_file", sb->id);
	req->path_field = "path";
	req->file_field = "file";
	req->file_name = "upload";
}

/* Decides by the status only: error answers about files are not documented. */
static enum file_retry classify_failure(const struct http_response *res)
{
	if (res->status == 401)
		return FILE_RETRY_FATAL;
	if (res->status == 408 || res->status == 429 || res->status >= 500)
		return FILE_RETRY;
	return FILE_RETRY_UNSURE;
}

static const struct http_files files = {
	.call = send_with_id,
	.get = fill_get,
	.put = fill_put,
	.classify = classify_failure,
};

/* A devbox is billed by its size, used or not (www.runloop.ai/pricing, as of
 * 2026-09-28). */
static const struct rates rates = {
	.vcpu = RATES_HOUR(0.108),
	.gib = RATES_HOUR(0.0252),
	.disk_gib = RATES_HOUR(0.00034236),
};

/* Sizes from docs.runloop.ai/docs/devboxes/configuration/sizes, as of
 * 2026-09-28. */
static const struct {
	const char *name;
	struct rates_size size;
} sizes[] = {
	{ "X_SMALL", { 500, 1 << 10, 4 } },
	{ "SMALL", { 1000, 2 << 10, 4 } },
	{ "MEDIUM", { 2000, 4 << 10, 8 } },
	{ "LARGE", { 2000, 8 << 10, 16 } },
	{ "X_LARGE", { 4000, 16 << 10, 16 } },
	{ "XX_LARGE", { 8000, 32 << 10, 16 } },
};

/* Sets *own if the devbox starts from a blueprint or snapshot: that may define
 * its own size. */
static int check_boot_image(const struct settings *set, bool *own,
			    struct error *err)
{
	static const char *const keys[] = { "blueprint_id", "blueprint",
					    "snapshot_id" };

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		const char *value = NULL;

		if (settings_string(set, "runloop", keys[i], &value, err) < 0)
			return -1;
		*own |= value && *value;
	}
	return 0;
}

static int runloop_price(const struct settings *set, const char *snapshot,
			 struct sandbox_price *price, struct error *err)
{
	struct rates_size custom = { .disk_gib = CUSTOM_DISK };
	const char *name = NULL;
	bool own = snapshot != NULL;
	int64_t cores = 0;
	int64_t gib = 0;

	if (check_boot_image(set, &own, err) < 0 ||
	    settings_string(set, "runloop", "size", &name, err) < 0 ||
	    settings_int(set, "runloop", "cpu", &cores, err) < 0 ||
	    settings_int(set, "runloop", "memory", &gib, err) < 0 ||
	    settings_int(set, "runloop", "disk", &custom.disk_gib, err) < 0)
		return -1;
	if (cores > 0 && gib > 0) {
		custom.milli_vcpu = cores * 1000;
		custom.mib = gib * 1024;
		price->usd_s = rates_price(&rates, &custom);
		return 0;
	}
	if (!name && !own)
		name = "SMALL"; /* the vendor's default */
	for (size_t i = 0; name && i < sizeof(sizes) / sizeof(sizes[0]); i++)
		if (strcmp(name, sizes[i].name) == 0)
			price->usd_s = rates_price(&rates, &sizes[i].size);
	return 0;
}

static const struct vendor_state states[] = {
	{ "queued", STATE_STARTING, STEP_WAIT, false },
	{ "scheduled", STATE_STARTING, STEP_WAIT, false },
	{ "provisioning", STATE_STARTING, STEP_WAIT, false },
	{ "initializing", STATE_STARTING, STEP_WAIT, false },
	{ "resuming", STATE_STARTING, STEP_WAIT, false },
	{ "running", STATE_RUNNING, STEP_READY, false },
	{ "suspending", STATE_STOPPED, STEP_WAIT, false },
	{ "suspended", STATE_STOPPED, STEP_START, false },
	{ "failure", STATE_GONE, STEP_ENDED, false },
	{ "shutdown", STATE_GONE, STEP_ENDED, false },
	{ 0 },
};

static const struct vendor vendor = {
	.noun = "devbox",
	.auth_hint = "Check that RUNLOOP_API_KEY is a key of this account: "
		     "https://platform.runloop.ai (Settings, API Keys)",
	.client_size = sizeof(struct vendor_client),
	.box_size = sizeof(struct vendor_box),
	.path = "/v1/devboxes/",
	.fields = { .id = "id",
		    .labels = "metadata",
		    .state = "status",
		    .created = "create_time_ms",
		    .image = { "blueprint_id", "snapshot_id" } },
	.states = states,
	.items = list_items,
	.wait_ms = WAIT_MS,
	.awaits_end = true,
	.end = end_devbox,
	.header = add_request_id,
	.describe = describe,
	.vault = &runloop_vault,
	.post = post_create,
	.start = resume_devbox,
	.poll = poll_status,
	.stop_path = "/suspend",
	.stop_body = "",
	.extend = extend_life,
	.info = add_end,
	.call = run_script,
	.max_command = 120000, /* Linux allows 128 KiB in one argument */
	.max_answer = 1 << 20,
	.may_be_gone = (const int[]){ 400, 404, 409, 0 },
	.files = &files,
};

static const struct sandbox_ops ops = {
	VENDOR_OPS,
	.open = runloop_open,
	.attach = vendor_attach,
	.execute = vendor_execute,
	.snapshot = runloop_snapshot,
	.find_snapshot = runloop_find_snapshot,
	.remove_snapshot = runloop_remove_snapshot,
	.set_network = set_network,
	.get_network = get_network,
	.ports = &runloop_ports,
	.clean = vault_clean,
};

/* A network policy contains names, without ports. */
static const struct network_limits network_limits = { .can = 0 };

const struct sandbox_provider runloop_provider = {
	.name = "runloop",
	.summary = "devboxes of Runloop",
	.workdir = "/home/user",
	.flags = SANDBOX_ATTACH | SANDBOX_SNAPSHOT | SANDBOX_LIVE |
		 SANDBOX_NETWORK | SANDBOX_LIST | SANDBOX_RENEWS |
		 SANDBOX_PLACED | SANDBOX_PLACED_AGAIN,
	.network = &network_limits,
	.secrets = &runloop_secrets,
	.max_command = COMMAND_MAX,
	.lifetime_s = LIFETIME_S,
	.settings = settings,
	.url_env = (const char *const[]){ "RUNLOOP_BASE_URL", NULL },
	.ops = &ops,
	.price = runloop_price,
	/* The source says: "isolated at both the VM and container level" */
	.isolation = ISOLATION_VM,
	.isolation_source = "README of runloop_api_client 2.0.0, 2026-11-23",
};
