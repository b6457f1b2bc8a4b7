/* daytona.c - sandboxes of Daytona: the account and its addresses. */
/* SPDX-License-Identifier: MIT */
#include "providers/daytona/daytona.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "providers/table.h"

enum { COMMAND_MAX = 512 << 10, KEEP_MS = 10000 };

/* From 0.167.0 on the server tells standard output and error output apart and
 * answers in JSON. */
static const char version[] = "0.190.0";

struct daytona *daytona_of(const struct sandbox_client *host)
{
	return host->priv;
}

bool daytona_id_ok(const char *id)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyz"
				      "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789-_";
	size_t len = strlen(id);

	return len && len <= DAYTONA_ID_MAX && strspn(id, allowed) == len;
}

static int no_key(struct error *err)
{
	error_set(err, ERR_AUTH, "DAYTONA_API_KEY is not set");
	return error_hint(err, "Get a key at https://app.daytona.io/dashboard/"
			       "keys, then export DAYTONA_API_KEY=dtn_...");
}

static int no_organization(struct error *err)
{
	error_set(err, ERR_AUTH,
		  "DAYTONA_JWT_TOKEN is set, but DAYTONA_ORGANIZATION_ID is "
		  "not");
	return error_hint(err,
			  "Set DAYTONA_ORGANIZATION_ID to the id that "
			  "https://app.daytona.io/dashboard shows in Settings, "
			  "or use a DAYTONA_API_KEY.");
}

static int add_bearer(struct rest *r, const char *token, struct error *err)
{
	char *value = xasprintf("Bearer %s", token);
	int rc = rest_header(r, "Authorization", value, err);

	explicit_bzero(value, strlen(value));
	free(value);
	return rc;
}

/* What both servers are told. */
static int add_headers(struct rest *r, const struct settings *set,
		       const char **project, struct error *err)
{
	const char *key = settings_credential(set, "DAYTONA_API_KEY", project);
	const char *jwt =
		key ? NULL
		    : settings_credential(set, "DAYTONA_JWT_TOKEN", project);
	const char *org = settings_env(set, "DAYTONA_ORGANIZATION_ID");

	if (!key && !jwt)
		return no_key(err);
	if (!key && !org)
		return no_organization(err);
	if (add_bearer(r, key ? key : jwt, err) < 0 ||
	    (!key &&
	     rest_header(r, "X-Daytona-Organization-ID", org, err) < 0) ||
	    rest_header(r, "X-Daytona-Source", "dcode", err) < 0)
		return -1;
	return rest_header(r, "X-Daytona-SDK-Version", version, err);
}

static void daytona_close(struct sandbox_client *host)
{
	struct daytona *d = daytona_of(host);

	if (!d)
		return;
	rest_release(&d->api);
	free(d);
	host->priv = NULL;
	host->endpoint = NULL;
}

static int daytona_open(struct sandbox_client *host, const struct settings *set,
			struct error *err)
{
	static const char *const variables[] = { "DAYTONA_API_URL",
						 "DAYTONA_SERVER_URL", NULL };
	struct daytona *d = xcalloc(1, sizeof(*d));

	host->priv = d;
	d->api.http = host->http;
	d->settings = set;
	if (add_headers(&d->api, set, &host->project_key, err) < 0 ||
	    rest_header(&d->api, "Accept", "application/json", err) < 0 ||
	    rest_address(&d->api.base, set, variables,
			 "https://app.daytona.io/api", err) < 0)
		return -1;
	host->endpoint = d->api.base;
	return 0;
}

int daytona_api(struct daytona *d, const struct rest_ask *ask, cJSON **tree,
		int *status, const struct stop *stop, struct error *err)
{
	cJSON *ignored = NULL;
	int rc = rest_json(&d->api, ask, tree ? tree : &ignored, status, stop,
			   err);

	cJSON_Delete(ignored);
	if (rc < 0 && err->code == ERR_AUTH && !err->hint[0])
		error_hint(err, "Is DAYTONA_API_KEY a key of this account, and "
				"may it do this? See "
				"https://app.daytona.io/dashboard/keys");
	return rc;
}

int daytona_toolbox(struct sandbox *sb, struct rest *r, struct error *err)
{
	struct daytona_box *b = sb->priv;

	*r = (struct rest){ .http = sb->host->http };
	pthread_mutex_lock(&b->lock);
	r->base = xstrdup(b->base);
	pthread_mutex_unlock(&b->lock);
	return add_headers(r, sb->host->settings, NULL, err);
}

void daytona_keep(struct sandbox *sb, const struct stop *stop)
{
	struct daytona_box *b = sb->priv;
	struct stop within = stop_within(stop, KEEP_MS);
	struct rest_ask ask = { .method = "POST",
				.what = "keeping the sandbox alive" };
	struct error ignored = { 0 };
	int64_t now = clock_ms();
	char *path;
	bool due;

	pthread_mutex_lock(&b->lock);
	due = b->stop_s > 0 && now - b->active > b->stop_s * 500;
	if (due)
		b->active = now;
	pthread_mutex_unlock(&b->lock);
	if (!due)
		return;
	path = xasprintf("/sandbox/%s/last-activity", sb->id);
	ask.path = path;
	(void)daytona_api(daytona_of(sb->host), &ask, NULL, NULL, &within,
			  &ignored);
	free(path);
}

static void daytona_discard(struct sandbox *sb)
{
	struct daytona_box *b = sb->priv;

	if (!b)
		return;
	free(b->base);
	pthread_mutex_destroy(&b->lock);
	free(b);
	sb->priv = NULL;
}

static const struct sandbox_ops ops = {
	.open = daytona_open,
	.close = daytona_close,
	.create = daytona_create,
	.attach = daytona_attach,
	.list = daytona_list,
	.info = daytona_info,
	.extend = daytona_extend,
	.snapshot = daytona_snapshot,
	.find_snapshot = daytona_find_snapshot,
	.execute = daytona_execute,
	.upload = daytona_upload,
	.download = daytona_download,
	.remove = daytona_remove,
	.discard = daytona_discard,
};

const struct sandbox_provider daytona_provider = {
	.name = "daytona",
	.summary = "sandboxes of Daytona",
	.workdir = "/home/daytona",
	.flags = SANDBOX_ATTACH | SANDBOX_SNAPSHOT | SANDBOX_LIVE |
		 SANDBOX_NETWORK | SANDBOX_LIST,
	.max_command = COMMAND_MAX,
	.lifetime_s = DAYTONA_LIFETIME_S,
	.settings = daytona_settings,
	.url_env = (const char *const[]){ "DAYTONA_API_URL",
					  "DAYTONA_SERVER_URL", NULL },
	.ops = &ops,
};
