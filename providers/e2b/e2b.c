/* e2b.c - sandboxes of E2B: the account, and one sandbox's life. */
/* SPDX-License-Identifier: MIT */
#include "providers/e2b/e2b.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "providers/kit/lease.h"
#include "providers/table.h"

enum {
	PORT = 49983, /* envd's, inside every sandbox */
	COMMAND_MAX = 512 << 10,
	EXTEND_MS = 10000,
	EXTEND_PAUSE_MS = 15000,
};

struct e2b *e2b_of(const struct sandbox_client *host)
{
	return host->priv;
}

static bool only(const char *text, const char *allowed, size_t most)
{
	size_t len = strlen(text);

	return len && len <= most && strspn(text, allowed) == len;
}

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

bool e2b_id_ok(const char *id)
{
	return only(id, LETTERS "0123456789-_", E2B_ID_MAX);
}

static bool domain_ok(const char *domain)
{
	return only(domain, LETTERS "0123456789-.:", 253);
}

static int no_key(struct error *err)
{
	error_set(err, ERR_AUTH, "E2B_API_KEY is not set");
	return error_hint(err, "Get a key at https://e2b.dev/dashboard (API "
			       "Keys), then export E2B_API_KEY=e2b_...");
}

static int set_addresses(struct e2b *e, struct error *err)
{
	static const char *const api[] = { "E2B_API_URL", NULL };
	static const char *const envd[] = { "E2B_SANDBOX_URL", NULL };
	const char *domain = settings_env(e->settings, "E2B_DOMAIN");
	char *fallback;
	int rc;

	e->domain = xstrdup(domain ? domain : "e2b.app");
	if (!domain_ok(e->domain))
		return error_set(err, ERR_CONFIG,
				 "E2B_DOMAIN=%.200s is no domain", e->domain);
	fallback = xasprintf("https://api.%s", e->domain);
	rc = rest_address(&e->api.base, e->settings, api, fallback, err);
	free(fallback);
	if (rc == 0 && settings_env(e->settings, envd[0]))
		rc = rest_address(&e->envd, e->settings, envd, "", err);
	return rc;
}

static void e2b_close(struct sandbox_client *host)
{
	struct e2b *e = e2b_of(host);

	if (!e)
		return;
	rest_release(&e->api);
	free(e->domain);
	free(e->envd);
	create_log_release(&e->tried);
	free(e);
	host->priv = NULL;
	host->endpoint = NULL;
}

static int e2b_open(struct sandbox_client *host, const struct settings *set,
		    struct error *err)
{
	struct e2b *e = xcalloc(1, sizeof(*e));
	const char *key =
		settings_credential(set, "E2B_API_KEY", &host->project_key);

	host->priv = e;
	e->api.http = host->http;
	e->settings = set;
	create_log_init(&e->tried);
	if (!key)
		return no_key(err);
	if (settings_string(set, "e2b", "user", &e->user, err) < 0 ||
	    set_addresses(e, err) < 0 ||
	    rest_header(&e->api, "X-API-Key", key, err) < 0)
		return -1;
	host->endpoint = e->api.base;
	return 0;
}

int e2b_api(struct e2b *e, const struct rest_ask *ask, cJSON **tree,
	    int *status, const struct stop *stop, struct error *err)
{
	cJSON *ignored = NULL;
	int rc = rest_json(&e->api, ask, tree ? tree : &ignored, status, stop,
			   err);

	cJSON_Delete(ignored);
	if (rc < 0 && err->code == ERR_AUTH && !err->hint[0])
		error_hint(err, "Is E2B_API_KEY a key of this account? See "
				"https://e2b.dev/dashboard (API Keys)");
	return rc;
}

/* Names of the public service, whose sandboxes share one host. */
static bool is_shared(const char *domain)
{
	static const char *const shared[] = { "e2b.app", "e2b.dev", "e2b.pro",
					      "e2b-staging.dev" };

	for (size_t i = 0; i < sizeof(shared) / sizeof(*shared); i++)
		if (strcmp(domain, shared[i]) == 0)
			return true;
	return false;
}

static char *envd_address(const struct e2b *e, const char *id,
			  const char *domain)
{
	if (e->envd)
		return xstrdup(e->envd);
	if (is_shared(domain))
		return xasprintf("https://sandbox.%s", domain);
	return xasprintf("https://%d-%s.%s", PORT, id, domain);
}

/* "0.6.4" is 604; 0 when it is not like that. */
static int parse_version(const char *text)
{
	struct str rest = str_of(text);
	struct str part;
	int64_t n;
	int version = 0;

	for (int i = 0; i < 3; i++) {
		if (!str_split(&rest, '.', &part))
			return 0;
		part.len = part.len > 2 ? 2 : part.len;
		if (!str_to_int(part, &n) || n < 0)
			return 0;
		version = version * 100 + (int)n;
	}
	return version;
}

static struct e2b_box *box_of(struct sandbox *sb)
{
	struct e2b_box *b = sb->priv;

	if (!b) {
		b = xcalloc(1, sizeof(*b));
		pthread_mutex_init(&b->lock, NULL);
		sb->priv = b;
	}
	return b;
}

int e2b_adopt(struct sandbox *sb, const cJSON *answer, const char *want,
	      int64_t lifetime_s, struct error *err)
{
	struct e2b *e = e2b_of(sb->host);
	const char *id = json_string(answer, "sandboxID", "");
	const char *domain = json_string(answer, "domain", e->domain);
	const char *token = json_string(answer, "envdAccessToken", NULL);
	struct e2b_box *b = box_of(sb);

	if (!e2b_id_ok(id) || !domain_ok(domain))
		return error_set(err, ERR_PROTOCOL,
				 "unexpected server response: no sandbox id");
	if (want && strcmp(id, want) != 0)
		return error_set(err, ERR_PROTOCOL,
				 "unexpected server response: asked for "
				 "sandbox %s, got %s",
				 want, id);
	if (!sb->id)
		sb->id = xstrdup(id);
	pthread_mutex_lock(&b->lock);
	free(b->base);
	b->base = envd_address(e, id, domain);
	if (token) {
		free(b->token);
		b->token = xstrdup(token);
	}
	b->version = parse_version(json_string(answer, "envdVersion", ""));
	b->lifetime_s = lifetime_s;
	b->ends = clock_ms() + lifetime_s * 1000;
	pthread_mutex_unlock(&b->lock);
	return 0;
}

static int post_connect(struct sandbox *sb, const char *prefix, const char *id,
			int64_t lifetime_s, const struct stop *stop,
			struct error *err)
{
	char *path = xasprintf("%s/sandboxes/%s/connect", prefix, id);
	char *body = xasprintf("{\"timeout\":%lld}", (long long)lifetime_s);
	struct rest_ask ask = { .method = "POST",
				.path = path,
				.body = str_of(body),
				.what = "connecting to the sandbox",
				.flags = REST_AGAIN };
	cJSON *tree = NULL;
	int rc = e2b_api(e2b_of(sb->host), &ask, &tree, NULL, stop, err);

	if (rc == 0)
		rc = e2b_adopt(sb, tree, id, lifetime_s, err);
	cJSON_Delete(tree);
	free(body);
	free(path);
	return rc;
}

/* Older self-hosted servers know only the second path. */
int e2b_connect(struct sandbox *sb, const char *id, int64_t lifetime_s,
		const struct stop *stop, struct error *err)
{
	struct error why = { 0 };

	if (post_connect(sb, "/v2", id, lifetime_s, stop, &why) == 0)
		return 0;
	if (why.http_status == 404 || why.http_status == 405)
		return post_connect(sb, "", id, lifetime_s, stop, err);
	*err = why;
	return -1;
}

static int e2b_attach(struct sandbox *sb, const char *id,
		      const struct stop *stop, struct error *err)
{
	int64_t lifetime = 0;

	if (!e2b_id_ok(id))
		return error_set(err, ERR_USAGE, "'%.100s' is no sandbox id",
				 id);
	if (settings_int(sb->host->settings, "e2b", "lifetime", &lifetime,
			 err) < 0)
		return -1;
	if (e2b_connect(sb, id, lifetime > 0 ? lifetime : E2B_LIFETIME_S, stop,
			err) < 0)
		return -1;
	return e2b_workdir(sb, stop, err);
}

static int e2b_extend(struct sandbox *sb, int64_t lifetime_s,
		      const struct stop *stop, struct error *err)
{
	struct e2b_box *b = box_of(sb);
	char *path = xasprintf("/sandboxes/%s/timeout", sb->id);
	char *body = xasprintf("{\"timeout\":%lld}", (long long)lifetime_s);
	struct rest_ask ask = { .method = "POST",
				.path = path,
				.body = str_of(body),
				.what = "extending the sandbox's life",
				.flags = REST_AGAIN };
	int rc = e2b_api(e2b_of(sb->host), &ask, NULL, NULL, stop, err);

	if (rc == 0) {
		pthread_mutex_lock(&b->lock);
		b->ends = clock_ms() + lifetime_s * 1000;
		pthread_mutex_unlock(&b->lock);
	} else if (err->code == ERR_NOT_FOUND) {
		err->code = ERR_GONE;
	}
	free(body);
	free(path);
	return rc;
}

void e2b_keep(struct sandbox *sb, const struct stop *stop)
{
	struct e2b_box *b = box_of(sb);
	struct stop within = stop_within(stop, EXTEND_MS);
	struct error ignored = { 0 };
	int64_t lifetime;
	bool due;

	pthread_mutex_lock(&b->lock);
	lifetime = b->lifetime_s;
	due = lease_due(b->ends, lifetime, EXTEND_PAUSE_MS, &b->asked);
	pthread_mutex_unlock(&b->lock);
	if (due)
		(void)e2b_extend(sb, lifetime, &within, &ignored);
}

int e2b_revive(struct sandbox *sb, const struct stop *stop, struct error *err)
{
	struct e2b_box *b = box_of(sb);
	char *path = xasprintf("/sandboxes/%s", sb->id);
	struct rest_ask ask = { .method = "GET",
				.path = path,
				.what = "asking for the sandbox",
				.flags = REST_AGAIN | REST_MISSING_OK };
	cJSON *tree = NULL;
	int status = 0;
	int64_t lifetime;
	int rc = e2b_api(e2b_of(sb->host), &ask, &tree, &status, stop, err);

	pthread_mutex_lock(&b->lock);
	lifetime = b->lifetime_s;
	pthread_mutex_unlock(&b->lock);
	if (rc == 0 && status == 404)
		rc = error_set(err, ERR_GONE, "the sandbox %s has ended",
			       sb->id);
	else if (rc == 0 &&
		 strcmp(json_string(tree, "state", ""), "paused") == 0)
		rc = e2b_connect(sb, sb->id, lifetime, stop, err);
	else if (rc == 0 && json_string(tree, "envdAccessToken", NULL)) {
		pthread_mutex_lock(&b->lock);
		free(b->token);
		b->token = xstrdup(json_string(tree, "envdAccessToken", ""));
		pthread_mutex_unlock(&b->lock);
	}
	cJSON_Delete(tree);
	free(path);
	return rc;
}

int e2b_envd(struct sandbox *sb, struct rest *r, struct error *err)
{
	struct e2b_box *b = box_of(sb);
	char port[16];
	int rc;

	snprintf(port, sizeof(port), "%d", PORT);
	*r = (struct rest){ .http = sb->host->http };
	pthread_mutex_lock(&b->lock);
	r->base = xstrdup(b->base ? b->base : "");
	rc = b->token ? rest_header(r, "X-Access-Token", b->token, err) : 0;
	pthread_mutex_unlock(&b->lock);
	if (rc == 0)
		rc = rest_header(r, "E2b-Sandbox-Id", sb->id, err);
	if (rc == 0)
		rc = rest_header(r, "E2b-Sandbox-Port", port, err);
	return rc;
}

int e2b_version(struct sandbox *sb)
{
	struct e2b_box *b = box_of(sb);
	int version;

	pthread_mutex_lock(&b->lock);
	version = b->version;
	pthread_mutex_unlock(&b->lock);
	return version;
}

/* 409: its state is changing. */
static int e2b_remove(struct sandbox_client *host, const char *id,
		      const struct stop *stop, struct error *err)
{
	struct rest_ask ask = { .method = "DELETE",
				.what = "deleting the sandbox",
				.flags = REST_MISSING_OK };
	int status = 0;
	char *path;
	int rc;

	if (!e2b_id_ok(id))
		return error_set(err, ERR_USAGE, "'%.100s' is no sandbox id",
				 id);
	path = xasprintf("/sandboxes/%s", id);
	ask.path = path;
	rc = e2b_api(e2b_of(host), &ask, NULL, &status, stop, err);
	free(path);
	if (rc < 0 && err->http_status == 409)
		err->code = ERR_BUSY;
	return rc < 0 ? -1 : status == 404;
}

static void e2b_discard(struct sandbox *sb)
{
	struct e2b_box *b = sb->priv;

	if (!b)
		return;
	free(b->base);
	free(b->token);
	pthread_mutex_destroy(&b->lock);
	free(b);
	sb->priv = NULL;
}

static const struct sandbox_ops ops = {
	.open = e2b_open,
	.close = e2b_close,
	.create = e2b_create,
	.attach = e2b_attach,
	.list = e2b_list,
	.info = e2b_info,
	.extend = e2b_extend,
	.snapshot = e2b_snapshot,
	.find_snapshot = e2b_find_snapshot,
	.execute = e2b_execute,
	.upload = e2b_upload,
	.download = e2b_download,
	.remove = e2b_remove,
	.discard = e2b_discard,
};

const struct sandbox_provider e2b_provider = {
	.name = "e2b",
	.summary = "sandboxes of E2B",
	.workdir = "/home/user",
	.flags = SANDBOX_ATTACH | SANDBOX_SNAPSHOT | SANDBOX_LIVE |
		 SANDBOX_NETWORK | SANDBOX_LIST,
	.max_command = COMMAND_MAX,
	.lifetime_s = E2B_LIFETIME_S,
	.settings = e2b_settings,
	.url_env = (const char *const[]){ "E2B_API_URL", "E2B_DOMAIN", NULL },
	.ops = &ops,
};
