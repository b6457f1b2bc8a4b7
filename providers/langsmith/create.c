/* create.c - the parameters, and a sandbox made from them, once. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "providers/kit/env_list.h"
#include "providers/langsmith/langsmith.h"

enum {
	BODY_MAX = 1 << 20,
	READY_S = 180, /* for which the server waits, and then we */
	CREATE_MS = (READY_S + 30) * 1000,
};

const struct setting langsmith_settings[] = {
	{ .key = "api_key",
	  .type = SETTING_STRING,
	  .flags = SETTING_SECRET | SETTING_ENV_ONLY,
	  .env = "LANGSMITH_SANDBOX_API_KEY",
	  .help = "key of https://smith.langchain.com; the first of this, "
		  "LANGSMITH_API_KEY and LANGCHAIN_API_KEY" },
	{ .key = "langsmith_api_key",
	  .type = SETTING_STRING,
	  .flags = SETTING_SECRET | SETTING_ENV_ONLY,
	  .env = "LANGSMITH_API_KEY",
	  .help = "the second" },
	{ .key = "langchain_api_key",
	  .type = SETTING_STRING,
	  .flags = SETTING_SECRET | SETTING_ENV_ONLY,
	  .env = "LANGCHAIN_API_KEY",
	  .help = "the third" },
	{ .key = "snapshot_id",
	  .type = SETTING_STRING,
	  .env = "LANGSMITH_SANDBOX_SNAPSHOT_ID",
	  .help = "snapshot to start from, by id: none is looked up or built" },
	{ .key = "snapshot",
	  .type = SETTING_STRING,
	  .env = "LANGSMITH_SANDBOX_SNAPSHOT_NAME",
	  .fallback = "\"deepagents-code\"",
	  .help = "snapshot to start from, built when there is none" },
	{ .key = "image",
	  .type = SETTING_STRING,
	  .fallback = "\"python:3\"",
	  .help = "image to build it from" },
	{ .key = "disk",
	  .type = SETTING_INT,
	  .fallback = "16",
	  .help = "GiB of disk of a snapshot that is built" },
	{ .key = "cpu", .type = SETTING_INT, .help = "CPUs" },
	{ .key = "memory", .type = SETTING_INT, .help = "GiB of memory" },
	{ .key = "workdir",
	  .type = SETTING_STRING,
	  .fallback = "\"/root\"",
	  .help = "working directory inside" },
	{ .key = "env",
	  .type = SETTING_LIST,
	  .help = "variables inside: NAME=value" },
	{ .key = "labels",
	  .type = SETTING_LIST,
	  .help = "labels of the sandbox: NAME=value" },
	{ .key = "network_allow",
	  .type = SETTING_LIST,
	  .help = "domains or networks that alone may be reached" },
	{ .key = "network_deny",
	  .type = SETTING_LIST,
	  .help = "domains or networks that may not" },
	{ .key = "lifetime",
	  .type = SETTING_INT,
	  .help = "seconds that a sandbox outlives its last command (1800)" },
	{ .key = "keep_stopped",
	  .type = SETTING_INT,
	  .fallback = "60",
	  .help = "seconds after which one that has stopped is deleted" },
	{ .key = "websocket",
	  .type = SETTING_BOOL,
	  .fallback = "true",
	  .help = "long commands over a WebSocket; false: plain requests" },
	{ 0 },
};

/* The server takes one of the two lists. Where one allows something, nothing
 * else is reached. */
static int add_network(const struct langsmith *l,
		       const struct sandbox_spec *spec, cJSON *body,
		       struct error *err)
{
	static const char *const none[] = { "127.0.0.1/32" };
	const char *const *allow = none;
	const char *const *deny = NULL;
	size_t n_allow = 1;
	size_t n_deny = 0;
	cJSON *control;

	if (spec->network == NETWORK_FULL)
		return 0;
	if (spec->network == NETWORK_DEFAULT &&
	    (settings_list(l->settings, "langsmith", "network_allow", &allow,
			   &n_allow, err) < 0 ||
	     settings_list(l->settings, "langsmith", "network_deny", &deny,
			   &n_deny, err) < 0))
		return -1;
	if (spec->network == NETWORK_DEFAULT && n_allow && n_deny)
		return error_set(err, ERR_CONFIG,
				 "network_allow and network_deny exclude each "
				 "other");
	if (!n_allow && !n_deny)
		return 0;
	control = cJSON_AddObjectToObject(
		cJSON_AddObjectToObject(body, "proxy_config"),
		"access_control");
	cJSON_AddItemToObject(
		control, n_allow ? "allow_list" : "deny_list",
		n_allow ? cJSON_CreateStringArray(allow, (int)n_allow)
			: cJSON_CreateStringArray(deny, (int)n_deny));
	return 0;
}

static int add_resources(const struct langsmith *l, cJSON *body,
			 struct error *err)
{
	int64_t cpu = 0;
	int64_t memory = 0;

	if (settings_int(l->settings, "langsmith", "cpu", &cpu, err) < 0 ||
	    settings_int(l->settings, "langsmith", "memory", &memory, err) < 0)
		return -1;
	if (cpu < 0 || cpu > 1024 || memory < 0 || memory > 1 << 20)
		return error_set(err, ERR_CONFIG, "cpu, memory: not that many");
	if (cpu)
		cJSON_AddNumberToObject(body, "vcpus", (double)cpu);
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
static int add_life(const struct langsmith *l, const struct sandbox_spec *spec,
		    cJSON *body, struct error *err)
{
	int64_t keep = 0;

	if (settings_int(l->settings, "langsmith", "keep_stopped", &keep, err) <
	    0)
		return -1;
	if (keep < 1 || spec->lifetime_s < 1)
		return error_set(err, ERR_CONFIG,
				 "lifetime, keep_stopped: not above zero");
	cJSON_AddNumberToObject(body, "idle_ttl_seconds",
				minutes(spec->lifetime_s));
	cJSON_AddNumberToObject(body, "delete_after_stop_seconds",
				minutes(keep));
	return 0;
}

static int describe(const struct langsmith *l, const struct sandbox_spec *spec,
		    cJSON *body, struct error *err)
{
	cJSON *labels;

	cJSON_AddBoolToObject(body, "wait_for_ready", true);
	cJSON_AddNumberToObject(body, "timeout", READY_S);
	cJSON_AddStringToObject(body, "name", spec->label);
	labels = cJSON_AddObjectToObject(body, "labels");
	if (env_list_labels(l->settings, "langsmith", spec, labels, err) < 0 ||
	    env_list_member(l->settings, "langsmith", "env", body, "env_vars",
			    err) < 0)
		return -1;
	if (add_life(l, spec, body, err) < 0 || add_resources(l, body, err) < 0)
		return -1;
	return add_network(l, spec, body, err);
}

/* The sandbox's name: ours, unless the server gives its own and has none of
 * ours. Owned. */
static char *name_of(struct langsmith *l, const cJSON *answer,
		     const char *label, const struct stop *stop)
{
	char *path = xasprintf("/v2/sandboxes/boxes/%s", label);
	struct rest_ask ask = { .method = "GET",
				.path = path,
				.what = "asking for the sandbox",
				.flags = REST_AGAIN };
	const char *got = json_string(answer, "name", "");
	struct error why = { 0 };
	cJSON *tree = NULL;
	bool own = strcmp(got, label) != 0 && langsmith_id_ok(got) &&
		   langsmith_api(l, &ask, &tree, NULL, stop, &why) < 0 &&
		   why.code == ERR_NOT_FOUND;

	cJSON_Delete(tree);
	free(path);
	return xstrdup(own ? got : label);
}

static int post(struct sandbox *sb, const struct sandbox_spec *spec,
		const cJSON *body, const struct stop *stop, struct error *err)
{
	struct buf text = BUF_INIT(BODY_MAX);
	struct rest_ask ask = { .method = "POST",
				.path = "/v2/sandboxes/boxes",
				.what = "creating the sandbox",
				.timeout_ms = CREATE_MS };
	struct langsmith *l = langsmith_of(sb->host);
	cJSON *tree = NULL;
	char *name = NULL;
	int rc;

	json_print(&text, body);
	ask.body = buf_str(&text);
	rc = buf_check(&text, "the sandbox's description", err);
	if (rc == 0)
		rc = langsmith_api(l, &ask, &tree, NULL, stop, err);
	if (rc == 0)
		name = name_of(l, tree, spec->label, stop);
	/* Until it is ready it may have no address. */
	if (rc == 0 && strcmp(json_string(tree, "status", ""), "ready") == 0) {
		rc = langsmith_adopt(sb, tree, name, err);
	} else if (rc == 0) {
		if (!sb->id)
			sb->id = xstrdup(name);
		rc = langsmith_wait(sb, name, READY_S * 1000, spec, stop, err);
	}
	free(name);
	cJSON_Delete(tree);
	buf_release(&text);
	return rc;
}

/* The name is the label: a second one of it cannot be made. 409: an earlier
 * try has made it. */
static int create(struct sandbox *sb, const struct sandbox_spec *spec,
		  const cJSON *body, const struct stop *stop, struct error *err)
{
	struct error why = { 0 };
	struct error missing = { 0 };

	if (post(sb, spec, body, stop, &why) == 0)
		return 0;
	*err = why;
	if (why.http_status != 409 || sb->id)
		return -1;
	if (langsmith_wait(sb, spec->label, READY_S * 1000, spec, stop,
			   &missing) == 0)
		return 0;
	if (missing.code != ERR_NOT_FOUND)
		*err = missing;
	return -1;
}

int langsmith_create(struct sandbox *sb, const struct sandbox_spec *spec,
		     const struct stop *stop, struct error *err)
{
	struct langsmith *l = langsmith_of(sb->host);
	cJSON *body = cJSON_CreateObject();
	const char *dir = NULL;
	char *snapshot = NULL;
	int rc;

	langsmith_box(sb)->lifetime_s = spec->lifetime_s;
	rc = settings_string(l->settings, "langsmith", "workdir", &dir, err);
	if (rc == 0 && dir && dir[0] != '/')
		rc = error_set(err, ERR_CONFIG,
			       "workdir must be an absolute path");
	if (rc == 0)
		rc = describe(l, spec, body, err);
	if (rc == 0)
		rc = langsmith_resolve(l, spec, &snapshot, stop, err);
	if (rc < 0)
		err->nothing_made = true;
	if (rc == 0) {
		cJSON_AddStringToObject(body, "snapshot_id", snapshot);
		rc = create(sb, spec, body, stop, err);
	}
	if (rc == 0 && dir)
		sb->workdir = xstrdup(dir);
	free(snapshot);
	cJSON_Delete(body);
	return rc;
}
