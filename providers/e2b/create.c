/* create.c - the parameters, and a sandbox made from them, once. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "providers/e2b/e2b.h"
#include "providers/kit/env_list.h"

enum {
	BODY_MAX = 1 << 20,
	CREATE_MS = 120000,
};

const struct setting e2b_settings[] = {
	{ .key = "api_key",
	  .type = SETTING_STRING,
	  .flags = SETTING_SECRET | SETTING_REQUIRED | SETTING_ENV_ONLY,
	  .env = "E2B_API_KEY",
	  .help = "key of https://e2b.dev/dashboard" },
	{ .key = "template",
	  .type = SETTING_STRING,
	  .fallback = "\"base\"",
	  .help = "template (with its CPU, memory and disk) or snapshot" },
	{ .key = "workdir",
	  .type = SETTING_STRING,
	  .fallback = "\"/home/user\"",
	  .help = "working directory inside" },
	{ .key = "user",
	  .type = SETTING_STRING,
	  .help = "user inside (the template's)" },
	{ .key = "env",
	  .type = SETTING_LIST,
	  .help = "variables inside: NAME=value" },
	{ .key = "labels",
	  .type = SETTING_LIST,
	  .help = "metadata of the sandbox: NAME=value" },
	{ .key = "network_allow",
	  .type = SETTING_LIST,
	  .help = "addresses, networks or domains that may be reached" },
	{ .key = "network_deny",
	  .type = SETTING_LIST,
	  .help = "addresses or networks that may not (0.0.0.0/0: all)" },
	{ .key = "auto_pause",
	  .type = SETTING_BOOL,
	  .fallback = "false",
	  .help = "pause at the end of the lifetime instead of deleting" },
	{ .key = "lifetime",
	  .type = SETTING_INT,
	  .help = "seconds that a sandbox outlives its last command (1800)" },
	{ 0 },
};

/* network.KEY2 = the list of the setting KEY; *network is made when needed. */
static int add_rules(const struct e2b *e, const char *key, const char *name,
		     cJSON *body, struct error *err)
{
	const char *const *list;
	cJSON *network;
	size_t n = 0;

	if (settings_list(e->settings, "e2b", key, &list, &n, err) < 0)
		return -1;
	if (!n)
		return 0;
	network = cJSON_GetObjectItemCaseSensitive(body, "network");
	if (!network)
		network = cJSON_AddObjectToObject(body, "network");
	cJSON_AddItemToObject(network, name,
			      cJSON_CreateStringArray(list, (int)n));
	return 0;
}

static int add_network(const struct e2b *e, const struct sandbox_spec *spec,
		       cJSON *body, struct error *err)
{
	if (spec->network == NETWORK_NONE) {
		cJSON_AddBoolToObject(body, "allow_internet_access", false);
		return 0;
	}
	if (spec->network == NETWORK_FULL) {
		cJSON_AddBoolToObject(body, "allow_internet_access", true);
		return 0;
	}
	if (add_rules(e, "network_allow", "allowOut", body, err) < 0)
		return -1;
	return add_rules(e, "network_deny", "denyOut", body, err);
}

static int describe(const struct e2b *e, const struct sandbox_spec *spec,
		    cJSON *body, struct error *err)
{
	const char *template = NULL;
	cJSON *metadata;
	bool pause = false;

	if (settings_string(e->settings, "e2b", "template", &template, err) <
		    0 ||
	    settings_bool(e->settings, "e2b", "auto_pause", &pause, err) < 0)
		return -1;
	cJSON_AddStringToObject(body, "templateID",
				spec->snapshot ? spec->snapshot : template);
	cJSON_AddNumberToObject(body, "timeout", (double)spec->lifetime_s);
	metadata = cJSON_AddObjectToObject(body, "metadata");
	if (env_list_labels(e->settings, "e2b", spec, metadata, err) < 0 ||
	    env_list_member(e->settings, "e2b", "env", body, "envVars", err) <
		    0)
		return -1;
	if (pause)
		cJSON_AddBoolToObject(body, "autoPause", true);
	return add_network(e, spec, body, err);
}

static int post(struct sandbox *sb, const char *path, const cJSON *body,
		int64_t lifetime_s, const struct stop *stop, struct error *err)
{
	struct buf text = BUF_INIT(BODY_MAX);
	struct rest_ask ask = { .method = "POST",
				.path = path,
				.what = "creating the sandbox",
				.timeout_ms = CREATE_MS };
	cJSON *tree = NULL;
	int rc;

	json_print(&text, body);
	ask.body = buf_str(&text);
	rc = buf_check(&text, "the sandbox's description", err);
	if (rc == 0)
		rc = e2b_api(e2b_of(sb->host), &ask, &tree, NULL, stop, err);
	if (rc == 0)
		rc = e2b_adopt(sb, tree, NULL, lifetime_s, err);
	cJSON_Delete(tree);
	buf_release(&text);
	return rc;
}

/* On a server that does not know the new path (404, 405), the old one. */
static int post_any(struct sandbox *sb, cJSON *body, int64_t lifetime_s,
		    const struct stop *stop, struct error *err)
{
	struct error why = { 0 };
	int rc = post(sb, "/v2/sandboxes", body, lifetime_s, stop, &why);

	if (rc < 0 && (why.http_status == 404 || why.http_status == 405)) {
		why = (struct error){ 0 };
		cJSON_AddBoolToObject(body, "secure", true);
		rc = post(sb, "/sandboxes", body, lifetime_s, stop, &why);
		cJSON_DeleteItemFromObjectCaseSensitive(body, "secure");
	}
	if (rc < 0)
		*err = why;
	return rc;
}

/* What earlier requests for this label have made: 1 with one adopted, the
 * others deleted; 0 when there is none. */
static int find_made(struct sandbox *sb, const struct sandbox_spec *spec,
		     const struct stop *stop, struct error *err)
{
	struct duplicate_create f = { .label = spec->label };
	const struct info_sink sink = { duplicate_create_found, &f };
	const struct e2b_search s = { "dcode.label", spec->label, &sink };
	int rc = e2b_find(e2b_of(sb->host), &s, stop, err);

	if (rc == 0 && f.id) {
		rc = e2b_connect(sb, f.id, spec->lifetime_s, stop, err);
		rc = rc < 0 ? -1 : 1;
	}
	duplicate_create_delete(sb->host, &f, stop);
	return rc;
}

/* A second request was sent, and the first may have been performed late. */
static void prune(struct sandbox *sb, const struct sandbox_spec *spec,
		  const struct stop *stop)
{
	struct duplicate_create f = { .label = spec->label,
				      .id = xstrdup(sb->id) };
	const struct info_sink sink = { duplicate_create_found, &f };
	const struct e2b_search s = { "dcode.label", spec->label, &sink };
	struct error ignored = { 0 };

	(void)e2b_find(e2b_of(sb->host), &s, stop, &ignored);
	duplicate_create_delete(sb->host, &f, stop);
}

static int create(struct sandbox *sb, const struct sandbox_spec *spec,
		  cJSON *body, const struct stop *stop, struct error *err)
{
	bool again = create_log_add(&e2b_of(sb->host)->tried, spec->label);
	int rc = again ? find_made(sb, spec, stop, err) : 0;

	if (rc != 0)
		return rc > 0 ? 0 : -1;
	rc = post_any(sb, body, spec->lifetime_s, stop, err);
	if (rc == 0 && again)
		prune(sb, spec, stop);
	return rc;
}

/* The configured directory, made when it is missing. */
int e2b_workdir(struct sandbox *sb, const struct stop *stop, struct error *err)
{
	struct rest_ask ask = { .method = "POST",
				.path = "/filesystem.Filesystem/MakeDir",
				.what = "making the working directory",
				.flags = REST_AGAIN };
	static const char *const headers[] = { "Connect-Protocol-Version: 1",
					       NULL };
	struct buf body = BUF_INIT(16 << 10);
	struct rest envd = { 0 };
	const char *dir = NULL;
	struct error why = { 0 };
	int rc = settings_string(e2b_of(sb->host)->settings, "e2b", "workdir",
				 &dir, err);

	if (rc < 0 || !dir || strcmp(dir, sb->host->provider->workdir) == 0)
		return rc;
	if (dir[0] != '/')
		return error_set(err, ERR_CONFIG,
				 "workdir must be an absolute path");
	free(sb->workdir);
	sb->workdir = xstrdup(dir);
	buf_addc(&body, '{');
	json_member(&body, "path", str_of(dir));
	buf_addc(&body, '}');
	ask.body = buf_str(&body);
	ask.headers = headers;
	if (e2b_envd(sb, &envd, &why) == 0) {
		cJSON *ignored = NULL;

		rc = rest_json(&envd, &ask, &ignored, NULL, stop, &why);
		cJSON_Delete(ignored);
	}
	rest_release(&envd);
	buf_release(&body);
	/* 409: it is there. */
	if (rc < 0 && why.http_status == 409)
		return 0;
	if (rc < 0)
		*err = why;
	return rc;
}

int e2b_create(struct sandbox *sb, const struct sandbox_spec *spec,
	       const struct stop *stop, struct error *err)
{
	cJSON *body = cJSON_CreateObject();
	int rc;

	if (spec->lifetime_s > 0)
		rc = describe(e2b_of(sb->host), spec, body, err);
	else
		rc = error_set(err, ERR_CONFIG,
			       "the lifetime is not above zero");
	if (rc == 0)
		rc = create(sb, spec, body, stop, err);
	if (rc == 0)
		rc = e2b_workdir(sb, stop, err);
	cJSON_Delete(body);
	return rc;
}
