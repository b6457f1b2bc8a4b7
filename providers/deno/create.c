/* create.c - the parameters, and a sandbox made from them, once. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "providers/deno/deno.h"
#include "providers/kit/env_list.h"

enum {
	CONFIG_MAX = 32 << 10, /* travels as a header */
	MEMORY_MIN = 768,
	MEMORY_MAX = 1 << 20, /* the server knows its own limit */
	MEMORY_DEFAULT = 1280,
};

const struct setting deno_settings[] = {
	{ .key = "token",
	  .type = SETTING_STRING,
	  .flags = SETTING_SECRET | SETTING_REQUIRED | SETTING_ENV_ONLY,
	  .env = "DENO_DEPLOY_TOKEN",
	  .help = "token of https://console.deno.com" },
	{ .key = "org",
	  .type = SETTING_STRING,
	  .flags = SETTING_ENV_ONLY,
	  .env = "DENO_DEPLOY_ORG",
	  .help = "organization; needed unless the token is one's (ddo_...)" },
	{ .key = "region",
	  .type = SETTING_STRING,
	  .fallback = "\"ord\"",
	  .help = "ord or ams" },
	{ .key = "memory",
	  .type = SETTING_INT,
	  .fallback = "1280",
	  .help = "MiB of memory, 768 to 4096" },
	{ .key = "root",
	  .type = SETTING_STRING,
	  .help = "volume or snapshot to boot from" },
	{ .key = "volumes",
	  .type = SETTING_LIST,
	  .help = "volumes to mount: NAME=/path" },
	{ .key = "workdir",
	  .type = SETTING_STRING,
	  .help = "working directory inside (the home that it has)" },
	{ .key = "env",
	  .type = SETTING_LIST,
	  .help = "variables of commands: NAME=value" },
	{ .key = "labels",
	  .type = SETTING_LIST,
	  .help = "labels of the sandbox: NAME=value, at most three" },
	{ .key = "network_allow",
	  .type = SETTING_LIST,
	  .help = "hosts that alone may be reached" },
	{ .key = "lifetime",
	  .type = SETTING_INT,
	  .help = "seconds that a sandbox outlives its last command (1800, "
		  "the most)" },
	{ 0 },
};

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
			rc = error_set(err, ERR_CONFIG,
				       "volumes: '%.100s' is no absolute path",
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
	if (cJSON_GetArraySize(labels) > DENO_LABELS)
		return error_set(err, ERR_CONFIG,
				 "labels: a sandbox has at most %d, two of "
				 "them are ours",
				 DENO_LABELS);
	return 0;
}

/* An empty list allows nothing, none at all everything. */
static int add_network(const struct deno *d, const struct sandbox_spec *spec,
		       cJSON *config, struct error *err)
{
	const char *const *list = NULL;
	size_t n = 0;

	if (spec->network == NETWORK_FULL)
		return 0;
	if (spec->network == NETWORK_DEFAULT &&
	    settings_list(d->settings, "deno", "network_allow", &list, &n,
			  err) < 0)
		return -1;
	if (n || spec->network == NETWORK_NONE)
		cJSON_AddItemToObject(config, "allow_net",
				      n ? cJSON_CreateStringArray(list, (int)n)
					: cJSON_CreateArray());
	return 0;
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

/* All but the end of its life. */
static int describe(const struct deno *d, const struct sandbox_spec *spec,
		    cJSON *config, struct error *err)
{
	int64_t memory = MEMORY_DEFAULT;

	if (settings_int(d->settings, "deno", "memory", &memory, err) < 0)
		return -1;
	if (memory < MEMORY_MIN || memory > MEMORY_MAX)
		return error_set(err, ERR_CONFIG,
				 "memory: at least %d MiB are needed",
				 MEMORY_MIN);
	cJSON_AddNumberToObject(config, "memory_mb", (double)memory);
	if (add_labels(d, spec, config, err) < 0 ||
	    add_volumes(d, config, err) < 0 ||
	    add_root(d, spec, config, err) < 0)
		return -1;
	return add_network(d, spec, config, err);
}

/* "x-deno-sandbox-config: BASE64", owned; NULL when it is too large. */
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
	deno_frame_base64(&header, buf_str(&json));
	if (buf_check(&json, "the sandbox's description", err) == 0 &&
	    buf_check(&header, "the sandbox's description", err) == 0)
		text = buf_detach(&header);
	buf_release(&json);
	buf_release(&header);
	return text;
}

static int take_id(struct sandbox *sb, const char *id, int64_t lifetime_s,
		   struct error *err)
{
	struct deno_box *b = deno_box(sb);

	if (!id || !deno_id_ok(id)) {
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

/* The opening of the WebSocket is what makes it. */
static int post(struct sandbox *sb, cJSON *config, int64_t lifetime_s,
		const struct stop *stop, struct error *err)
{
	struct deno *d = deno_of(sb->host);
	const char *region = NULL;
	struct rest server = { 0 };
	char *id = NULL;
	char *header = config_header(config, lifetime_s, err);
	struct deno_opening o = { .server = &server,
				  .path = "/api/v3/sandboxes/create",
				  .header = header,
				  .id = &id };
	int rc = header ? settings_string(d->settings, "deno", "region",
					  &region, err)
			: -1;

	if (rc == 0 && !deno_region_ok(region ? region : ""))
		rc = error_set(err, ERR_CONFIG, "region: three letters");
	if (rc == 0)
		rc = deno_server(d, region, &server, err);
	if (rc == 0)
		rc = deno_open_socket(sb, &o, stop, err);
	if (rc == 0)
		rc = take_id(sb, id, lifetime_s, err);
	if (rc < 0)
		error_wrap(err, "creating the sandbox");
	rest_release(&server);
	free(header);
	free(id);
	return rc;
}

/* What earlier requests for this label have made: 1 with one adopted, the
 * others deleted; 0 when there is none. */
static int find_made(struct sandbox *sb, const struct sandbox_spec *spec,
		     const struct stop *stop, struct error *err)
{
	struct duplicate_create s = { .label = spec->label };
	const struct info_sink sink = { duplicate_create_found, &s };
	int rc = deno_find(sb->host, spec->label, &sink, stop, err);

	if (rc == 0 && s.id) {
		rc = take_id(sb, s.id, deno_box(sb)->lifetime_s, err);
		rc = rc < 0 ? -1 : 1;
	}
	duplicate_create_delete(sb->host, &s, stop);
	return rc;
}

/* A second request was sent, and the first may have been performed late. */
static void prune(struct sandbox *sb, const struct sandbox_spec *spec,
		  const struct stop *stop)
{
	struct duplicate_create s = { .label = spec->label,
				      .id = xstrdup(sb->id) };
	const struct info_sink sink = { duplicate_create_found, &s };
	struct error ignored = { 0 };

	(void)deno_find(sb->host, spec->label, &sink, stop, &ignored);
	duplicate_create_delete(sb->host, &s, stop);
}

static int create(struct sandbox *sb, const struct sandbox_spec *spec,
		  cJSON *config, const struct stop *stop, struct error *err)
{
	bool again = create_log_add(&deno_of(sb->host)->tried, spec->label);
	int rc = again ? find_made(sb, spec, stop, err) : 0;

	if (rc != 0)
		return rc > 0 ? 0 : -1;
	rc = post(sb, config, deno_box(sb)->lifetime_s, stop, err);
	if (rc == 0 && again)
		prune(sb, spec, stop);
	return rc;
}

int deno_create(struct sandbox *sb, const struct sandbox_spec *spec,
		const struct stop *stop, struct error *err)
{
	struct deno_box *b = deno_box(sb);
	cJSON *config = cJSON_CreateObject();
	int rc;

	b->lifetime_s = spec->lifetime_s < DENO_LONGEST_S ? spec->lifetime_s
							  : DENO_LONGEST_S;
	if (spec->lifetime_s > 0)
		rc = describe(deno_of(sb->host), spec, config, err);
	else
		rc = error_set(err, ERR_CONFIG,
			       "the lifetime is not above zero");
	if (rc < 0)
		err->nothing_made = true;
	if (rc == 0)
		rc = create(sb, spec, config, stop, err);
	if (rc == 0)
		rc = deno_workdir(sb, stop, err);
	cJSON_Delete(config);
	return rc;
}
