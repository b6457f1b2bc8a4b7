/* create.c - the parameters of a sandbox, and the request with them. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "providers/kit/body.h"
#include "providers/langsmith/langsmith.h"

enum {
	READY_MS = 180000, /* for which the server waits */
	SLACK_MS = 30000,
	MEMORY_MAX = 1 << 20, /* GiB */
};

#define ACCESS "proxy_config.access_control"

const struct setting langsmith_settings[] = {
	{ .key = "api_key",
	  .type = SETTING_STRING,
	  .flags = SETTING_SECRET | SETTING_ENV_ONLY,
	  .env = "LANGSMITH_SANDBOX_API_KEY",
	  .help = "key from https://smith.langchain.com; the first of this, "
		  "LANGSMITH_API_KEY and LANGCHAIN_API_KEY that is set" },
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
	  .help = "snapshot to start from, by id: none is looked up or built" },
	{ .key = "snapshot",
	  .type = SETTING_STRING,
	  .env = "LANGSMITH_SANDBOX_SNAPSHOT_NAME",
	  .fallback = "\"deepagents-code\"",
	  .help = "snapshot to start from, built if it does not exist" },
	{ .key = "image",
	  .type = SETTING_STRING,
	  .fallback = "\"python:3\"",
	  .help = "image to build it from" },
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
	{ .key = "workdir",
	  .type = SETTING_STRING,
	  .fallback = "\"/root\"",
	  .help = "working directory inside" },
	{ .key = "env",
	  .example = "[\"LANG=C.UTF-8\"]",
	  .type = SETTING_LIST,
	  .flags = SETTING_PAIRS,
	  .field = "env_vars",
	  .help = "variables inside: NAME=value" },
	{ .key = "labels",
	  .example = "[\"team=web\"]",
	  .type = SETTING_LIST,
	  .help = "labels of the sandbox: NAME=value" },
	{ .key = "network_allow",
	  .example = "[\"api.example.com\"]",
	  .type = SETTING_LIST,
	  .field = ACCESS ".allow_list",
	  .help = "only these domains or networks can be reached" },
	{ .key = "network_deny",
	  .example = "[\"10.0.0.0/8\"]",
	  .type = SETTING_LIST,
	  .field = ACCESS ".deny_list",
	  .help = "domains or networks that cannot be reached" },
	{ .key = "lifetime",
	  .unit = "seconds",
	  .example = "3600",
	  .type = SETTING_INT,
	  .help = "seconds that a sandbox outlives its last command (1800)" },
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

/* The server takes one of the two lists. Where one allows something, nothing
 * else is reached. */
static int add_network(const struct vendor_client *c,
		       const struct sandbox_spec *spec, cJSON *body,
		       struct error *err)
{
	static const char *const none[] = { "127.0.0.1/32" };
	const cJSON *access;

	if (spec->network == NETWORK_NONE)
		cJSON_AddItemToObject(body_object(body, ACCESS), "allow_list",
				      cJSON_CreateStringArray(none, 1));
	if (spec->network != NETWORK_DEFAULT)
		return 0;
	if (body_add_settings(c->client, "network_allow network_deny", body,
			      err) < 0)
		return -1;
	access = json_get(json_get(body, "proxy_config"), "access_control");
	if (json_get(access, "allow_list") && json_get(access, "deny_list"))
		return error_set(
			err, ERR_CONFIG,
			"network_allow and network_deny cannot be combined");
	return 0;
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

/* Whole minutes, as the server wants them. */
static double minutes(int64_t seconds)
{
	int64_t whole = (seconds + 59) / 60;

	return (double)(whole * 60);
}

/* It stops when it was idle for its lifetime, and is deleted after that. */
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
				minutes(spec->lifetime_s));
	cJSON_AddNumberToObject(body, "delete_after_stop_seconds",
				minutes(keep));
	return 0;
}

int langsmith_describe(struct vendor_client *c, const struct sandbox_spec *spec,
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
	    add_network(c, spec, body, err) < 0 ||
	    langsmith_resolve_snapshot(c, spec, &snapshot, stop, err) < 0)
		return -1;
	cJSON_AddStringToObject(body, "snapshot_id", snapshot);
	free(snapshot);
	return 0;
}

int langsmith_post(struct sandbox *sb, const struct sandbox_spec *spec,
		   cJSON *body, cJSON **answer, const struct stop *stop,
		   struct error *err)
{
	struct rest_ask ask = {
		.method = "POST",
		.path = LANGSMITH_API "/boxes",
		.what = "creating the sandbox",
		.timeout_ms = sandbox_start_ms(sb->client, READY_MS) + SLACK_MS
	};

	(void)spec;
	return vendor_post(sb->client->priv, &ask, body, answer, stop, err);
}
