/* vercel.c - Vercel: credentials, and the life of its sandboxes. */
/* SPDX-License-Identifier: MIT */
/* Token, project and team come from an OIDC token or from variables
 * (find_access). The two versions of the API are two tables at the end,
 * vercel_v1 and vercel_v2; unwrap_answer() converts both kinds of answers to
 * one form. A session ends at its timeout, which an extension moves. */
#include "providers/vercel/vercel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "net/retry.h"
#include "providers/kit/lease.h"
#include "providers/kit/rest.h"
#include "providers/kit/vault.h"

enum {
	COMMAND_MAX = 512 << 10,
	LIFETIME_S = 1800,
	WAIT_MS = 180000,
	CREATE_MS = 120000,
	EXTEND_LEAST_MS = 1000, /* the shortest extension that the API allows */
	/* tags of a sandbox, as many as the API allows */
	TAGS_MAX = 5,
	SCOPE_MAX = 200,
	PORTS_V1 = 4,
	DAY_S = 86400,
	/* memory per vCPU, according to the page with the prices */
	MIB_EACH = 2048,
};

static const struct setting settings[] = {
	{ .key = "token",
	  .type = SETTING_STRING,
	  .flags = SETTING_SECRET | SETTING_ENV_ONLY,
	  .env = "VERCEL_TOKEN",
	  .help = "token from https://vercel.com/account/tokens" },
	{ .key = "oidc_token",
	  .type = SETTING_STRING,
	  .flags = SETTING_SECRET | SETTING_ENV_ONLY,
	  .env = "VERCEL_OIDC_TOKEN",
	  .help = "replaces token, project and team; get it with 'vercel env "
		  "pull'" },
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
	  .help = "v2 or v1; v1 has no names, tags, images, regions or "
		  "deletion" },
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
	WORKDIR_ROW("/vercel/sandbox"),
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
	ENV_ROW("env"),
	LABELS_ROW("tags of the sandbox, at most three: NAME=value"),
	PORTS_ROW("ports that get a public address at once, at most 15; "
		  "`dcode sandbox url --public` opens others later"),
	NETWORK_ROW,
	LIFETIME_ROW("3600", "seconds from the last command to the end of the "
			     "sandbox (default 1800)"),
	{ 0 },
};

static const struct vendor vercel_v1;
static const struct vendor vercel_v2;

struct access { /* all borrowed except claims */
	const char *token;
	const char *project;
	const char *team;
	const char *project_key; /* see struct sandbox_client */
	cJSON *claims;           /* owned: claims of the OIDC token */
};

static int use_oidc(struct access *a, const char *token, struct error *err)
{
	int64_t exp;

	a->token = token;
	a->claims = jwt_claims(token);
	exp = json_int(a->claims, "exp", 0);
	if (exp && exp <= clock_unix_ms() / 1000) {
		error_set(err, ERR_AUTH, "VERCEL_OIDC_TOKEN has expired");
		return error_hint(err, "Run 'vercel env pull' for a new one.");
	}
	if (!a->project || !a->team) {
		a->project = json_string(a->claims, "project_id", NULL);
		a->team = json_string(a->claims, "owner_id", NULL);
	}
	if (a->project && a->team)
		return 0;
	error_set(err, ERR_AUTH,
		  "VERCEL_OIDC_TOKEN does not name the project and the team");
	return error_hint(err, "Set VERCEL_PROJECT_ID and VERCEL_TEAM_ID too.");
}

static int fail_missing(const struct access *a, struct error *err)
{
	error_set(err, ERR_AUTH, "not set:%s%s%s",
		  a->token ? "" : " VERCEL_TOKEN",
		  a->project ? "" : " VERCEL_PROJECT_ID",
		  a->team ? "" : " VERCEL_TEAM_ID");
	return error_hint(err,
			  "Get a token at https://vercel.com/account/tokens "
			  "and export VERCEL_TOKEN, VERCEL_PROJECT_ID and "
			  "VERCEL_TEAM_ID; or run 'vercel link && vercel env "
			  "pull' and export VERCEL_OIDC_TOKEN.");
}

/* Chooses the credentials. As in the SDK, the OIDC token takes precedence,
 * unless a DEEPAGENTS_CODE_ variable sets the token, project or team. */
static int find_access(const struct settings *set, struct access *a,
		       struct error *err)
{
	static const char *const own[] = { "DEEPAGENTS_CODE_VERCEL_TOKEN",
					   "DEEPAGENTS_CODE_VERCEL_PROJECT_ID",
					   "DEEPAGENTS_CODE_VERCEL_TEAM_ID" };
	const char *oidc =
		settings_credential(set, "VERCEL_OIDC_TOKEN", &a->project_key);
	/* A token that `dcode auth` stored takes precedence, too, unless a
	 * DEEPAGENTS_CODE_ variable sets an OIDC token. */
	bool asked =
		settings_env_source(set, "VERCEL_TOKEN") == SOURCE_STORED &&
		!settings_env_plain(set, "DEEPAGENTS_CODE_VERCEL_OIDC_TOKEN");

	for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++)
		asked = asked || settings_env_plain(set, own[i]);
	a->token = oidc ? settings_env(set, "VERCEL_TOKEN")
			: settings_credential(set, "VERCEL_TOKEN",
					      &a->project_key);
	if (settings_string(set, "vercel", "project", &a->project, err) < 0 ||
	    settings_string(set, "vercel", "team", &a->team, err) < 0)
		return -1;
	if (asked && a->token && a->project && a->team)
		return 0;
	if (oidc)
		return use_oidc(a, oidc, err);
	if (a->token && a->project && a->team)
		return 0;
	return fail_missing(a, err);
}

/* Returns "&projectId=P" or, for lists, "&project=P"; owned by the caller. */
static char *project_query(const struct vercel *v, const char *name)
{
	struct buf b = BUF_INIT(1024);

	buf_addf(&b, "&%s=", name);
	rest_encode(&b, str_of(v->project));
	return buf_detach(&b);
}

static int use_access(struct vercel *v, const struct access *a,
		      struct error *err)
{
	struct buf team = BUF_INIT(1024);

	if (strlen(a->project) > SCOPE_MAX || strlen(a->team) > SCOPE_MAX)
		return error_set(err, ERR_CONFIG,
				 "VERCEL_PROJECT_ID or VERCEL_TEAM_ID is too "
				 "long");
	v->token = a->token;
	v->project = xstrdup(a->project);
	v->query = project_query(v, "projectId");
	rest_encode(&team, str_of(a->team));
	v->team = buf_detach(&team);
	v->endpoint =
		xasprintf("%s (%s/%s)", v->kit.api.base, v->team, v->project);
	return vendor_bearer(&v->kit.api, a->token, err);
}

static int set_api(struct vercel *v, const struct settings *set,
		   struct error *err)
{
	static const char *const url[] = { "VERCEL_API_URL", NULL };
	const char *version = NULL;

	if (settings_string(set, "vercel", "api", &version, err) < 0)
		return -1;
	v->v1 = strcmp(version, "v1") == 0;
	if (!v->v1 && strcmp(version, "v2") != 0)
		return error_set(err, ERR_CONFIG,
				 "api must be v1 or v2, not '%.40s'", version);
	if (v->v1)
		v->kit.vendor = &vercel_v1;
	return rest_address(&v->kit.api.base, set, url,
			    "https://api.vercel.com", err);
}

static int vercel_open(struct sandbox_client *client,
		       const struct settings *set, struct error *err)
{
	struct vercel *v = (struct vercel *)vendor_open(client, &vercel_v2);
	struct access a = { 0 };
	int rc = find_access(set, &a, err);

	client->project_key = a.project_key;
	if (rc == 0)
		rc = set_api(v, set, err);
	if (rc == 0)
		rc = use_access(v, &a, err);
	cJSON_Delete(a.claims);
	if (rc == 0)
		client->endpoint = v->endpoint;
	if (v->v1)
		/* v1 has no labels, so dcode cannot list its sandboxes, and v1
		 * does not keep stopped sandboxes. */
		client->lacks = SANDBOX_LIST | SANDBOX_STOP;
	return rc;
}

static const char *session_path(const struct vercel *v)
{
	return v->v1 ? "/v1/sandboxes/" : "/v2/sandboxes/sessions/";
}

/* Returns the session in an answer. In v1 that is the sandbox itself. */
static const cJSON *session_of(const struct vercel *v, const cJSON *sandbox)
{
	return v->v1 ? sandbox : json_get(sandbox, "session");
}

/* Converts {"sandbox":{...},"session":{...}} to the sandbox alone. The session
 * becomes its member "session", and the session's status becomes its status.
 * The status of an ended session that can be resumed becomes "resumable".
 * ERR_PROTOCOL for any other answer. */
static int unwrap_answer(const struct vercel *v, cJSON **answer,
			 struct error *err)
{
	cJSON *sandbox =
		cJSON_DetachItemFromObjectCaseSensitive(*answer, "sandbox");
	cJSON *session =
		cJSON_DetachItemFromObjectCaseSensitive(*answer, "session");
	const char *status = json_string(session, "status", "");

	cJSON_Delete(*answer);
	*answer = cJSON_IsObject(sandbox) ? sandbox : cJSON_CreateObject();
	if (*answer != sandbox)
		cJSON_Delete(sandbox);
	if (v->v1) {
		cJSON_Delete(session);
	} else {
		if (vendor_state(&vercel_v2, session)->step == STEP_ENDED &&
		    json_bool(*answer, "persistent", false))
			status = "resumable";
		cJSON_DeleteItemFromObjectCaseSensitive(*answer, "status");
		cJSON_AddStringToObject(*answer, "status", status);
		cJSON_AddItemToObject(*answer, "session", session);
	}
	if (vendor_id_ok(json_string(session_of(v, *answer), "id", "")))
		return 0;
	cJSON_Delete(*answer);
	*answer = NULL;
	error_set(err, ERR_PROTOCOL,
		  "unexpected server response: no sandbox id");
	err->http_status = 200;
	return -1;
}

/* Names are compared with the TLS server name. Denied networks win over
 * everything that is allowed. */
static const struct network_limits network_limits = {
	.can = NETWORK_CAN_ADDRESSES | NETWORK_CAN_NETWORKS |
	       NETWORK_CAN_DENY_ADDRESSES | NETWORK_CAN_MIX,
};

static const struct secret_limits secret_limits = {
	.can = SECRET_CAN_HEADER | SECRET_CAN_FORMAT | SECRET_CAN_WILD |
	       SECRET_CAN_PATHS | SECRET_CAN_METHODS,
};

static cJSON *policy_v1(const struct network *n)
{
	static const char *const all[] = { "*" };
	cJSON *policy = cJSON_CreateObject();

	cJSON_AddStringToObject(policy, "mode", "custom");
	if (n->open)
		cJSON_AddItemToObject(policy, "allowedDomains",
				      cJSON_CreateStringArray(all, 1));
	body_add_hosts(policy, "allowedDomains", n, HOSTS_NAMES);
	body_add_hosts(policy, "allowedCIDRs", n,
		       HOSTS_ADDRESSES | HOSTS_PREFIX);
	body_add_hosts(policy, "deniedCIDRs", n,
		       HOSTS_ADDRESSES | HOSTS_PREFIX | HOSTS_DENIED);
	return policy;
}

static cJSON *policy_v2(const struct network *n, const struct secrets *secrets)
{
	cJSON *policy = cJSON_CreateObject();
	cJSON *subnets = cJSON_CreateObject();

	cJSON_AddItemToObject(policy, "allow",
			      vercel_allowed_names(n, secrets));
	body_add_hosts(subnets, "allow", n, HOSTS_ADDRESSES | HOSTS_PREFIX);
	body_add_hosts(subnets, "deny", n,
		       HOSTS_ADDRESSES | HOSTS_PREFIX | HOSTS_DENIED);
	if (subnets->child)
		cJSON_AddItemToObject(policy, "subnets", subnets);
	else
		cJSON_Delete(subnets);
	return policy;
}

/* Returns the vendor's form of the network, with rules that put the secrets in
 * (NULL: none). vault_check_rules() must accept them. */
static cJSON *network_policy(const struct network *n,
			     const struct secrets *secrets, bool v1)
{
	bool has_secrets = secrets && secrets->n;
	cJSON *policy;

	if (n->mode == NETWORK_LIST || (has_secrets && n->mode != NETWORK_NONE))
		return v1 ? policy_v1(n) : policy_v2(n, secrets);
	policy = cJSON_CreateObject();
	cJSON_AddStringToObject(policy, "mode",
				n->mode == NETWORK_NONE ? "deny-all"
							: "allow-all");
	return policy;
}

/* Adds what the machine starts from (a snapshot, an image or a runtime) and its
 * size. */
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

/* Adds members that only the v2 API has. "persistent" is false, because each
 * stop of a persistent sandbox leaves a snapshot that costs money. */
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

static int describe(struct vendor_client *c, const struct sandbox_spec *spec,
		    cJSON *body, const struct stop *stop, struct error *err)
{
	struct vercel *v = (struct vercel *)c;
	cJSON *ports = NULL;

	(void)stop;
	if (body_read_ports(c->client, v->v1 ? PORTS_V1 : VERCEL_PORTS, &ports,
			    err) < 0)
		return -1;
	cJSON_AddStringToObject(body, "projectId", v->project);
	cJSON_AddItemToObject(body, "ports", ports);
	cJSON_AddNumberToObject(body, "timeout",
				(double)(spec->lifetime_s * 1000));
	if (add_machine(v, spec, body, err) < 0 ||
	    (!v->v1 && add_names(v, spec, body, err) < 0) ||
	    body_add_settings(c->client, "env", body, err) < 0)
		return -1;
	if (spec->network->mode != NETWORK_DEFAULT)
		cJSON_AddItemToObject(
			body, "networkPolicy",
			network_policy(spec->network, NULL, v->v1));
	return 0;
}

static int add_secrets(struct vendor_client *c, const struct sandbox_spec *spec,
		       cJSON *body, const struct stop *stop, struct error *err)
{
	const struct vercel *v = (const struct vercel *)c;
	int rc = 0;

	(void)stop;
	if (v->v1)
		rc = error_set(err, ERR_CONFIG,
			       "%s: the v1 API cannot put secrets in",
			       spec->secrets->list[0].source);
	if (rc == 0)
		rc = vault_check_rules(spec->secrets, spec->network, "Vercel",
				       err);
	if (rc < 0) {
		err->nothing_made = true;
		return -1;
	}
	cJSON_DeleteItemFromObjectCaseSensitive(body, "networkPolicy");
	cJSON_AddItemToObject(
		body, "networkPolicy",
		network_policy(spec->network, spec->secrets, v->v1));
	vault_add_variables(body_object(body, "env"), spec->secrets);
	return 0;
}

static const struct vendor_vault vault = { .add = add_secrets };

/* Sends the create request. Images and snapshots need the v3 path. v1 has no
 * unique names, so a request is repeated only if the server refused it:
 * otherwise there could be two sandboxes. */
static int post_create(struct sandbox *sb, const struct sandbox_spec *spec,
		       cJSON *body, cJSON **answer, const struct stop *stop,
		       struct error *err)
{
	const struct vercel *v = sb->client->priv;
	const char *version = json_get(body, "runtime") ? "v2" : "v3";
	char *bare = xasprintf("/%s/sandboxes", v->v1 ? "v1" : version);
	char *path = vercel_path(v, bare, "");
	struct http_request ask = { .method = "POST",
				    .path = path,
				    .what = "creating the sandbox",
				    .timeout_ms = sandbox_start_ms(sb->client,
								   CREATE_MS) };
	struct error why = { 0 };
	int rc = vendor_post(sb->client->priv, &ask, body, answer, stop, &why);

	(void)spec;
	if (rc == 0)
		rc = unwrap_answer(v, answer, &why);
	if (rc < 0)
		*err = why;
	if (rc < 0 && v->v1 && !retry_was_refused(&why))
		err->exhausted = true;
	free(path);
	free(bare);
	return rc;
}

static int get_sandbox(struct vendor_client *c, const char *id,
		       const char *more, cJSON **answer,
		       const struct stop *stop, struct error *err)
{
	const struct vercel *v = (const struct vercel *)c;
	char *query = xasprintf("%s%s", v->query, more);
	char *bare = xasprintf("/%s/sandboxes/%s", v->v1 ? "v1" : "v2", id);
	char *path = vercel_path(v, bare, v->v1 ? "" : query);
	struct http_request ask = { .method = "GET",
				    .path = path,
				    .what = *more ? "resuming the sandbox"
						  : "asking for the sandbox",
				    .flags = REST_AGAIN | REST_MISSING_OK };
	int rc = vendor_api(c, &ask, answer, stop, err);

	free(path);
	free(bare);
	free(query);
	return rc == 0 ? unwrap_answer(v, answer, err) : rc;
}

static int get_state(struct vendor_client *c, const char *id, cJSON **answer,
		     const struct stop *stop, struct error *err)
{
	return get_sandbox(c, id, "", answer, stop, err);
}

/* Resumes a stopped sandbox. */
static int resume_sandbox(struct sandbox *sb, const char *id, cJSON **answer,
			  const struct stop *stop, struct error *err)
{
	int rc = get_sandbox(sb->client->priv, id, "&resume=true", answer, stop,
			     err);

	if (rc == 0 && vendor_state(&vercel_v2, *answer)->step == STEP_START)
		return error_set(err, ERR_GONE,
				 "the sandbox %s does not resume", id);
	return rc;
}

/* Returns how many ms the session has left, computed from its own times. */
static int64_t remaining_ms(const cJSON *session)
{
	int64_t timeout = json_int(session, "timeout", 0);
	int64_t begin = json_int(session, "startedAt",
				 json_int(session, "requestedAt", 0));
	int64_t gone = clock_unix_ms() - begin;

	if (timeout <= 0)
		return 0;
	if (begin <= 0 || gone < 0)
		return timeout;
	return gone < timeout ? timeout - gone : 0;
}

/* Sets the session's address, to which commands and files are sent. */
static int set_endpoint(struct sandbox *sb, const cJSON *answer,
			const struct stop *stop, struct error *err)
{
	const struct vercel *v = sb->client->priv;
	const cJSON *session = session_of(v, answer);
	struct vendor_box *b = vendor_box(sb);
	struct rest server = { .http = sb->client->http };
	int rc = vendor_bearer(&server, v->token, err);

	(void)stop;
	server.base = xasprintf("%s%s%s", v->kit.api.base, session_path(v),
				json_string(session, "id", ""));
	if (rc == 0) {
		vendor_set_server(sb, &server);
		pthread_mutex_lock(&b->lock);
		b->ends = clock_ms() + remaining_ms(session);
		pthread_mutex_unlock(&b->lock);
	}
	rest_release(&server);
	return rc;
}

/* Extends a sandbox to which dcode attached, because it may have little time
 * left. */
static int touch_attached(struct sandbox *sb, const struct stop *stop,
			  struct error *err)
{
	(void)err;
	vendor_touch(sb, stop);
	return 0;
}

/* Moves the session's end to lifetime_s from now. The API expects the time to
 * add to the current end. */
static int extend_life(struct sandbox *sb, int64_t lifetime_s,
		       const struct stop *stop, struct error *err)
{
	struct vendor_box *b = vendor_box(sb);
	char *path = vercel_path(sb->client->priv, "/extend-timeout", "");
	struct http_response res = { 0 };
	struct http_request ask = { .method = "POST",
				    .path = path,
				    .what = "extending the sandbox's life",
				    .flags = REST_AGAIN };
	int64_t more;
	char *body;
	int rc = 0;

	pthread_mutex_lock(&b->lock);
	more = clock_ms() + lifetime_s * 1000 - b->ends;
	pthread_mutex_unlock(&b->lock);
	body = xasprintf("{\"duration\":%lld}", (long long)more);
	ask.body = str_of(body);
	if (more >= EXTEND_LEAST_MS)
		rc = rest_call(vendor_server(sb), &ask, &res, stop, err);
	if (rc < 0 && err->http_status == 410)
		err->code = ERR_GONE;
	http_response_release(&res);
	free(body);
	free(path);
	return rc;
}

/* Returns the path of the sandbox with this name; owned by the caller. */
static char *name_path(const struct vercel *v, const char *id, const char *more)
{
	char *query = xasprintf("%s%s", v->query, more);
	char *bare = xasprintf("/v2/sandboxes/%s", id);
	char *path = vercel_path(v, bare, query);

	free(query);
	free(bare);
	return path;
}

static int send_policy(struct vendor_client *c, const char *method,
		       const char *path, const cJSON *body,
		       const struct stop *stop, struct error *err)
{
	const struct http_request ask = { .method = method,
					  .path = path,
					  .what = "changing the network",
					  .flags = REST_AGAIN };

	return vendor_post(c, &ask, body, NULL, stop, err);
}

/* Moves the item "*" out of the list of names. True if there was one. */
static bool take_open(cJSON *names)
{
	cJSON *item;

	cJSON_ArrayForEach (item, names)
		if (cJSON_IsString(item) && !strcmp(item->valuestring, "*")) {
			cJSON_Delete(cJSON_DetachItemViaPointer(names, item));
			return true;
		}
	return false;
}

static const cJSON *rules_of(const cJSON *policy)
{
	return json_get(policy, "injectionRules");
}

/* True if the session has rules that put secrets in. */
static bool has_rules(const cJSON *session)
{
	return cJSON_GetArraySize(rules_of(json_get(session, "networkPolicy")));
}

/* Returns all names and networks that the policy allows. A name with a rule is
 * one of them even if it is not in the list. */
static cJSON *allowed_by(const cJSON *policy, bool *open)
{
	cJSON *allow =
		cJSON_Duplicate(json_get(policy, "allowedDomains"), true);
	const cJSON *item;

	if (!allow)
		allow = cJSON_CreateArray();
	cJSON_ArrayForEach (item, rules_of(policy))
		cJSON_AddItemToArray(allow, cJSON_CreateString(json_string(
						    item, "domain", "")));
	*open = take_open(allow);
	cJSON_ArrayForEach (item, json_get(policy, "allowedCIDRs"))
		cJSON_AddItemToArray(allow, cJSON_Duplicate(item, true));
	return allow;
}

static int read_policy(struct network *n, const cJSON *session,
		       struct error *err)
{
	const cJSON *policy = json_get(session, "networkPolicy");
	const char *mode = json_string(policy, "mode", "allow-all");
	bool open;
	cJSON *allow;
	int rc = 0;

	if (strcmp(mode, "custom") != 0) {
		n->mode =
			!strcmp(mode, "deny-all") ? NETWORK_NONE : NETWORK_FULL;
		return 0;
	}
	allow = allowed_by(policy, &open);
	rc = body_read_hosts(n, open ? NULL : allow,
			     json_get(policy, "deniedCIDRs"), open, err);
	cJSON_Delete(allow);
	return rc;
}

/* Changes the sandbox, for its next session, and then the session that runs, as
 * the SDK does. What the vendor returns has no values of secrets, so rules can
 * be sent again only by the dcode that created the sandbox. */
static int set_network(struct sandbox *sb, const struct network *n,
		       const struct stop *stop, struct error *err)
{
	struct vercel *v = sb->client->priv;
	cJSON *policy = network_policy(n, &sb->secrets, v->v1);
	cJSON *body = cJSON_CreateObject();
	char *path = name_path(v, sb->id, "");
	cJSON *info = NULL;
	char *bare;
	int rc = vendor_get(&v->kit, sb->id, &info, stop, err);

	cJSON_AddItemToObject(body, "networkPolicy", policy);
	if (rc > 0)
		rc = error_set(err, ERR_GONE, "the sandbox has ended");
	if (rc == 0 && !sb->secrets.n && has_rules(session_of(v, info)))
		rc = error_set(err, ERR_USAGE,
			       "a change would remove its secrets: Vercel does "
			       "not return their values, and this dcode did "
			       "not create the sandbox");
	if (rc == 0 && !v->v1)
		rc = send_policy(&v->kit, "PATCH", path, body, stop, err);
	free(path);
	bare = xasprintf("%s%s/network-policy", session_path(v),
			 json_string(session_of(v, info), "id", ""));
	path = vercel_path(v, bare, "");
	if (rc == 0)
		rc = send_policy(&v->kit, "POST", path, policy, stop, err);
	free(bare);
	free(path);
	cJSON_Delete(info);
	body_wipe(body);
	return rc;
}

static int get_network(struct sandbox *sb, struct network *n,
		       const struct stop *stop, struct error *err)
{
	struct vercel *v = sb->client->priv;
	cJSON *info = NULL;
	int rc = vendor_get(&v->kit, sb->id, &info, stop, err);

	if (rc > 0)
		rc = error_set(err, ERR_GONE, "the sandbox has ended");
	if (rc == 0)
		rc = read_policy(n, session_of(v, info), err);
	cJSON_Delete(info);
	return rc;
}

/* Stops the sandbox's session. One that has already ended is not an error. */
static int stop_session(struct vendor_client *c, const cJSON *sandbox,
			const struct stop *stop, struct error *err)
{
	const struct vercel *v = (const struct vercel *)c;
	const char *id = json_string(session_of(v, sandbox), "id", "");
	struct http_request ask = { .method = "POST",
				    .what = "stopping the sandbox",
				    .flags = REST_MISSING_OK };
	struct error why = { 0 };
	char *bare;
	char *path;
	int rc;

	bare = xasprintf("%s%s/stop", session_path(v), id);
	path = vercel_path(v, bare, "");
	ask.path = path;
	rc = vendor_api(c, &ask, NULL, stop, &why);
	free(path);
	free(bare);
	/* The session is ending or has already ended. */
	if (rc >= 0 || why.http_status == 409 || why.http_status == 410 ||
	    why.http_status == 422)
		return 0;
	*err = why;
	return -1;
}

static int halt_sandbox(struct vendor_client *c, const char *id,
			const cJSON *sandbox, const struct stop *stop,
			struct error *err)
{
	(void)id;
	return stop_session(c, sandbox, stop, err);
}

/* Makes a sandbox persistent. Call before a stop: only the stop of a persistent
 * sandbox leaves a snapshot from which it can be resumed. A new snapshot
 * replaces the previous one. Snapshots are kept for at least a day. */
static int make_persistent(struct vendor_client *c, const char *id,
			   int64_t *keep_s, const struct stop *stop,
			   struct error *err)
{
	const struct vercel *v = (const struct vercel *)c;
	int64_t seconds = *keep_s > DAY_S ? *keep_s : DAY_S;
	char *path = name_path(v, id, "");
	char *body = xasprintf("{\"persistent\":true,\"keepLastSnapshots\":{"
			       "\"count\":1,\"expiration\":%lld,"
			       "\"deleteEvicted\":true}}",
			       (long long)seconds * 1000);
	struct http_request ask = { .method = "PATCH",
				    .path = path,
				    .body = str_of(body),
				    .what = "making the sandbox persistent",
				    .flags = REST_AGAIN };
	int rc = vendor_api(c, &ask, NULL, stop, err);

	*keep_s = seconds;
	free(body);
	free(path);
	return rc;
}

/* Deletes a sandbox. Status 409 or 422: its state is changing. orphans: also
 * deletes the snapshots that stops of the sandbox have left. */
static int delete_name(struct vendor_client *c, const char *id, bool orphans,
		       const struct stop *stop, struct error *err)
{
	const struct vercel *v = (const struct vercel *)c;
	char *path =
		name_path(v, id, orphans ? "&deleteOrphanSnapshots=true" : "");
	struct http_request ask = { .method = "DELETE",
				    .path = path,
				    .what = "deleting the sandbox",
				    .flags = REST_MISSING_OK };
	struct error why = { 0 };
	int rc = vendor_api(c, &ask, NULL, stop, &why);

	free(path);
	if (rc >= 0 || why.http_status == 410)
		return 0;
	if (why.http_status == 409 || why.http_status == 422)
		why.code = ERR_BUSY;
	*err = why;
	return -1;
}

/* Ends a sandbox. v1 has no delete request: it is enough that the session is
 * stopped. In v2, a session that would leave a snapshot is not stopped: it ends
 * when its sandbox is deleted. */
static int end_sandbox(struct vendor_client *c, const char *id, cJSON **answer,
		       const struct stop *stop, struct error *err)
{
	struct error why = { 0 };
	bool persistent;
	int rc = vendor_get(c, id, answer, stop, &why);

	if (rc < 0 && why.http_status == 410)
		return 1;
	if (rc < 0 && why.code == ERR_PROTOCOL && c->vendor == &vercel_v2)
		/* the sandbox has no session */
		return delete_name(c, id, false, stop, err);
	if (rc < 0)
		*err = why;
	persistent = json_bool(*answer, "persistent", false);
	if (rc == 0 && !persistent &&
	    vendor_state(c->vendor, *answer)->step != STEP_ENDED)
		rc = stop_session(c, *answer, stop, err);
	if (rc == 0 && c->vendor == &vercel_v2)
		rc = delete_name(c, id, persistent, stop, err);
	return rc;
}

static void list_path(const struct vendor_client *c, struct buf *path,
		      const char *label, const char *value)
{
	const struct vercel *v = (const struct vercel *)c;
	char *project = project_query(v, "project");

	buf_addf(path, "/v2/sandboxes?teamId=%s%s&limit=50", v->team, project);
	if (label) {
		buf_addf(path, "&tags=%s%%3A", label);
		rest_encode(path, str_of(value));
	} else {
		buf_adds(path, "&sortBy=name&namePrefix=dcode-");
	}
	free(project);
}

static void next_path(struct buf *path, const char *first, const cJSON *page,
		      int64_t seen)
{
	const char *cursor =
		json_string(json_get(page, "pagination"), "next", "");

	(void)seen;
	if (!*cursor)
		return;
	buf_addf(path, "%s&cursor=", first);
	rest_encode(path, str_of(cursor));
}

static const struct vendor_pages pages = { .items = "sandboxes",
					   .next = next_path };

/* Lists nothing: v1 has no labels, so dcode cannot recognise its sandboxes. */
static int list_nothing(struct vendor_client *c,
			bool (*each)(void *arg, const cJSON *item), void *arg,
			const struct stop *stop, struct error *err)
{
	(void)c;
	(void)each;
	(void)arg;
	(void)stop;
	(void)err;
	return 0;
}

struct session_search {
	const char *session;
	char *name; /* owned: name of the session's sandbox */
};

static bool on_sandbox(void *arg, const cJSON *item)
{
	struct session_search *s = arg;
	const char *name = json_string(item, "name", "");

	if (vendor_id_ok(name) &&
	    strcmp(json_string(item, "currentSessionId", ""), s->session) == 0)
		s->name = xstrdup(name);
	return !s->name;
}

/* Attaches to a sandbox. id may also be that of a session; its sandbox is then
 * searched in the list. */
static int vercel_attach(struct sandbox *sb, const char *id,
			 const struct stop *stop, struct error *err)
{
	const struct vercel *v = sb->client->priv;
	struct session_search s = { .session = id };
	struct vendor_query q = { .pages = &pages,
				  .each = on_sandbox,
				  .arg = &s };
	char *project;
	char *path;
	int rc;

	if (v->v1 || !str_starts(str_of(id), "sbx_"))
		return vendor_attach(sb, id, stop, err);
	project = project_query(v, "project");
	path = xasprintf("/v2/sandboxes?teamId=%s%s&limit=50", v->team,
			 project);
	q.path = path;
	rc = vendor_pages(sb->client->priv, &q, stop, err);
	if (rc == 0 && !s.name)
		rc = error_set(err, ERR_NOT_FOUND,
			       "no sandbox has the session %.100s", id);
	if (rc == 0)
		rc = vendor_attach(sb, s.name, stop, err);
	free(s.name);
	free(path);
	free(project);
	return rc;
}

static void add_end(const cJSON *item, struct sandbox_info *info)
{
	int64_t timeout = json_int(item, "timeout", 0) / 1000;

	if (info->state == STATE_RUNNING && info->created > 0 && timeout > 0 &&
	    timeout < INT64_MAX - info->created)
		info->ends = info->created + timeout;
}

static void free_client(struct vendor_client *c)
{
	struct vercel *v = (struct vercel *)c;

	free(v->project);
	free(v->query);
	free(v->team);
	free(v->endpoint);
}

/* Memory is billed as allocated, CPU as used. Traffic, storage and creations
 * ($0.60 for a million) are not counted here
 * (vercel.com/docs/vercel-sandbox/pricing, as of 2025-11-26). */
static const struct rates rates = {
	.vcpu = RATES_HOUR(0.128),
	.gib = RATES_HOUR(0.0212),
};

/* Computes the price. Unknown if the number of CPUs is not set, because the
 * account's plan then decides it. */
static int vercel_price(const struct settings *set, const char *snapshot,
			struct sandbox_price *price, struct error *err)
{
	int64_t vcpus = 0;
	struct rates_size size = { 0 };

	(void)snapshot;
	if (settings_int(set, "vercel", "vcpus", &vcpus, err) < 0)
		return -1;
	if (vcpus <= 0)
		return 0;
	size.milli_vcpu = vcpus * 1000;
	size.mib = vcpus * MIB_EACH;
	price->usd_s = rates_price(&rates, &size);
	price->at_most = true;
	return 0;
}

static const struct vendor_state states_v1[] = {
	{ "pending", STATE_STARTING, STEP_WAIT, false },
	{ "running", STATE_RUNNING, STEP_READY, false },
	{ "stopping", STATE_STOPPED, STEP_ENDING, false },
	{ "snapshotting", STATE_STOPPED, STEP_ENDING, false },
	{ "stopped", STATE_STOPPED, STEP_ENDED, false },
	{ "failed", STATE_STOPPED, STEP_ENDED, false },
	{ "aborted", STATE_STOPPED, STEP_ENDED, false },
	{ 0 },
};

static const struct vendor_state states_v2[] = {
	{ "pending", STATE_STARTING, STEP_WAIT, false },
	{ "running", STATE_RUNNING, STEP_READY, false },
	{ "stopping", STATE_STOPPED, STEP_WAIT, false },
	{ "snapshotting", STATE_STOPPED, STEP_WAIT, false },
	{ "resumable", STATE_STOPPED, STEP_START, false },
	{ "stopped", STATE_STOPPED, STEP_ENDED, false },
	{ "failed", STATE_STOPPED, STEP_ENDED, false },
	{ "aborted", STATE_STOPPED, STEP_ENDED, false },
	{ 0 },
};

/* The members of struct vendor that are the same for both versions of the
 * API. */
#define BOTH_VERSIONS                                                          \
	.noun = "sandbox",                                                     \
	.auth_hint = "Check that the token is valid for this team and "        \
		     "project, and not "                                       \
		     "expired: https://vercel.com/account/tokens",             \
	.client_size = sizeof(struct vercel),                                  \
	.box_size = sizeof(struct vendor_box), .pages = &pages,                \
	.wait_ms = WAIT_MS, .describe = describe, .vault = &vault,             \
	.get = get_state, .end = end_sandbox, .post = post_create,             \
	.start = resume_sandbox, .set_endpoint = set_endpoint,                 \
	.prepare = touch_attached, .extend = extend_life, .info = add_end,     \
	.call = vercel_call,                                                   \
	.max_command = 1 << 20, /* of all arguments; Linux takes 2 MiB */      \
		.max_answer = 4 << 20,                                         \
	.may_be_gone = (const int[]){ 404, 410, 422, 0 },                      \
	.files = &vercel_files, .close = free_client

static const struct vendor vercel_v1 = {
	BOTH_VERSIONS,
	.fields = { .id = "id",
		    .state = "status",
		    .created = "createdAt",
		    .image = { "image", "runtime" } },
	.states = states_v1,
	.awaits_end = true,
	.items = list_nothing,
};

static const struct vendor vercel_v2 = {
	BOTH_VERSIONS,
	.fields = { .id = "name",
		    .labels = "tags",
		    .state = "status",
		    .created = "createdAt",
		    .image = { "image", "runtime" } },
	.states = states_v2,
	.hold = make_persistent,
	.halt = halt_sandbox,
	.unique_names = true,
	.name_is_id = true,
	.list_path = list_path,
};

static const struct sandbox_ops ops = {
	VENDOR_OPS,
	.open = vercel_open,
	.attach = vercel_attach,
	.execute = vendor_execute,
	.set_network = set_network,
	.get_network = get_network,
	.ports = &vercel_ports,
};

const struct sandbox_provider vercel_provider = {
	.name = "vercel",
	.summary = "sandboxes of Vercel",
	.workdir = "/vercel/sandbox",
	.flags = SANDBOX_ATTACH | SANDBOX_SNAPSHOT | SANDBOX_LIVE |
		 SANDBOX_NETWORK | SANDBOX_LIST | SANDBOX_PLACED |
		 SANDBOX_PLACED_AGAIN,
	.network = &network_limits,
	.secrets = &secret_limits,
	.max_command = COMMAND_MAX,
	.lifetime_s = LIFETIME_S,
	.settings = settings,
	.url_env = (const char *const[]){ "VERCEL_API_URL", NULL },
	.ops = &ops,
	.price = vercel_price,
	/* Firecracker: each sandbox has its own kernel */
	.isolation = ISOLATION_MICROVM,
	.isolation_source =
		"vercel.com/docs/sandbox/concepts/security, 2026-11-23",
};
