/* runloop.c - devboxes of Runloop: the account, attaching, the table row. */
/* SPDX-License-Identifier: MIT */
#include "providers/runloop/runloop.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "providers/table.h"

enum { COMMAND_MAX = 64 << 10 };

static int no_key(struct error *err)
{
	error_set(err, ERR_AUTH, "RUNLOOP_API_KEY is not set");
	return error_hint(err, "Get a key at https://platform.runloop.ai "
			       "(Settings, API Keys), then export "
			       "RUNLOOP_API_KEY=ak_...");
}

static void runloop_close(struct sandbox_client *host)
{
	struct runloop *r = runloop_of(host);

	if (!r)
		return;
	rest_release(&r->api);
	create_log_release(&r->tried);
	free(r);
	host->priv = NULL;
	host->endpoint = NULL;
}

static int runloop_open(struct sandbox_client *host, const struct settings *set,
			struct error *err)
{
	static const char *const variables[] = { "RUNLOOP_BASE_URL", NULL };
	struct runloop *r = xcalloc(1, sizeof(*r));
	const char *key =
		settings_credential(set, "RUNLOOP_API_KEY", &host->project_key);
	char *bearer;
	int rc;

	host->priv = r;
	r->api.http = host->http;
	r->settings = set;
	create_log_init(&r->tried);
	if (!key)
		return no_key(err);
	if (rest_address(&r->api.base, set, variables, "https://api.runloop.ai",
			 err) < 0)
		return -1;
	bearer = xasprintf("Bearer %s", key);
	rc = rest_header(&r->api, "Authorization", bearer, err);
	explicit_bzero(bearer, strlen(bearer));
	free(bearer);
	host->endpoint = r->api.base;
	return rc;
}

static int runloop_attach(struct sandbox *sb, const char *id,
			  const struct stop *stop, struct error *err)
{
	struct runloop *r = runloop_of(sb->host);
	const char *dir = NULL;
	char status[RUNLOOP_STATUS];

	if (!runloop_id_ok(id))
		return error_set(err, ERR_USAGE, "'%.100s' is no devbox id",
				 id);
	if (settings_string(r->settings, "runloop", "workdir", &dir, err) < 0 ||
	    runloop_status(r, id, status, stop, err) < 0)
		return -1;
	if (runloop_run(r, id, status, NULL, stop, err) < 0) {
		if (err->code == ERR_GONE)
			err->code = ERR_NOT_FOUND;
		return -1;
	}
	sb->id = xstrdup(id);
	if (dir)
		sb->workdir = xstrdup(dir);
	return 0;
}

/* Starts the idle time again; one that somebody made with a fixed lifetime
 * instead cannot be extended. */
static int runloop_extend(struct sandbox *sb, int64_t lifetime_s,
			  const struct stop *stop, struct error *err)
{
	char *path = xasprintf("/v1/devboxes/%s/keep_alive", sb->id);
	struct rest_ask ask = { .method = "POST",
				.path = path,
				.what = "extending the devbox's life",
				.flags = REST_AGAIN };
	int rc = runloop_api(runloop_of(sb->host), &ask, NULL, NULL, stop, err);

	(void)lifetime_s;
	if (rc < 0 && err->code == ERR_NOT_FOUND)
		err->code = ERR_GONE;
	free(path);
	return rc;
}

static void runloop_discard(struct sandbox *sb)
{
	sb->priv = NULL;
}

static const struct sandbox_ops ops = {
	.open = runloop_open,
	.close = runloop_close,
	.create = runloop_create,
	.attach = runloop_attach,
	.list = runloop_list,
	.info = runloop_info,
	.extend = runloop_extend,
	.execute = runloop_execute,
	.upload = runloop_upload,
	.download = runloop_download,
	.remove = runloop_remove,
	.discard = runloop_discard,
};

const struct sandbox_provider runloop_provider = {
	.name = "runloop",
	.summary = "devboxes of Runloop",
	.workdir = "/home/user",
	.flags = SANDBOX_ATTACH | SANDBOX_SNAPSHOT | SANDBOX_LIVE |
		 SANDBOX_NETWORK | SANDBOX_LIST,
	.max_command = COMMAND_MAX,
	.lifetime_s = RUNLOOP_LIFETIME_S,
	.settings = runloop_settings,
	.url_env = (const char *const[]){ "RUNLOOP_BASE_URL", NULL },
	.ops = &ops,
};
