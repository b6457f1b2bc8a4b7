/* open.c - whose account it is: tokens, project, team, address. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "providers/kit/rest.h"
#include "providers/vercel/vercel.h"

enum { SCOPE_MAX = 200 };

struct access { /* borrowed but for claims */
	const char *token;
	const char *project;
	const char *team;
	const char *project_key; /* as in struct sandbox_client */
	cJSON *claims;           /* owned: those of an OIDC token */
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

static int missing(const struct access *a, struct error *err)
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

/* The OIDC token goes first, as in the SDK, unless the other is asked for by
 * a variable of dcode's own. */
static int find_access(const struct settings *set, struct access *a,
		       struct error *err)
{
	static const char *const own[] = { "DEEPAGENTS_CODE_VERCEL_TOKEN",
					   "DEEPAGENTS_CODE_VERCEL_PROJECT_ID",
					   "DEEPAGENTS_CODE_VERCEL_TEAM_ID" };
	const char *oidc =
		settings_credential(set, "VERCEL_OIDC_TOKEN", &a->project_key);
	/* A stored token is dcode's own too, but for one that is set for it. */
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
	return missing(a, err);
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

int vercel_open(struct sandbox_client *client, const struct settings *set,
		struct error *err)
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
		/* It keeps no labels, and nothing of what has stopped. */
		client->lacks = SANDBOX_LIST | SANDBOX_STOP;
	return rc;
}
