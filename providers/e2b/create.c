/* create.c - the parameters of a sandbox, and the request with them. */
/* SPDX-License-Identifier: MIT */
#include "providers/e2b/e2b.h"
#include "providers/kit/body.h"

enum { CREATE_MS = 120000 };

const struct setting e2b_settings[] = {
	{ .key = "api_key",
	  .type = SETTING_STRING,
	  .flags = SETTING_SECRET | SETTING_REQUIRED | SETTING_ENV_ONLY,
	  .env = "E2B_API_KEY",
	  .help = "key from https://e2b.dev/dashboard" },
	{ .key = "template",
	  .type = SETTING_STRING,
	  .field = "templateID",
	  .fallback = "\"base\"",
	  .help = "template (with its CPU, memory and disk) or snapshot" },
	{ .key = "workdir",
	  .type = SETTING_STRING,
	  .fallback = "\"/home/user\"",
	  .help = "working directory inside" },
	{ .key = "user",
	  .example = "\"root\"",
	  .type = SETTING_STRING,
	  .help = "user inside (the template's)" },
	{ .key = "env",
	  .example = "[\"LANG=C.UTF-8\"]",
	  .type = SETTING_LIST,
	  .flags = SETTING_PAIRS,
	  .field = "envVars",
	  .help = "variables inside: NAME=value" },
	{ .key = "labels",
	  .example = "[\"team=web\"]",
	  .type = SETTING_LIST,
	  .help = "metadata of the sandbox: NAME=value" },
	{ .key = "network_allow",
	  .example = "[\"api.example.com\"]",
	  .type = SETTING_LIST,
	  .field = "network.allowOut",
	  .help = "addresses, networks or domains that can be reached" },
	{ .key = "network_deny",
	  .example = "[\"0.0.0.0/0\"]",
	  .type = SETTING_LIST,
	  .field = "network.denyOut",
	  .help = "addresses or networks that cannot be reached (0.0.0.0/0: "
		  "all)" },
	{ .key = "auto_pause",
	  .type = SETTING_BOOL,
	  .field = "autoPause",
	  .fallback = "false",
	  .help = "pause instead of deleting at the end of the lifetime" },
	{ .key = "lifetime",
	  .unit = "seconds",
	  .example = "3600",
	  .type = SETTING_INT,
	  .help = "seconds that a sandbox outlives its last command (1800)" },
	{ 0 },
};

int e2b_describe(struct vendor_client *c, const struct sandbox_spec *spec,
		 cJSON *body, const struct stop *stop, struct error *err)
{
	(void)stop;
	if (spec->snapshot)
		cJSON_AddStringToObject(body, "templateID", spec->snapshot);
	else if (body_add_settings(c->client, "template", body, err) < 0)
		return -1;
	cJSON_AddNumberToObject(body, "timeout", (double)spec->lifetime_s);
	cJSON_AddObjectToObject(body, "metadata");
	if (body_add_settings(c->client, "env auto_pause", body, err) < 0)
		return -1;
	if (spec->network == NETWORK_DEFAULT)
		return body_add_settings(
			c->client, "network_allow network_deny", body, err);
	cJSON_AddBoolToObject(body, "allow_internet_access",
			      spec->network == NETWORK_FULL);
	return 0;
}

/* On a server that does not know the new path (404, 405), the old one. */
int e2b_post(struct sandbox *sb, const struct sandbox_spec *spec, cJSON *body,
	     cJSON **answer, const struct stop *stop, struct error *err)
{
	struct rest_ask ask = { .method = "POST",
				.path = "/v2/sandboxes",
				.what = "creating the sandbox",
				.timeout_ms = sandbox_start_ms(sb->client,
							       CREATE_MS) };
	struct error why = { 0 };
	int rc = vendor_post(sb->client->priv, &ask, body, answer, stop, &why);

	(void)spec;
	if (rc < 0 && (why.http_status == 404 || why.http_status == 405)) {
		why = (struct error){ 0 };
		ask.path = "/sandboxes";
		cJSON_AddBoolToObject(body, "secure", true);
		rc = vendor_post(sb->client->priv, &ask, body, answer, stop,
				 &why);
	}
	if (rc < 0)
		*err = why;
	return rc;
}
