/* create.c - the parameters, and a sandbox made from them, once. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "net/retry.h"
#include "providers/kit/env_list.h"
#include "providers/vercel/vercel.h"

enum {
	BODY_MAX = 1 << 20,
	CREATE_MS = 120000,
	TAGS_MAX = 5, /* the vendor's */
};

const struct setting vercel_settings[] = {
	{ .key = "token",
	  .type = SETTING_STRING,
	  .flags = SETTING_SECRET | SETTING_ENV_ONLY,
	  .env = "VERCEL_TOKEN",
	  .help = "token of https://vercel.com/account/tokens" },
	{ .key = "oidc_token",
	  .type = SETTING_STRING,
	  .flags = SETTING_SECRET | SETTING_ENV_ONLY,
	  .env = "VERCEL_OIDC_TOKEN",
	  .help = "instead of token, project and team: 'vercel env pull'" },
	{ .key = "project",
	  .type = SETTING_STRING,
	  .env = "VERCEL_PROJECT_ID",
	  .help = "project (prj_...)" },
	{ .key = "team",
	  .type = SETTING_STRING,
	  .env = "VERCEL_TEAM_ID",
	  .help = "team (team_...)" },
	{ .key = "api",
	  .type = SETTING_STRING,
	  .env = "VERCEL_API",
	  .fallback = "\"v2\"",
	  .help = "v2, or v1: no names, tags, images, regions, deletion" },
	{ .key = "runtime",
	  .type = SETTING_STRING,
	  .fallback = "\"python3.13\"",
	  .help = "node26, node24, node22, python3.13" },
	{ .key = "image",
	  .type = SETTING_STRING,
	  .help = "image instead of a runtime (vercel/sandbox/ubuntu)" },
	{ .key = "workdir",
	  .type = SETTING_STRING,
	  .fallback = "\"/vercel/sandbox\"",
	  .help = "working directory inside" },
	{ .key = "vcpus",
	  .type = SETTING_INT,
	  .help = "1 or an even number of CPUs, with 2 GiB memory each" },
	{ .key = "region",
	  .type = SETTING_STRING,
	  .help = "iad1, sfo1, cle1, cdg1" },
	{ .key = "env",
	  .type = SETTING_LIST,
	  .help = "variables inside: NAME=value" },
	{ .key = "labels",
	  .type = SETTING_LIST,
	  .help = "tags of the sandbox, three at most: NAME=value" },
	{ .key = "network_allow",
	  .type = SETTING_LIST,
	  .help = "domains or networks that may be reached, nothing else" },
	{ .key = "network_deny",
	  .type = SETTING_LIST,
	  .help = "networks that may not" },
	{ .key = "lifetime",
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

static int add_network(const struct vercel *v, const struct sandbox_spec *spec,
		       cJSON *body, struct error *err)
{
	struct rules r = { 0 };
	cJSON *policy;

	if (settings_list(v->settings, "vercel", "network_allow", &r.allow,
			  &r.n_allow, err) < 0 ||
	    settings_list(v->settings, "vercel", "network_deny", &r.deny,
			  &r.n_deny, err) < 0)
		return -1;
	for (size_t i = 0; i < r.n_deny; i++)
		if (!is_network(r.deny[i]))
			return error_set(err, ERR_CONFIG,
					 "network_deny: %.200s is no network",
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
static int add_machine(const struct vercel *v, const struct sandbox_spec *spec,
		       cJSON *body, struct error *err)
{
	const char *runtime = NULL;
	const char *image = NULL;
	int64_t vcpus = 0;
	cJSON *part;

	if (settings_string(v->settings, "vercel", "runtime", &runtime, err) <
		    0 ||
	    settings_string(v->settings, "vercel", "image", &image, err) < 0 ||
	    settings_int(v->settings, "vercel", "vcpus", &vcpus, err) < 0)
		return -1;
	if (spec->snapshot) {
		part = cJSON_AddObjectToObject(body, "source");
		cJSON_AddStringToObject(part, "type", "snapshot");
		cJSON_AddStringToObject(part, "snapshotId", spec->snapshot);
	} else if (image && v->v1) {
		return error_set(err, ERR_CONFIG,
				 "image: the v1 API has runtimes only");
	} else if (image) {
		cJSON_AddStringToObject(body, "image", image);
	} else {
		cJSON_AddStringToObject(body, "runtime", runtime);
	}
	if (vcpus < 0 || vcpus > 64 || (vcpus > 1 && vcpus % 2))
		return error_set(err, ERR_CONFIG,
				 "vcpus is 1 or an even number");
	if (vcpus) {
		part = cJSON_AddObjectToObject(body, "resources");
		cJSON_AddNumberToObject(part, "vcpus", (double)vcpus);
	}
	return 0;
}

/* Only the v2 API has these. persistent: else each stop would leave a snapshot
 * that costs money. */
static int add_names(const struct vercel *v, const struct sandbox_spec *spec,
		     cJSON *body, struct error *err)
{
	const char *region = NULL;
	cJSON *tags;

	if (settings_string(v->settings, "vercel", "region", &region, err) < 0)
		return -1;
	cJSON_AddStringToObject(body, "name", spec->label);
	cJSON_AddBoolToObject(body, "persistent", false);
	if (region)
		cJSON_AddStringToObject(body, "region", region);
	tags = cJSON_AddObjectToObject(body, "tags");
	if (env_list_labels(v->settings, "vercel", spec, tags, err) < 0)
		return -1;
	if (cJSON_GetArraySize(tags) > TAGS_MAX)
		return error_set(err, ERR_CONFIG, "labels: three at most");
	return 0;
}

static int describe(const struct vercel *v, const struct sandbox_spec *spec,
		    cJSON *body, struct error *err)
{
	cJSON_AddStringToObject(body, "projectId", v->project);
	cJSON_AddArrayToObject(body, "ports");
	cJSON_AddNumberToObject(body, "timeout",
				(double)(spec->lifetime_s * 1000));
	if (add_machine(v, spec, body, err) < 0 ||
	    (!v->v1 && add_names(v, spec, body, err) < 0) ||
	    env_list_member(v->settings, "vercel", "env", body, "env", err) < 0)
		return -1;
	return add_network(v, spec, body, err);
}

/* The name that the answer must have: ours, unless the server gives its own
 * and has none of ours. NULL: any. */
static const char *name_of(struct vercel *v, const cJSON *answer,
			   const char *label, const struct stop *stop)
{
	const char *got = json_string(json_get(answer, "sandbox"), "name", "");
	struct error why = { 0 };
	cJSON *tree = NULL;
	bool own;

	if (v->v1 || strcmp(got, label) == 0)
		return v->v1 ? NULL : label;
	own = vercel_get(v, label, false, &tree, stop, &why) < 0 &&
	      why.code == ERR_NOT_FOUND;
	cJSON_Delete(tree);
	return own ? NULL : label;
}

/* The v3 path is that of images and snapshots. 1 when it runs already. */
static int post(struct sandbox *sb, const cJSON *body,
		const struct sandbox_spec *spec, const struct stop *stop,
		struct error *err)
{
	struct vercel *v = vercel_of(sb->host);
	bool runtime = json_get(body, "runtime") != NULL;
	char *path = vercel_path(v,
				 v->v1     ? "/v1/sandboxes"
				 : runtime ? "/v2/sandboxes"
					   : "/v3/sandboxes",
				 NULL);
	struct buf text = BUF_INIT(BODY_MAX);
	struct rest_ask ask = { .method = "POST",
				.path = path,
				.what = "creating the sandbox",
				.timeout_ms = CREATE_MS };
	enum vercel_status status = VERCEL_UNKNOWN;
	cJSON *tree = NULL;
	int rc;

	json_print(&text, body);
	ask.body = buf_str(&text);
	rc = buf_check(&text, "the sandbox's description", err);
	if (rc == 0)
		rc = vercel_api(v, &ask, &tree, NULL, stop, err);
	if (rc == 0)
		rc = vercel_adopt(sb, tree, name_of(v, tree, spec->label, stop),
				  spec->lifetime_s, &status, err);
	cJSON_Delete(tree);
	buf_release(&text);
	free(path);
	return rc < 0 ? -1 : status == VERCEL_RUNNING;
}

/* 1 with a sandbox that an earlier request has made, 0 when there is none. */
static int find_made(struct sandbox *sb, const struct sandbox_spec *spec,
		     const struct stop *stop, struct error *err)
{
	int rc = vercel_bring(sb, spec->label, spec, stop, err);

	if (rc < 0 && err->code == ERR_NOT_FOUND) {
		*err = (struct error){ 0 };
		return 0;
	}
	return rc < 0 ? -1 : 1;
}

/* 409: the name is taken, by an earlier try. Without names (v1) only what was
 * refused may be sent again: another request would make another sandbox. */
static int create(struct sandbox *sb, const struct sandbox_spec *spec,
		  cJSON *body, const struct stop *stop, struct error *err)
{
	struct vercel *v = vercel_of(sb->host);
	bool again = create_log_add(&v->tried, spec->label) && !v->v1;
	struct error why = { 0 };
	int rc = again ? find_made(sb, spec, stop, err) : 0;

	if (rc != 0)
		return rc > 0 ? 0 : -1;
	rc = post(sb, body, spec, stop, &why);
	if (rc > 0)
		return 0;
	if (rc == 0)
		return vercel_bring(sb, sb->id, spec, stop, err);
	if (!v->v1 && why.http_status == 409 && !sb->id) {
		rc = find_made(sb, spec, stop, err);
		if (rc != 0)
			return rc > 0 ? 0 : -1;
	}
	*err = why;
	if (v->v1 && !retry_was_refused(&why))
		err->exhausted = true;
	return -1;
}

int vercel_create(struct sandbox *sb, const struct sandbox_spec *spec,
		  const struct stop *stop, struct error *err)
{
	struct vercel *v = vercel_of(sb->host);
	cJSON *body = cJSON_CreateObject();
	const char *dir = NULL;
	int rc = 0;

	if (spec->lifetime_s <= 0)
		rc = error_set(err, ERR_CONFIG,
			       "the lifetime is not above zero");
	if (rc == 0)
		rc = settings_string(v->settings, "vercel", "workdir", &dir,
				     err);
	if (rc == 0 && dir && dir[0] != '/')
		rc = error_set(err, ERR_CONFIG,
			       "workdir must be an absolute path");
	if (rc == 0)
		rc = describe(v, spec, body, err);
	if (rc < 0)
		err->nothing_made = true;
	if (rc == 0)
		rc = create(sb, spec, body, stop, err);
	if (rc == 0 && dir)
		sb->workdir = xstrdup(dir);
	cJSON_Delete(body);
	return rc;
}
