/* deno.c - sandboxes of Deno Deploy: the account, and one's life. */
/* SPDX-License-Identifier: MIT */
#include "providers/deno/deno.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"

enum {
	COMMAND_MAX = 80 << 10, /* one argument, 128 KiB, once encoded */
	ID_PREFIX = 8,          /* "sbx_ord_" */
	ID_MAX = 128,
	DOMAIN_MAX = 200,
	UNKNOWN_MS = 30000, /* after attaching */
	DELETE_MS = 20000,  /* the SDK waits for 10 s: it has been seen to hang
			     */
};

struct deno *deno_of(const struct sandbox_client *host)
{
	return host->priv;
}

bool deno_region_ok(const char *region)
{
	return strlen(region) == DENO_REGION - 1 &&
	       strspn(region, "abcdefghijklmnopqrstuvwxyz") == DENO_REGION - 1;
}

bool deno_id_ok(const char *id)
{
	size_t len = strlen(id);
	char region[DENO_REGION] = { 0 };

	if (len <= ID_PREFIX || len > ID_MAX || strncmp(id, "sbx_", 4) != 0 ||
	    id[ID_PREFIX - 1] != '_')
		return false;
	memcpy(region, id + 4, DENO_REGION - 1);
	return deno_region_ok(region) &&
	       strspn(id + ID_PREFIX, "abcdefghijklmnopqrstuvwxyz"
				      "0123456789") == len - ID_PREFIX;
}

void deno_add_hint(struct error *err)
{
	if (err->code == ERR_AUTH && !err->hint[0])
		error_hint(err, "Check that DENO_DEPLOY_TOKEN is a token of "
				"this organization: https://console.deno.com "
				"(Settings, Access Tokens)");
}

static int no_token(struct error *err)
{
	error_set(err, ERR_AUTH,
		  "No Deno Deploy token found. Set DENO_DEPLOY_TOKEN (or "
		  "DEEPAGENTS_CODE_DENO_DEPLOY_TOKEN)");
	return error_hint(err,
			  "Make an organization token at "
			  "https://console.deno.com (Settings, Access "
			  "Tokens), then export DENO_DEPLOY_TOKEN=ddo_...");
}

static int no_org(struct error *err)
{
	error_set(err, ERR_AUTH,
		  "DENO_DEPLOY_TOKEN is not an organization token (ddo_...), "
		  "and no organization is named. Set DENO_DEPLOY_ORG");
	return error_hint(err, "Run export DENO_DEPLOY_ORG=... (the name in "
			       "the address of your console.deno.com page).");
}

/* What every request carries. */
static int add_headers(const struct deno *d, struct rest *r, struct error *err)
{
	char *bearer = xasprintf("Bearer %s", d->token);
	int rc = rest_header(r, "Authorization", bearer, err);

	mem_wipe(bearer);
	if (rc == 0 && d->org)
		rc = rest_header(r, "X-Deno-Org", d->org, err);
	return rc;
}

static int set_domain(struct deno *d, struct error *err)
{
	const char *domain =
		settings_env(d->settings, "DENO_SANDBOX_BASE_DOMAIN");
	size_t len = domain ? strlen(domain) : 0;

	d->domain = domain ? domain : "sandbox-api.deno.net";
	if (domain && (!len || len > DOMAIN_MAX ||
		       strspn(domain, "abcdefghijklmnopqrstuvwxyz"
				      "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789.-") != len))
		return error_set(
			err, ERR_CONFIG,
			"DENO_SANDBOX_BASE_DOMAIN=%.200s is not a domain",
			domain);
	return 0;
}

static int set_addresses(struct deno *d, struct error *err)
{
	static const char *const console[] = { "DENO_DEPLOY_ENDPOINT", NULL };
	static const char *const sandbox[] = { "DENO_SANDBOX_ENDPOINT", NULL };

	if (rest_address(&d->console.base, d->settings, console,
			 "https://console.deno.com", err) < 0)
		return -1;
	if (settings_env(d->settings, sandbox[0]) &&
	    rest_address(&d->fixed, d->settings, sandbox, "", err) < 0)
		return -1;
	return set_domain(d, err);
}

static void deno_close(struct sandbox_client *host)
{
	struct deno *d = deno_of(host);

	if (!d)
		return;
	rest_release(&d->console);
	create_log_release(&d->tried);
	free(d->fixed);
	free(d->endpoint);
	free(d);
	host->priv = NULL;
	host->endpoint = NULL;
}

static int deno_open(struct sandbox_client *host, const struct settings *set,
		     struct error *err)
{
	struct deno *d = xcalloc(1, sizeof(*d));

	host->priv = d;
	create_log_init(&d->tried);
	d->console.http = host->http;
	d->settings = set;
	d->token = settings_credential(set, "DENO_DEPLOY_TOKEN",
				       &host->project_key);
	d->org = settings_env(set, "DENO_DEPLOY_ORG");
	if (!d->token)
		return no_token(err);
	if (!d->org && strncmp(d->token, "ddo_", 4) != 0)
		return no_org(err);
	if (set_addresses(d, err) < 0 || add_headers(d, &d->console, err) < 0)
		return -1;
	d->endpoint = xasprintf("%s%s%s", d->console.base, d->org ? "/" : "",
				d->org ? d->org : "");
	host->endpoint = d->endpoint;
	return 0;
}

int deno_server(const struct deno *d, const char *region, struct rest *r,
		struct error *err)
{
	char name[DENO_REGION] = { 0 };

	if (strncmp(region, "sbx_", 4) == 0)
		region += 4;
	snprintf(name, sizeof(name), "%.*s", DENO_REGION - 1, region);
	*r = (struct rest){ .http = d->console.http };
	r->base = d->fixed ? xstrdup(d->fixed)
			   : xasprintf("https://%s.%s", name, d->domain);
	return add_headers(d, r, err);
}

struct deno_box *deno_box(struct sandbox *sb)
{
	struct deno_box *b = sb->priv;

	if (!b) {
		b = xcalloc(1, sizeof(*b));
		pthread_mutex_init(&b->dial, NULL);
		pthread_mutex_init(&b->lock, NULL);
		b->rpc = deno_rpc_new();
		sb->priv = b;
	}
	return b;
}

static int deno_attach(struct sandbox *sb, const char *id,
		       const struct stop *stop, struct error *err)
{
	struct deno_box *b = deno_box(sb);
	int64_t lifetime = 0;

	if (!deno_id_ok(id))
		return error_set(err, ERR_USAGE, "not a sandbox id: '%.100s'",
				 id);
	if (settings_int(sb->host->settings, "deno", "lifetime", &lifetime,
			 err) < 0)
		return -1;
	b->lifetime_s = lifetime > 0 ? lifetime : DENO_LIFETIME_S;
	b->attached = clock_ms();
	sb->id = xstrdup(id);
	if (deno_set_workdir(sb, stop, err) == 0)
		return 0;
	/* It has not ended under us: it never was there. */
	if (err->code == ERR_GONE) {
		*err = (struct error){ 0 };
		error_set(err, ERR_NOT_FOUND, "sandbox not found: %s", id);
	}
	return -1;
}

/*
 * Seconds from now. The end of one that we attached to is not known, and may
 * be as far away as the server allows: half an hour. For so long it is asked
 * for at first; half a minute later even our usual longest cuts nothing off.
 */
static int64_t extension(const struct deno_box *b, int64_t lifetime_s)
{
	if (b->attached && clock_ms() - b->attached < UNKNOWN_MS)
		return DENO_LIFETIME_S;
	if (b->attached || lifetime_s > DENO_LONGEST_S)
		return DENO_LONGEST_S;
	return lifetime_s;
}

/* A request about the sandbox to its region's server; sets ask->path. The
 * caller releases res. */
static int call_server(struct sandbox_client *host, const char *id,
		       struct rest_ask *ask, struct http_response *res,
		       const struct stop *stop, struct error *err)
{
	char *path = xasprintf("/api/v3/sandbox/%s", id);
	struct rest server = { 0 };
	int rc = deno_server(deno_of(host), id, &server, err);

	ask->path = path;
	if (rc == 0)
		rc = rest_call(&server, ask, res, stop, err);
	deno_add_hint(err);
	rest_release(&server);
	free(path);
	return rc;
}

/* {"stop_at_ms":N} both ways; the server may grant less (sandbox.js of
 * @deno/sandbox 0.13.2). */
int deno_extend(struct sandbox *sb, int64_t lifetime_s, const struct stop *stop,
		struct error *err)
{
	struct deno_box *b = deno_box(sb);
	int64_t now = clock_unix_ms();
	int64_t end = now + extension(b, lifetime_s) * 1000;
	char *body = xasprintf("{\"stop_at_ms\":%" PRId64 "}", end);
	struct rest_ask ask = { .method = "PATCH",
				.body = str_of(body),
				.what = "extending the sandbox's life",
				.flags = REST_AGAIN };
	struct http_response res = { 0 };
	int rc = call_server(sb->host, sb->id, &ask, &res, stop, err);

	if (rc == 0) {
		cJSON *tree = json_parse(buf_str(&res.body));

		if (!tree && res.body.len)
			rc = error_set(err, ERR_PROTOCOL,
				       "%s: the answer is not JSON", ask.what);
		pthread_mutex_lock(&b->lock);
		b->ends = clock_ms() + json_int(tree, "stop_at_ms", end) - now;
		pthread_mutex_unlock(&b->lock);
		cJSON_Delete(tree);
	} else if (err->code == ERR_NOT_FOUND) {
		err->code = ERR_GONE;
	}
	http_response_release(&res);
	free(body);
	return rc;
}

static int deno_remove(struct sandbox_client *host, const char *id,
		       const struct stop *stop, struct error *err)
{
	struct rest_ask ask = { .method = "DELETE",
				.what = "deleting the sandbox",
				.timeout_ms = DELETE_MS,
				.flags = REST_MISSING_OK };
	struct http_response res = { 0 };
	int rc;

	if (!deno_id_ok(id))
		return error_set(err, ERR_USAGE, "not a sandbox id: '%.100s'",
				 id);
	rc = call_server(host, id, &ask, &res, stop, err);
	if (rc == 0 && res.status == 404)
		rc = 1;
	http_response_release(&res);
	return rc;
}

static void deno_discard(struct sandbox *sb)
{
	struct deno_box *b = sb->priv;

	if (!b)
		return;
	deno_rpc_free(b->rpc);
	pthread_mutex_destroy(&b->dial);
	pthread_mutex_destroy(&b->lock);
	free(b);
	sb->priv = NULL;
}

static const struct sandbox_ops ops = {
	.open = deno_open,
	.close = deno_close,
	.create = deno_create,
	.attach = deno_attach,
	.list = deno_list,
	.info = deno_info,
	.extend = deno_extend,
	.execute = deno_execute,
	.upload = deno_upload,
	.download = deno_download,
	.remove = deno_remove,
	.discard = deno_discard,
};

const struct sandbox_provider deno_provider = {
	.name = "deno",
	.summary = "sandboxes of Deno Deploy",
	.workdir = "/home/sandbox",
	.flags = SANDBOX_ATTACH | SANDBOX_SNAPSHOT | SANDBOX_LIVE |
		 SANDBOX_NETWORK | SANDBOX_LIST,
	.max_command = COMMAND_MAX,
	.lifetime_s = DENO_LIFETIME_S,
	.settings = deno_settings,
	.url_env = (const char *const[]){ "DENO_DEPLOY_ENDPOINT", NULL },
	.ops = &ops,
	.price = deno_price,
	.isolation = ISOLATION_MICROVM, /* "Individual Linux microVMs" */
	.isolation_source = "docs.deno.com/sandbox, 2026-11-23",
};
