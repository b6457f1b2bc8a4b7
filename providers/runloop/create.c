/* create.c - the parameters of a devbox, and the request with them. */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "providers/kit/body.h"
#include "providers/runloop/runloop.h"

const struct setting runloop_settings[] = {
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
	  .help = "blueprint to boot; overrides a name" },
	{ .key = "blueprint",
	  .example = "\"my-blueprint\"",
	  .type = SETTING_STRING,
	  .env = "RUNLOOP_SANDBOX_BLUEPRINT_NAME",
	  .help = "blueprint's name; built if it does not exist" },
	{ .key = "snapshot_id",
	  .example = "\"snp_0123456789\"",
	  .type = SETTING_STRING,
	  .help = "disk snapshot to boot instead" },
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
	  .help = "commands of a blueprint's build" },
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
	{ .key = "workdir",
	  .type = SETTING_STRING,
	  .fallback = "\"/home/user\"",
	  .help = "working directory inside" },
	{ .key = "env",
	  .example = "[\"LANG=C.UTF-8\"]",
	  .type = SETTING_LIST,
	  .flags = SETTING_PAIRS,
	  .field = "environment_variables",
	  .help = "variables inside: NAME=value" },
	{ .key = "secrets",
	  .example = "[\"API_TOKEN=my-secret\"]",
	  .type = SETTING_LIST,
	  .flags = SETTING_PAIRS,
	  .field = "secrets",
	  .help = "variables from the account's secrets: NAME=secret" },
	{ .key = "labels",
	  .example = "[\"team=web\"]",
	  .type = SETTING_LIST,
	  .help = "metadata of the devbox: NAME=value" },
	{ .key = "network_allow",
	  .example = "[\"*.example.org\"]",
	  .type = SETTING_LIST,
	  .help = "only these host names can be reached (*.example.org)" },
	{ .key = "idle",
	  .unit = "seconds",
	  .example = "1800",
	  .type = SETTING_INT,
	  .help = "seconds without activity until it ends (the lifetime)" },
	{ .key = "on_idle",
	  .type = SETTING_STRING,
	  .fallback = "\"shutdown\"",
	  .help = "what happens then: shutdown or suspend" },
	{ .key = "lifetime",
	  .unit = "seconds",
	  .example = "3600",
	  .type = SETTING_INT,
	  .help = "seconds that a devbox outlives its last command (14400; "
		  "at most 172800)" },
	{ 0 },
};

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

	if (spec->lifetime_s <= 0 || spec->lifetime_s > RUNLOOP_LIFETIME_MAX_S)
		return error_set(err, ERR_CONFIG,
				 "the lifetime must be from 1 to %d seconds",
				 RUNLOOP_LIFETIME_MAX_S);
	cJSON_AddNumberToObject(launch, "keep_alive_time_seconds",
				(double)spec->lifetime_s);
	if (settings_int(set, "runloop", "idle", &idle, err) < 0 ||
	    settings_string(set, "runloop", "on_idle", &on_idle, err) < 0)
		return -1;
	if (idle < 0 || idle > RUNLOOP_LIFETIME_MAX_S ||
	    (strcmp(on_idle, "shutdown") != 0 &&
	     strcmp(on_idle, "suspend") != 0))
		return error_set(err, ERR_CONFIG,
				 "idle must be seconds, and on_idle shutdown "
				 "or suspend");
	/* A lifetime alone could not be extended while it is used. */
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
	struct runloop_rules rules = { .all = spec->network == NETWORK_FULL };
	char *id = NULL;

	if (settings_list(c->client->settings, "runloop", "network_allow",
			  &rules.hosts, &rules.n, err) < 0)
		return -1;
	if (spec->network == NETWORK_DEFAULT && !rules.n)
		return 0;
	if (spec->network != NETWORK_DEFAULT)
		rules.n = 0;
	if (runloop_policy(c, &rules, &id, stop, err) < 0)
		return -1;
	cJSON_AddStringToObject(launch, "network_policy_id", id);
	free(id);
	return 0;
}

/* The blueprint's id first, which needs no look; then the flag's name, then the
 * parameters. */
static int add_source(struct vendor_client *c, const struct sandbox_spec *spec,
		      cJSON *body, const struct stop *stop, struct error *err)
{
	const struct settings *set = c->client->settings;
	const char *name = NULL;
	const char *snapshot = NULL;

	if (settings_string(set, "runloop", "blueprint", &name, err) < 0 ||
	    settings_string(set, "runloop", "snapshot_id", &snapshot, err) <
		    0 ||
	    body_add_settings(c->client, "blueprint_id", body, err) < 0)
		return -1;
	if (spec->snapshot)
		name = spec->snapshot;
	if (json_get(body, "blueprint_id"))
		return 0;
	if (snapshot && !spec->snapshot) {
		cJSON_AddStringToObject(body, "snapshot_id", snapshot);
		return 0;
	}
	if (!name)
		return 0;
	cJSON_AddStringToObject(body, "blueprint_name", name);
	return runloop_blueprint(c, name, spec, stop, err);
}

int runloop_describe(struct vendor_client *c, const struct sandbox_spec *spec,
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

/* The request's id is the same in every try for this label. */
int runloop_post(struct sandbox *sb, const struct sandbox_spec *spec,
		 cJSON *body, cJSON **answer, const struct stop *stop,
		 struct error *err)
{
	char header[VENDOR_HEADER];
	const char *const headers[] = { header, NULL };
	struct rest_ask ask = { .method = "POST",
				.path = "/v1/devboxes",
				.what = "creating the devbox",
				.headers = headers };
	int rc;

	snprintf(header, sizeof(header), "x-request-id: %s", spec->label);
	rc = vendor_post(sb->client->priv, &ask, body, answer, stop, err);
	/* The SDKs repeat it after this one, too. */
	if (rc < 0 && err->http_status == 409)
		err->code = ERR_NETWORK;
	return rc;
}
