/* create.c - the parameters of a sandbox, and the request with them. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "net/retry.h"
#include "providers/kit/body.h"
#include "providers/vercel/vercel.h"

enum {
	CREATE_MS = 120000,
	TAGS_MAX = 5, /* the vendor's */
};

const struct setting vercel_settings[] = {
	{ .key = "token",
	  .type = SETTING_STRING,
	  .flags = SETTING_SECRET | SETTING_ENV_ONLY,
	  .env = "VERCEL_TOKEN",
	  .help = "token from https://vercel.com/account/tokens" },
	{ .key = "oidc_token",
	  .type = SETTING_STRING,
	  .flags = SETTING_SECRET | SETTING_ENV_ONLY,
	  .env = "VERCEL_OIDC_TOKEN",
	  .help = "use instead of token, project and team: 'vercel env pull'" },
	{ .key = "project",
	  .example = "\"prj_0123456789\"",
	  .type = SETTING_STRING,
	  .env = "VERCEL_PROJECT_ID",
	  .help = "project (prj_...)" },
	{ .key = "team",
	  .example = "\"team_0123456789\"",
	  .type = SETTING_STRING,
	  .env = "VERCEL_TEAM_ID",
	  .help = "team (team_...)" },
	{ .key = "api",
	  .type = SETTING_STRING,
	  .env = "VERCEL_API",
	  .fallback = "\"v2\"",
	  .help = "v2; v1 has no names, tags, images, regions or deletion" },
	{ .key = "runtime",
	  .type = SETTING_STRING,
	  .field = "runtime",
	  .fallback = "\"python3.13\"",
	  .help = "node26, node24, node22, python3.13" },
	{ .key = "image",
	  .example = "\"vercel/sandbox/ubuntu\"",
	  .type = SETTING_STRING,
	  .field = "image",
	  .help = "image to use instead of a runtime (vercel/sandbox/ubuntu)" },
	{ .key = "workdir",
	  .type = SETTING_STRING,
	  .fallback = "\"/vercel/sandbox\"",
	  .help = "working directory inside" },
	{ .key = "vcpus",
	  .unit = "CPUs",
	  .example = "2",
	  .type = SETTING_INT,
	  .help = "1 or an even number of CPUs, with 2 GiB of memory each" },
	{ .key = "region",
	  .example = "\"iad1\"",
	  .type = SETTING_STRING,
	  .field = "region",
	  .help = "iad1, sfo1, cle1, cdg1" },
	{ .key = "env",
	  .example = "[\"LANG=C.UTF-8\"]",
	  .type = SETTING_LIST,
	  .flags = SETTING_PAIRS,
	  .field = "env",
	  .help = "variables inside: NAME=value" },
	{ .key = "labels",
	  .example = "[\"team=web\"]",
	  .type = SETTING_LIST,
	  .help = "tags of the sandbox, at most three: NAME=value" },
	{ .key = "network_allow",
	  .example = "[\"api.example.com\"]",
	  .type = SETTING_LIST,
	  .help = "only these domains or networks can be reached" },
	{ .key = "network_deny",
	  .example = "[\"10.0.0.0/8\"]",
	  .type = SETTING_LIST,
	  .help = "networks that cannot be reached" },
	{ .key = "lifetime",
	  .unit = "seconds",
	  .example = "3600",
	  .type = SETTING_INT,
	  .help = "seconds that a sandbox outlives its last command (1800)" },
	{ 0 },
};

/* An address or a network, not a domain. */
static bool is_network(const char *text)
{
	return strchr(text, ':') ||
	       strspn(text, "0123456789./") == strlen(text);
}

/* Appends those of the list that are networks, or are not, as key. */
static void add_list(cJSON *object, const char *key, const char *const *list,
		     size_t n, bool networks)
{
	cJSON *array = cJSON_CreateArray();

	for (size_t i = 0; i < n; i++)
		if (is_network(list[i]) == networks)
			cJSON_AddItemToArray(array,
					     cJSON_CreateString(list[i]));
	if (array->child)
		cJSON_AddItemToObject(object, key, array);
	else
		cJSON_Delete(array);
}

struct rules {
	const char *const *allow;
	size_t n_allow;
	const char *const *deny;
	size_t n_deny;
};

static void add_rules(const struct vercel *v, const struct rules *r,
		      cJSON *policy)
{
	cJSON *subnets;

	if (v->v1) {
		cJSON_AddStringToObject(policy, "mode", "custom");
		add_list(policy, "allowedDomains", r->allow, r->n_allow, false);
		add_list(policy, "allowedCIDRs", r->allow, r->n_allow, true);
		add_list(policy, "deniedCIDRs", r->deny, r->n_deny, true);
		return;
	}
	add_list(policy, "allow", r->allow, r->n_allow, false);
	subnets = cJSON_CreateObject();
	add_list(subnets, "allow", r->allow, r->n_allow, true);
	add_list(subnets, "deny", r->deny, r->n_deny, true);
	if (subnets->child)
		cJSON_AddItemToObject(policy, "subnets", subnets);
	else
		cJSON_Delete(subnets);
}

static int add_network(struct vercel *v, const struct sandbox_spec *spec,
		       cJSON *body, struct error *err)
{
	const struct settings *set = v->kit.client->settings;
	struct rules r = { 0 };
	cJSON *policy;

	if (settings_list(set, "vercel", "network_allow", &r.allow, &r.n_allow,
			  err) < 0 ||
	    settings_list(set, "vercel", "network_deny", &r.deny, &r.n_deny,
			  err) < 0)
		return -1;
	for (size_t i = 0; i < r.n_deny; i++)
		if (!is_network(r.deny[i]))
			return error_set(err, ERR_CONFIG,
					 "network_deny: not a network: %.200s",
					 r.deny[i]);
	if (spec->network == NETWORK_DEFAULT && !r.n_allow && !r.n_deny)
		return 0;
	policy = cJSON_AddObjectToObject(body, "networkPolicy");
	if (spec->network == NETWORK_DEFAULT)
		add_rules(v, &r, policy);
	else
		cJSON_AddStringToObject(policy, "mode",
					spec->network == NETWORK_NONE
						? "deny-all"
						: "allow-all");
	return 0;
}

/* What runs inside: a snapshot, an image or a runtime, by its size. */
static int add_machine(struct vercel *v, const struct sandbox_spec *spec,
		       cJSON *body, struct error *err)
{
	const struct sandbox_client *client = v->kit.client;
	const char *image = NULL;
	int64_t vcpus = 0;
	cJSON *source;

	if (settings_string(client->settings, "vercel", "image", &image, err) <
		    0 ||
	    settings_int(client->settings, "vercel", "vcpus", &vcpus, err) < 0)
		return -1;
	if (vcpus < 0 || vcpus > 64 || (vcpus > 1 && vcpus % 2))
		return error_set(err, ERR_CONFIG,
				 "vcpus must be 1 or an even number");
	if (spec->snapshot) {
		source = cJSON_AddObjectToObject(body, "source");
		cJSON_AddStringToObject(source, "type", "snapshot");
		cJSON_AddStringToObject(source, "snapshotId", spec->snapshot);
	} else if (image && v->v1) {
		return error_set(err, ERR_CONFIG,
				 "image: the v1 API only has runtimes");
	} else if (body_add_settings(client, image ? "image" : "runtime", body,
				     err) < 0) {
		return -1;
	}
	if (vcpus)
		cJSON_AddNumberToObject(body_object(body, "resources"), "vcpus",
					(double)vcpus);
	return 0;
}

/* Only the v2 API has these. persistent: else each stop would leave a snapshot
 * that costs money. */
static int add_names(struct vercel *v, const struct sandbox_spec *spec,
		     cJSON *body, struct error *err)
{
	cJSON *tags;

	cJSON_AddStringToObject(body, "name", spec->label);
	cJSON_AddBoolToObject(body, "persistent", false);
	if (body_add_settings(v->kit.client, "region", body, err) < 0)
		return -1;
	tags = cJSON_AddObjectToObject(body, "tags");
	if (env_list_labels(v->kit.client->settings, "vercel", spec, tags,
			    err) < 0)
		return -1;
	if (cJSON_GetArraySize(tags) > TAGS_MAX)
		return error_set(err, ERR_CONFIG, "labels: at most three");
	return 0;
}

int vercel_describe(struct vendor_client *c, const struct sandbox_spec *spec,
		    cJSON *body, const struct stop *stop, struct error *err)
{
	struct vercel *v = (struct vercel *)c;

	(void)stop;
	cJSON_AddStringToObject(body, "projectId", v->project);
	cJSON_AddArrayToObject(body, "ports");
	cJSON_AddNumberToObject(body, "timeout",
				(double)(spec->lifetime_s * 1000));
	if (add_machine(v, spec, body, err) < 0 ||
	    (!v->v1 && add_names(v, spec, body, err) < 0) ||
	    body_add_settings(c->client, "env", body, err) < 0)
		return -1;
	return add_network(v, spec, body, err);
}

/* The v3 path is that of images and snapshots. Without names (v1) only what was
 * refused may be sent again: another request would make another sandbox. */
int vercel_post(struct sandbox *sb, const struct sandbox_spec *spec,
		cJSON *body, cJSON **answer, const struct stop *stop,
		struct error *err)
{
	const struct vercel *v = sb->client->priv;
	const char *version = json_get(body, "runtime") ? "v2" : "v3";
	char *bare = xasprintf("/%s/sandboxes", v->v1 ? "v1" : version);
	char *path = vercel_path(v, bare, "");
	struct rest_ask ask = { .method = "POST",
				.path = path,
				.what = "creating the sandbox",
				.timeout_ms = sandbox_start_ms(sb->client,
							       CREATE_MS) };
	struct error why = { 0 };
	int rc = vendor_post(sb->client->priv, &ask, body, answer, stop, &why);

	(void)spec;
	if (rc == 0)
		rc = vercel_unwrap(v, answer, &why);
	if (rc < 0)
		*err = why;
	if (rc < 0 && v->v1 && !retry_was_refused(&why))
		err->exhausted = true;
	free(path);
	free(bare);
	return rc;
}
