/* body.c - the parameters, as the description of a devbox. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "providers/kit/env_list.h"
#include "providers/runloop/runloop.h"

const struct setting runloop_settings[] = {
	{ .key = "api_key",
	  .type = SETTING_STRING,
	  .flags = SETTING_SECRET | SETTING_REQUIRED | SETTING_ENV_ONLY,
	  .env = "RUNLOOP_API_KEY",
	  .help = "key of https://platform.runloop.ai" },
	{ .key = "blueprint_id",
	  .type = SETTING_STRING,
	  .env = "RUNLOOP_SANDBOX_BLUEPRINT_ID",
	  .help = "blueprint to boot, before any name" },
	{ .key = "blueprint",
	  .type = SETTING_STRING,
	  .env = "RUNLOOP_SANDBOX_BLUEPRINT_NAME",
	  .help = "blueprint's name; built when there is none" },
	{ .key = "snapshot_id",
	  .type = SETTING_STRING,
	  .help = "disk snapshot to boot instead" },
	{ .key = "dockerfile",
	  .type = SETTING_STRING,
	  .fallback = "\"FROM python:3\\n\"",
	  .help = "text of the Dockerfile to build a blueprint from" },
	{ .key = "base_blueprint",
	  .type = SETTING_STRING,
	  .help = "blueprint to build upon, instead of a Dockerfile" },
	{ .key = "setup_commands",
	  .type = SETTING_LIST,
	  .help = "commands of a blueprint's build" },
	{ .key = "launch_commands",
	  .type = SETTING_LIST,
	  .help = "commands to run when a devbox has booted" },
	{ .key = "size",
	  .type = SETTING_STRING,
	  .help = "X_SMALL, SMALL, MEDIUM, LARGE, X_LARGE or XX_LARGE" },
	{ .key = "cpu", .type = SETTING_INT, .help = "cores: 1, 2, 4 to 16" },
	{ .key = "memory",
	  .type = SETTING_INT,
	  .help = "GiB of memory: 1, 2, 4 to 64" },
	{ .key = "disk", .type = SETTING_INT, .help = "GiB of disk: 2 to 64" },
	{ .key = "architecture",
	  .type = SETTING_STRING,
	  .help = "x86_64 or arm64" },
	{ .key = "workdir",
	  .type = SETTING_STRING,
	  .fallback = "\"/home/user\"",
	  .help = "working directory inside" },
	{ .key = "env",
	  .type = SETTING_LIST,
	  .help = "variables inside: NAME=value" },
	{ .key = "secrets",
	  .type = SETTING_LIST,
	  .help = "variables from the account's secrets: NAME=secret" },
	{ .key = "labels",
	  .type = SETTING_LIST,
	  .help = "metadata of the devbox: NAME=value" },
	{ .key = "network_allow",
	  .type = SETTING_LIST,
	  .help = "host names that alone may be reached (*.example.org)" },
	{ .key = "idle",
	  .type = SETTING_INT,
	  .help = "seconds without activity after which it ends (the "
		  "lifetime)" },
	{ .key = "on_idle",
	  .type = SETTING_STRING,
	  .fallback = "\"shutdown\"",
	  .help = "what happens then: shutdown or suspend" },
	{ .key = "lifetime",
	  .type = SETTING_INT,
	  .help = "seconds that a devbox outlives its last command (14400; "
		  "at most 172800)" },
	{ 0 },
};

static int add_word(const struct runloop *r, const char *key, const char *name,
		    cJSON *object, struct error *err)
{
	const char *value = NULL;

	if (settings_string(r->settings, "runloop", key, &value, err) < 0)
		return -1;
	if (value)
		cJSON_AddStringToObject(object, name, value);
	return 0;
}

/* 0 when the setting is not there. */
static int add_number(const struct runloop *r, const char *key,
		      const char *name, cJSON *object, struct error *err)
{
	int64_t value = 0;

	if (settings_int(r->settings, "runloop", key, &value, err) < 0)
		return -1;
	if (value < 0 || value > 1 << 20)
		return error_set(err, ERR_CONFIG, "%s is out of range", key);
	if (value)
		cJSON_AddNumberToObject(object, name, (double)value);
	return 0;
}

static int add_size(const struct runloop *r, cJSON *launch, struct error *err)
{
	if (add_word(r, "size", "resource_size_request", launch, err) < 0 ||
	    add_number(r, "cpu", "custom_cpu_cores", launch, err) < 0 ||
	    add_number(r, "memory", "custom_gb_memory", launch, err) < 0 ||
	    add_number(r, "disk", "custom_disk_size", launch, err) < 0 ||
	    add_word(r, "architecture", "architecture", launch, err) < 0)
		return -1;
	if (!json_get(launch, "custom_cpu_cores") &&
	    !json_get(launch, "custom_gb_memory") &&
	    !json_get(launch, "custom_disk_size"))
		return 0;
	if (json_get(launch, "resource_size_request"))
		return error_set(err, ERR_CONFIG,
				 "size goes without cpu, memory and disk");
	if (!json_get(launch, "custom_cpu_cores") ||
	    !json_get(launch, "custom_gb_memory"))
		return error_set(err, ERR_CONFIG, "cpu and memory go together");
	cJSON_AddStringToObject(launch, "resource_size_request", "CUSTOM_SIZE");
	return 0;
}

static int add_life(const struct runloop *r, const struct sandbox_spec *spec,
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
	if (settings_int(r->settings, "runloop", "idle", &idle, err) < 0 ||
	    settings_string(r->settings, "runloop", "on_idle", &on_idle, err) <
		    0)
		return -1;
	if (idle < 0 || idle > RUNLOOP_LIFETIME_MAX_S ||
	    (strcmp(on_idle, "shutdown") != 0 &&
	     strcmp(on_idle, "suspend") != 0))
		return error_set(err, ERR_CONFIG,
				 "idle is in seconds, on_idle is shutdown or "
				 "suspend");
	/* A lifetime alone could not be extended while it is used. */
	if (!idle)
		idle = spec->lifetime_s;
	after = cJSON_AddObjectToObject(
		cJSON_AddObjectToObject(launch, "lifecycle"), "after_idle");
	cJSON_AddNumberToObject(after, "idle_time_seconds", (double)idle);
	cJSON_AddStringToObject(after, "on_idle", on_idle);
	return 0;
}

static int add_network(struct runloop *r, const struct sandbox_spec *spec,
		       cJSON *launch, const struct stop *stop,
		       struct error *err)
{
	struct runloop_rules rules = { .all = spec->network == NETWORK_FULL };
	char *id = NULL;

	if (settings_list(r->settings, "runloop", "network_allow", &rules.hosts,
			  &rules.n, err) < 0)
		return -1;
	if (spec->network == NETWORK_DEFAULT && !rules.n)
		return 0;
	if (spec->network != NETWORK_DEFAULT)
		rules.n = 0;
	if (runloop_policy(r, &rules, &id, stop, err) < 0)
		return -1;
	cJSON_AddStringToObject(launch, "network_policy_id", id);
	free(id);
	return 0;
}

static int add_launch(struct runloop *r, const struct sandbox_spec *spec,
		      cJSON *launch, const struct stop *stop, struct error *err)
{
	const char *const *list;
	size_t n = 0;

	if (add_life(r, spec, launch, err) < 0 ||
	    add_size(r, launch, err) < 0 ||
	    settings_list(r->settings, "runloop", "launch_commands", &list, &n,
			  err) < 0)
		return -1;
	if (n)
		cJSON_AddItemToObject(launch, "launch_commands",
				      cJSON_CreateStringArray(list, (int)n));
	return add_network(r, spec, launch, stop, err);
}

int runloop_describe(struct runloop *r, const struct sandbox_spec *spec,
		     cJSON *body, const struct stop *stop, struct error *err)
{
	cJSON *metadata = cJSON_AddObjectToObject(body, "metadata");
	cJSON *launch = cJSON_AddObjectToObject(body, "launch_parameters");

	cJSON_AddStringToObject(body, "name", spec->label);
	if (env_list_labels(r->settings, "runloop", spec, metadata, err) < 0 ||
	    env_list_member(r->settings, "runloop", "env", body,
			    "environment_variables", err) < 0 ||
	    env_list_member(r->settings, "runloop", "secrets", body, "secrets",
			    err) < 0)
		return -1;
	return add_launch(r, spec, launch, stop, err);
}
