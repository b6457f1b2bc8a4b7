/* runloop.c - devboxes of Runloop: the account, and one devbox's life. */
/* SPDX-License-Identifier: MIT */
#include "providers/runloop/runloop.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/ids.h"
#include "base/mem.h"
#include "base/str.h"
#include "net/retry.h"
#include "providers/kit/vendor.h"

enum {
	COMMAND_MAX = 64 << 10,
	LIFETIME_S = 14400,
	WAIT_MS = 600000,
	HOLD_S = 30, /* the longest that the API holds wait_for_status */
	SLACK_MS = 10000,
	PAUSE_MS = 500, /* after a failure */
	FAILURES_MAX = 20,
	SEEN_MAX = 4096,
	PAGE = 500, /* devboxes; the API gives 5000 at most */
};

static int no_key(struct error *err)
{
	error_set(err, ERR_AUTH, "RUNLOOP_API_KEY is not set");
	return error_hint(err, "Get a key at https://platform.runloop.ai "
			       "(Settings, API Keys), then export "
			       "RUNLOOP_API_KEY=ak_...");
}

static const struct vendor vendor;

static int runloop_open(struct sandbox_client *client,
			const struct settings *set, struct error *err)
{
	static const char *const variables[] = { "RUNLOOP_BASE_URL", NULL };
	struct vendor_client *c = vendor_open(client, &vendor);
	const char *key = settings_credential(set, "RUNLOOP_API_KEY",
					      &client->project_key);

	if (!key)
		return no_key(err);
	if (rest_address(&c->api.base, set, variables, "https://api.runloop.ai",
			 err) < 0)
		return -1;
	client->endpoint = c->api.base;
	return vendor_bearer(&c->api, key, err);
}

void runloop_request_id(char header[VENDOR_HEADER])
{
	char id[37];

	ids_uuid7(id);
	snprintf(header, VENDOR_HEADER, "x-request-id: %s", id);
}

/* One long poll; *answer stays NULL when the status is still another. */
static int poll_once(struct sandbox *sb, const char *wanted, cJSON **answer,
		     const struct stop *stop, struct error *err)
{
	int left = stop_poll_ms(stop, HOLD_S * 1000) / 1000;
	int hold = left > 0 ? left : 1;
	char *body = xasprintf("{\"statuses\":[%s],\"timeout_seconds\":%d}",
			       wanted, hold);
	struct rest_ask ask = { .method = "POST",
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

/* 400 too: it is not suspended any more, as the next look will tell. */
static int resume(struct sandbox *sb, const char *id, cJSON **answer,
		  const struct stop *stop, struct error *err)
{
	struct rest_ask ask = { .method = "POST",
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

/* Starts the idle time again; one that somebody made with a fixed lifetime
 * instead cannot be extended. */
static int extend(struct sandbox *sb, int64_t lifetime_s,
		  const struct stop *stop, struct error *err)
{
	struct rest_ask ask = { .method = "POST",
				.path = "/keep_alive",
				.what = "extending the devbox's life",
				.flags = REST_AGAIN };

	(void)lifetime_s;
	return vendor_ask(sb->client->priv, sb->id, &ask, NULL, stop, err);
}

/* With an idle limit nothing says when it will end. */
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
	if (seconds > 0 && seconds <= RUNLOOP_LIFETIME_MAX_S &&
	    info->created > 0)
		info->ends = info->created + seconds;
}

static const struct vendor_pages pages = { .items = "devboxes",
					   .query = "starting_after" };

struct seen {
	bool (*each)(void *arg, const cJSON *item);
	void *arg;
	char *ids[SEEN_MAX]; /* owned: that were told */
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

/* One page of all devboxes: 1 when there are more. */
static int list_first(struct vendor_client *c, struct seen *s,
		      const struct stop *stop, struct error *err)
{
	char *path = xasprintf("/v1/devboxes?include_total_count=false&"
			       "limit=%d",
			       PAGE);
	struct rest_ask ask = { .method = "GET",
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

/* In the order in which a devbox goes through them, so that none slips through
 * between two requests. */
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
		/* The document does not know this one, the SDKs do. */
		if (rc < 0 && i == 0 &&
		    (why.http_status == 400 || why.http_status == 422))
			rc = 0;
		if (rc < 0)
			*err = why;
		free(path);
	}
	return rc;
}

/*
 * There is no filter by metadata, and without one by status the list has every
 * devbox that ever was: most accounts have one page of them, others are asked
 * for the living ones.
 */
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
	.end_path = "/shutdown",
	.header = runloop_request_id,
	.describe = runloop_describe,
	.post = runloop_post,
	.start = resume,
	.poll = poll_status,
	.stop_path = "/suspend",
	.stop_body = "",
	.extend = extend,
	.info = add_end,
	.call = runloop_call,
	.max_command = 120000, /* Linux takes 128 KiB in one argument */
	.max_answer = 1 << 20,
	.may_be_gone = (const int[]){ 400, 404, 409, 0 },
	.files = &runloop_files,
};

static const struct sandbox_ops ops = {
	.open = runloop_open,
	.close = vendor_close,
	.create = vendor_create,
	.attach = vendor_attach,
	.list = vendor_list,
	.info = vendor_info,
	.extend = vendor_extend,
	.execute = vendor_execute,
	.upload = vendor_upload,
	.download = vendor_download,
	.stop = vendor_stop,
	.remove = vendor_remove,
	.discard = vendor_discard,
};

const struct sandbox_provider runloop_provider = {
	.name = "runloop",
	.summary = "devboxes of Runloop",
	.workdir = "/home/user",
	.flags = SANDBOX_ATTACH | SANDBOX_SNAPSHOT | SANDBOX_LIVE |
		 SANDBOX_NETWORK | SANDBOX_LIST | SANDBOX_RENEWS |
		 SANDBOX_PLACED | SANDBOX_PLACED_AGAIN,
	.max_command = COMMAND_MAX,
	.lifetime_s = LIFETIME_S,
	.settings = runloop_settings,
	.url_env = (const char *const[]){ "RUNLOOP_BASE_URL", NULL },
	.ops = &ops,
	.price = runloop_price,
	/* "isolated at both the VM and container level" */
	.isolation = ISOLATION_VM,
	.isolation_source = "README of runloop_api_client 2.0.0, 2026-11-23",
};
