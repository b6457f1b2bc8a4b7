/* create.c - the parameters of a sandbox, and the request with them. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "providers/daytona/daytona.h"
#include "providers/kit/body.h"

enum { CREATE_MS = 90000 }; /* the server holds it for 30 s */

const struct setting daytona_settings[] = {
	{ .key = "api_key",
	  .type = SETTING_STRING,
	  .flags = SETTING_SECRET | SETTING_REQUIRED | SETTING_ENV_ONLY,
	  .env = "DAYTONA_API_KEY",
	  .help = "key from https://app.daytona.io/dashboard/keys" },
	{ .key = "jwt_token",
	  .type = SETTING_STRING,
	  .flags = SETTING_SECRET | SETTING_ENV_ONLY,
	  .env = "DAYTONA_JWT_TOKEN",
	  .help = "login token, instead of api_key; needs "
		  "DAYTONA_ORGANIZATION_ID" },
	{ .key = "snapshot",
	  .example = "\"my-snapshot\"",
	  .type = SETTING_STRING,
	  .field = "snapshot",
	  .help = "snapshot to start from (the account's default)" },
	{ .key = "image",
	  .example = "\"python:3.13\"",
	  .type = SETTING_STRING,
	  .help = "image with a tag to build from, instead of a snapshot" },
	{ .key = "workdir",
	  .type = SETTING_STRING,
	  .fallback = "\"/home/daytona\"",
	  .help = "working directory inside" },
	{ .key = "user",
	  .example = "\"daytona\"",
	  .type = SETTING_STRING,
	  .field = "user",
	  .help = "user inside (the snapshot's)" },
	{ .key = "region",
	  .example = "\"eu\"",
	  .type = SETTING_STRING,
	  .field = "target",
	  .env = "DAYTONA_TARGET",
	  .help = "region: us, eu or an id" },
	{ .key = "cpu",
	  .unit = "CPUs",
	  .example = "2",
	  .type = SETTING_INT,
	  .field = "cpu",
	  .least = 1,
	  .help = "virtual CPUs (with image)" },
	{ .key = "memory",
	  .unit = "GiB",
	  .example = "4",
	  .type = SETTING_INT,
	  .field = "memory",
	  .least = 1,
	  .help = "GiB of memory (with image)" },
	{ .key = "disk",
	  .unit = "GiB",
	  .example = "10",
	  .type = SETTING_INT,
	  .field = "disk",
	  .least = 1,
	  .help = "GiB of disk (with image)" },
	{ .key = "gpu",
	  .unit = "GPUs",
	  .example = "1",
	  .type = SETTING_INT,
	  .field = "gpu",
	  .least = 1,
	  .help = "GPUs (with image)" },
	{ .key = "env",
	  .example = "[\"LANG=C.UTF-8\"]",
	  .type = SETTING_LIST,
	  .flags = SETTING_PAIRS,
	  .field = "env",
	  .help = "variables inside: NAME=value" },
	{ .key = "labels",
	  .example = "[\"team=web\"]",
	  .type = SETTING_LIST,
	  .help = "labels of the sandbox: NAME=value" },
	{ .key = "network_block",
	  .type = SETTING_BOOL,
	  .fallback = "false",
	  .help = "no outgoing connections" },
	{ .key = "network_allow",
	  .example = "[\"10.0.0.0/8\"]",
	  .type = SETTING_LIST,
	  .help = "only these networks (CIDR) can be reached" },
	{ .key = "domain_allow",
	  .example = "[\"pypi.example.com\"]",
	  .type = SETTING_LIST,
	  .help = "only these domains can be reached" },
	{ .key = "lifetime",
	  .unit = "seconds",
	  .example = "3600",
	  .type = SETTING_INT,
	  .help = "seconds without a command until it stops (1800)" },
	{ .key = "auto_delete",
	  .unit = "minutes",
	  .type = SETTING_INT,
	  .field = "autoDeleteInterval",
	  .least = -1,
	  .fallback = "0",
	  .help = "minutes from stop to deletion; -1: never" },
	{ .key = "auto_archive",
	  .unit = "minutes",
	  .example = "1440",
	  .type = SETTING_INT,
	  .field = "autoArchiveInterval",
	  .help = "minutes from stop to archive" },
	{ 0 },
};

/* The vendor takes lists as text. */
static int add_joined(const struct settings *set, const char *key,
		      const char *name, cJSON *body, struct error *err)
{
	const char *const *list;
	struct buf all = BUF_INIT(64 << 10);
	size_t n = 0;
	int rc = settings_list(set, "daytona", key, &list, &n, err);

	for (size_t i = 0; rc == 0 && i < n; i++)
		buf_addf(&all, "%s%s", i ? "," : "", list[i]);
	if (rc == 0)
		rc = buf_check(&all, key, err);
	if (rc == 0 && all.len)
		cJSON_AddStringToObject(body, name, all.ptr);
	buf_release(&all);
	return rc;
}

static int add_network(const struct settings *set,
		       const struct sandbox_spec *spec, cJSON *body,
		       struct error *err)
{
	bool block = spec->network == NETWORK_NONE;

	if (spec->network == NETWORK_DEFAULT &&
	    settings_bool(set, "daytona", "network_block", &block, err) < 0)
		return -1;
	if (block || spec->network == NETWORK_FULL) {
		cJSON_AddBoolToObject(body, "networkBlockAll", block);
		return 0;
	}
	if (add_joined(set, "network_allow", "networkAllowList", body, err) < 0)
		return -1;
	return add_joined(set, "domain_allow", "domainAllowList", body, err);
}

/* An image is built first; only then may there be resources. */
static int add_source(const struct sandbox_client *client,
		      const struct sandbox_spec *spec, cJSON *body,
		      struct error *err)
{
	const char *image = NULL;
	char *text;

	if (settings_string(client->settings, "daytona", "image", &image, err) <
	    0)
		return -1;
	if (spec->snapshot) {
		cJSON_AddStringToObject(body, "snapshot", spec->snapshot);
		return 0;
	}
	if (!image || !*image)
		return body_add_settings(client, "snapshot", body, err);
	if (strpbrk(image, "\r\n"))
		return error_set(err, ERR_CONFIG, "image has several lines");
	text = xasprintf("FROM %s\n", image);
	cJSON_AddStringToObject(body_object(body, "buildInfo"),
				"dockerfileContent", text);
	free(text);
	return body_add_settings(client, "cpu memory disk gpu", body, err);
}

int daytona_describe(struct vendor_client *c, const struct sandbox_spec *spec,
		     cJSON *body, const struct stop *stop, struct error *err)
{
	int64_t minutes = (spec->lifetime_s + 59) / 60;

	(void)stop;
	cJSON_AddStringToObject(body, "name", spec->label);
	cJSON_AddObjectToObject(body, "env");
	if (body_add_settings(c->client, "env", body, err) < 0)
		return -1;
	cJSON_AddObjectToObject(body, "labels");
	if (add_source(c->client, spec, body, err) < 0 ||
	    body_add_settings(c->client, "user region", body, err) < 0 ||
	    add_network(c->client->settings, spec, body, err) < 0)
		return -1;
	cJSON_AddNumberToObject(body, "autoStopInterval", (double)minutes);
	return body_add_settings(c->client, "auto_delete auto_archive", body,
				 err);
}

int daytona_post(struct sandbox *sb, const struct sandbox_spec *spec,
		 cJSON *body, cJSON **answer, const struct stop *stop,
		 struct error *err)
{
	struct rest_ask ask = { .method = "POST",
				.path = "/sandbox",
				.what = "creating the sandbox",
				.timeout_ms = sandbox_start_ms(sb->client,
							       CREATE_MS) };

	(void)spec;
	return vendor_post(sb->client->priv, &ask, body, answer, stop, err);
}
