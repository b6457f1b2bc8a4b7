/* create.c - the parameters, and a sandbox made from them, once. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "net/retry.h"
#include "providers/daytona/daytona.h"
#include "providers/kit/env_list.h"

enum {
	BODY_MAX = 1 << 20,
	CREATE_MS = 90000, /* the server holds it for 30 s */
};

const struct setting daytona_settings[] = {
	{ .key = "api_key",
	  .type = SETTING_STRING,
	  .flags = SETTING_SECRET | SETTING_REQUIRED | SETTING_ENV_ONLY,
	  .env = "DAYTONA_API_KEY",
	  .help = "key of https://app.daytona.io/dashboard/keys" },
	{ .key = "jwt_token",
	  .type = SETTING_STRING,
	  .flags = SETTING_SECRET | SETTING_ENV_ONLY,
	  .env = "DAYTONA_JWT_TOKEN",
	  .help = "token of a login, instead of api_key; it needs "
		  "DAYTONA_ORGANIZATION_ID" },
	{ .key = "snapshot",
	  .type = SETTING_STRING,
	  .help = "snapshot to start from (the account's default)" },
	{ .key = "image",
	  .type = SETTING_STRING,
	  .help = "image with a tag to build from, instead of a snapshot" },
	{ .key = "workdir",
	  .type = SETTING_STRING,
	  .fallback = "\"/home/daytona\"",
	  .help = "working directory inside" },
	{ .key = "user",
	  .type = SETTING_STRING,
	  .help = "user inside (the snapshot's)" },
	{ .key = "region",
	  .type = SETTING_STRING,
	  .env = "DAYTONA_TARGET",
	  .help = "region: us, eu or an id" },
	{ .key = "cpu",
	  .type = SETTING_INT,
	  .help = "virtual CPUs (with image)" },
	{ .key = "memory",
	  .type = SETTING_INT,
	  .help = "GiB of memory (with image)" },
	{ .key = "disk",
	  .type = SETTING_INT,
	  .help = "GiB of disk (with image)" },
	{ .key = "gpu", .type = SETTING_INT, .help = "GPUs (with image)" },
	{ .key = "env",
	  .type = SETTING_LIST,
	  .help = "variables inside: NAME=value" },
	{ .key = "labels",
	  .type = SETTING_LIST,
	  .help = "labels of the sandbox: NAME=value" },
	{ .key = "network_block",
	  .type = SETTING_BOOL,
	  .fallback = "false",
	  .help = "no connections to the outside" },
	{ .key = "network_allow",
	  .type = SETTING_LIST,
	  .help = "networks (CIDR) that may be reached, no others" },
	{ .key = "domain_allow",
	  .type = SETTING_LIST,
	  .help = "domains that may be reached, no others" },
	{ .key = "lifetime",
	  .type = SETTING_INT,
	  .help = "seconds without a command until it stops (1800)" },
	{ .key = "auto_delete",
	  .type = SETTING_INT,
	  .fallback = "0",
	  .help = "minutes from stop to deletion; -1: never" },
	{ .key = "auto_archive",
	  .type = SETTING_INT,
	  .help = "minutes from stop to archive" },
	{ 0 },
};

static int get_string(const struct daytona *d, const char *key,
		      const char *name, cJSON *body, struct error *err)
{
	const char *value = NULL;

	if (settings_string(d->settings, "daytona", key, &value, err) < 0)
		return -1;
	if (value && *value)
		cJSON_AddStringToObject(body, name, value);
	return 0;
}

static int get_int(const struct daytona *d, const char *key, const char *name,
		   int64_t least, cJSON *body, struct error *err)
{
	int64_t value = INT64_MIN;

	if (settings_int(d->settings, "daytona", key, &value, err) < 0)
		return -1;
	if (value == INT64_MIN)
		return 0;
	if (value < least || value > 1000000)
		return error_set(err, ERR_CONFIG, "%s is not from %lld on", key,
				 (long long)least);
	cJSON_AddNumberToObject(body, name, (double)value);
	return 0;
}

static int get_joined(const struct daytona *d, const char *key,
		      const char *name, cJSON *body, struct error *err)
{
	const char *const *list;
	struct buf all = BUF_INIT(64 << 10);
	size_t n = 0;
	int rc = settings_list(d->settings, "daytona", key, &list, &n, err);

	for (size_t i = 0; rc == 0 && i < n; i++)
		buf_addf(&all, "%s%s", i ? "," : "", list[i]);
	if (rc == 0)
		rc = buf_check(&all, key, err);
	if (rc == 0 && all.len)
		cJSON_AddStringToObject(body, name, all.ptr);
	buf_release(&all);
	return rc;
}

static int add_network(const struct daytona *d, const struct sandbox_spec *spec,
		       cJSON *body, struct error *err)
{
	bool block = spec->network == NETWORK_NONE;

	if (spec->network == NETWORK_DEFAULT &&
	    settings_bool(d->settings, "daytona", "network_block", &block,
			  err) < 0)
		return -1;
	if (block || spec->network == NETWORK_FULL) {
		cJSON_AddBoolToObject(body, "networkBlockAll", block);
		return 0;
	}
	if (get_joined(d, "network_allow", "networkAllowList", body, err) < 0)
		return -1;
	return get_joined(d, "domain_allow", "domainAllowList", body, err);
}

/* An image is built first; only then may there be resources. */
static int add_source(const struct daytona *d, const struct sandbox_spec *spec,
		      cJSON *body, struct error *err)
{
	static const char *const sizes[] = { "cpu", "memory", "disk", "gpu" };
	const char *image = NULL;
	char *text;

	if (settings_string(d->settings, "daytona", "image", &image, err) < 0)
		return -1;
	if (spec->snapshot || !image || !*image) {
		if (!spec->snapshot)
			return get_string(d, "snapshot", "snapshot", body, err);
		cJSON_AddStringToObject(body, "snapshot", spec->snapshot);
		return 0;
	}
	if (strpbrk(image, "\r\n"))
		return error_set(err, ERR_CONFIG, "image has several lines");
	text = xasprintf("FROM %s\n", image);
	cJSON_AddStringToObject(cJSON_AddObjectToObject(body, "buildInfo"),
				"dockerfileContent", text);
	free(text);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
		if (get_int(d, sizes[i], sizes[i], 1, body, err) < 0)
			return -1;
	return 0;
}

static int describe(const struct daytona *d, const struct sandbox_spec *spec,
		    cJSON *body, struct error *err)
{
	int64_t minutes = (spec->lifetime_s + 59) / 60;

	cJSON_AddStringToObject(body, "name", spec->label);
	if (env_list_add(d->settings, "daytona", "env",
			 cJSON_AddObjectToObject(body, "env"), err) < 0 ||
	    env_list_labels(d->settings, "daytona", spec,
			    cJSON_AddObjectToObject(body, "labels"), err) < 0 ||
	    add_source(d, spec, body, err) < 0 ||
	    get_string(d, "user", "user", body, err) < 0 ||
	    get_string(d, "region", "target", body, err) < 0 ||
	    add_network(d, spec, body, err) < 0)
		return -1;
	cJSON_AddNumberToObject(body, "autoStopInterval", (double)minutes);
	if (get_int(d, "auto_delete", "autoDeleteInterval", -1, body, err) < 0)
		return -1;
	return get_int(d, "auto_archive", "autoArchiveInterval", 0, body, err);
}

static int post(struct daytona *d, const cJSON *body, cJSON **answer,
		const struct stop *stop, struct error *err)
{
	struct buf text = BUF_INIT(BODY_MAX);
	struct rest_ask ask = { .method = "POST",
				.path = "/sandbox",
				.what = "creating the sandbox",
				.timeout_ms = CREATE_MS };
	int rc;

	json_print(&text, body);
	ask.body = buf_str(&text);
	rc = buf_check(&text, "the sandbox's description", err);
	if (rc == 0)
		rc = daytona_api(d, &ask, answer, NULL, stop, err);
	buf_release(&text);
	return rc;
}

/* What an earlier request has made: its name is our label, which no other can
 * have. *answer is NULL when there is none. */
static int find_made(struct daytona *d, const char *label, cJSON **answer,
		     const struct stop *stop, struct error *err)
{
	const cJSON *labels;
	int status = 0;

	if (daytona_get(d, label, answer, &status, stop, err) < 0)
		return -1;
	labels = json_get(*answer, "labels");
	if (!*answer ||
	    strcmp(json_string(labels, "dcode.label", ""), label) == 0)
		return 0;
	cJSON_Delete(*answer);
	*answer = NULL;
	return error_set(err, ERR_PROTOCOL, "another sandbox has the name %s",
			 label);
}

static void remember(struct sandbox *sb, const cJSON *answer)
{
	const char *id = json_string(answer, "id", "");

	if (!sb->id && daytona_id_ok(id))
		sb->id = xstrdup(id);
}

/*
 * The name makes it idempotent: a second request with it is refused (409).
 * After a failure the name tells whether something was made all the same; a
 * refusal can leave a sandbox that failed to start.
 */
static int make(struct sandbox *sb, const struct sandbox_spec *spec,
		const cJSON *body, cJSON **answer, const struct stop *stop,
		struct error *err)
{
	struct daytona *d = daytona_of(sb->host);
	struct error why = { 0 };
	struct error other = { 0 };

	if (post(d, body, answer, stop, &why) == 0 && *answer)
		return 0;
	if (!why.code) {
		error_set(&why, ERR_PROTOCOL, "an empty answer");
		why.http_status = 200;
	}
	*err = why;
	if (why.code == ERR_AUTH || why.http_status == 429)
		return -1;
	(void)find_made(d, spec->label, answer, stop, &other);
	if (*answer && (why.http_status == 409 || retry_is_transient(&why)))
		return 0;
	remember(sb, *answer);
	cJSON_Delete(*answer);
	*answer = NULL;
	return -1;
}

static int workdir(struct sandbox *sb, struct error *err)
{
	const char *dir = NULL;

	if (settings_string(daytona_of(sb->host)->settings, "daytona",
			    "workdir", &dir, err) < 0)
		return -1;
	if (dir && dir[0] != '/')
		return error_set(err, ERR_CONFIG,
				 "workdir must be an absolute path");
	if (dir)
		sb->workdir = xstrdup(dir);
	return 0;
}

int daytona_create(struct sandbox *sb, const struct sandbox_spec *spec,
		   const struct stop *stop, struct error *err)
{
	cJSON *body = cJSON_CreateObject();
	cJSON *answer = NULL;
	int rc = 0;

	if (spec->lifetime_s <= 0)
		rc = error_set(err, ERR_CONFIG,
			       "the lifetime is not above zero");
	if (rc == 0)
		rc = workdir(sb, err);
	if (rc == 0)
		rc = describe(daytona_of(sb->host), spec, body, err);
	if (rc < 0)
		err->nothing_made = true;
	if (rc == 0)
		rc = make(sb, spec, body, &answer, stop, err);
	if (rc == 0)
		rc = daytona_ready(sb, answer, NULL, spec, stop, err);
	cJSON_Delete(body);
	return rc;
}
