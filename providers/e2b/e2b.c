/* e2b.c - sandboxes of E2B: the account, and one sandbox's life. */
/* SPDX-License-Identifier: MIT */
#include "providers/e2b/e2b.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "providers/kit/vendor.h"

enum {
	PORT = 49983, /* envd's, inside every sandbox */
	COMMAND_MAX = 512 << 10,
	LIFETIME_S = 1800,
	WAIT_MS = 180000,
	USER_OPTIONAL = 400, /* envd 0.4.0 has a default user */
};

static bool domain_ok(const char *domain)
{
	size_t len = strlen(domain);

	return len && len <= 253 &&
	       strspn(domain, "abcdefghijklmnopqrstuvwxyz"
			      "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-.:") == len;
}

static int no_key(struct error *err)
{
	error_set(err, ERR_AUTH, "E2B_API_KEY is not set");
	return error_hint(err, "Get a key at https://e2b.dev/dashboard (API "
			       "Keys), then export E2B_API_KEY=e2b_...");
}

static int set_addresses(struct e2b *e, const struct settings *set,
			 struct error *err)
{
	static const char *const api[] = { "E2B_API_URL", NULL };
	static const char *const envd[] = { "E2B_SANDBOX_URL", NULL };
	const char *domain = settings_env(set, "E2B_DOMAIN");
	char *fallback;
	int rc;

	e->domain = xstrdup(domain ? domain : "e2b.app");
	if (!domain_ok(e->domain))
		return error_set(err, ERR_CONFIG,
				 "E2B_DOMAIN=%.200s is not a domain",
				 e->domain);
	fallback = xasprintf("https://api.%s", e->domain);
	rc = rest_address(&e->kit.api.base, set, api, fallback, err);
	free(fallback);
	if (rc == 0 && settings_env(set, envd[0]))
		rc = rest_address(&e->envd, set, envd, "", err);
	return rc;
}

static const struct vendor vendor;

static int e2b_open(struct sandbox_client *client, const struct settings *set,
		    struct error *err)
{
	struct e2b *e = (struct e2b *)vendor_open(client, &vendor);
	const char *key =
		settings_credential(set, "E2B_API_KEY", &client->project_key);

	if (!key)
		return no_key(err);
	if (settings_string(set, "e2b", "user", &e->user, err) < 0 ||
	    set_addresses(e, set, err) < 0 ||
	    rest_header(&e->kit.api, "X-API-Key", key, err) < 0)
		return -1;
	client->endpoint = e->kit.api.base;
	return 0;
}

static void free_client(struct vendor_client *c)
{
	struct e2b *e = (struct e2b *)c;

	free(e->domain);
	free(e->envd);
}

static void free_box(struct sandbox *sb)
{
	struct e2b_box *b = sb->priv;

	free(b->domain);
	free(b->token);
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

static void replace(char **text, const char *value)
{
	if (value) {
		free(*text);
		*text = xstrdup(value);
	}
}

/* Reads what an answer says of envd; what it leaves out stays. Then envd's
 * address and headers. */
static int set_endpoint(struct sandbox *sb, const cJSON *answer,
			const struct stop *stop, struct error *err)
{
	const struct e2b *e = sb->client->priv;
	const char *domain = json_string(answer, "domain", NULL);
	const char *version = json_string(answer, "envdVersion", NULL);
	struct e2b_box *b = (struct e2b_box *)vendor_box(sb);
	struct rest envd = { .http = sb->client->http };
	char port[16];
	int rc = 0;

	(void)stop;
	if (domain && !domain_ok(domain))
		return error_set(err, ERR_PROTOCOL,
				 "unexpected server response: no domain");
	snprintf(port, sizeof(port), "%d", PORT);
	pthread_mutex_lock(&b->kit.lock);
	replace(&b->domain, domain);
	replace(&b->token, json_string(answer, "envdAccessToken", NULL));
	if (version)
		b->version = parse_version(version);
	envd.base = envd_address(e, sb->id, b->domain ? b->domain : e->domain);
	if (b->token)
		rc = rest_header(&envd, "X-Access-Token", b->token, err);
	pthread_mutex_unlock(&b->kit.lock);
	if (rc == 0)
		rc = rest_header(&envd, "E2b-Sandbox-Id", sb->id, err);
	if (rc == 0)
		rc = rest_header(&envd, "E2b-Sandbox-Port", port, err);
	if (rc == 0)
		vendor_set_server(sb, &envd);
	rest_release(&envd);
	return rc;
}

/* How long it shall live is in each request that touches its life. */
static int post_timeout(struct sandbox *sb, struct rest_ask *ask,
			int64_t lifetime_s, cJSON **answer,
			const struct stop *stop, struct error *err)
{
	char *body = xasprintf("{\"timeout\":%lld}", (long long)lifetime_s);
	int rc;

	ask->method = "POST";
	ask->body = str_of(body);
	ask->flags = REST_AGAIN;
	rc = vendor_api(sb->client->priv, ask, answer, stop, err);
	free(body);
	return rc;
}

/* Resumes a paused one. Older self-hosted servers know only the second path. */
static int start(struct sandbox *sb, const char *id, cJSON **answer,
		 const struct stop *stop, struct error *err)
{
	char *path = xasprintf("/v2/sandboxes/%s/connect", id);
	struct rest_ask ask = { .path = path,
				.what = "connecting to the sandbox" };
	struct error why = { 0 };
	int64_t lifetime = vendor_lifetime(sb);
	int rc = post_timeout(sb, &ask, lifetime, answer, stop, &why);

	if (rc < 0 && (why.http_status == 404 || why.http_status == 405)) {
		why = (struct error){ 0 };
		ask.path = path + strlen("/v2");
		rc = post_timeout(sb, &ask, lifetime, answer, stop, &why);
	}
	if (rc < 0)
		*err = why;
	else
		vendor_set_lease(sb, lifetime);
	free(path);
	return rc;
}

static int extend(struct sandbox *sb, int64_t lifetime_s,
		  const struct stop *stop, struct error *err)
{
	char *path = xasprintf("/sandboxes/%s/timeout", sb->id);
	struct rest_ask ask = { .path = path,
				.what = "extending the sandbox's life" };
	int rc = post_timeout(sb, &ask, lifetime_s, NULL, stop, err);

	free(path);
	return rc;
}

int e2b_version(struct sandbox *sb)
{
	struct e2b_box *b = (struct e2b_box *)vendor_box(sb);
	int version;

	pthread_mutex_lock(&b->kit.lock);
	version = b->version;
	pthread_mutex_unlock(&b->kit.lock);
	return version;
}

const char *e2b_user(struct sandbox *sb)
{
	const struct e2b *e = sb->client->priv;
	int version = e2b_version(sb);

	return e->user || !version || version >= USER_OPTIONAL ? e->user
							       : "user";
}

/* The configured directory, made unless it is the usual one. */
static int make_workdir(struct sandbox *sb, const struct stop *stop,
			struct error *err)
{
	static const char *const headers[] = { "Connect-Protocol-Version: 1",
					       NULL };
	struct buf body = BUF_INIT(16 << 10);
	struct rest_ask ask = { .method = "POST",
				.path = "/filesystem.Filesystem/MakeDir",
				.what = "making the working directory",
				.headers = headers,
				.flags = REST_AGAIN };
	cJSON *ignored = NULL;
	struct error why = { 0 };
	int rc;

	if (!sb->workdir ||
	    strcmp(sb->workdir, sb->client->provider->workdir) == 0)
		return 0;
	buf_addc(&body, '{');
	json_member(&body, "path", str_of(sb->workdir));
	buf_addc(&body, '}');
	ask.body = buf_str(&body);
	rc = rest_json(vendor_server(sb), &ask, &ignored, NULL, stop, &why);
	cJSON_Delete(ignored);
	buf_release(&body);
	/* 409: it is there. */
	if (rc < 0 && why.http_status == 409)
		return 0;
	if (rc < 0)
		*err = why;
	return rc;
}

/* As the SDK does: names and values are encoded, the pairs made from them once
 * more, and the whole as a query's value. */
static void list_path(const struct vendor_client *c, struct buf *path,
		      const char *label, const char *value)
{
	struct buf name = BUF_INIT(4096);
	struct buf text = BUF_INIT(4096);
	struct buf pair = BUF_INIT(16 << 10);

	(void)c;
	buf_adds(path, "/v2/sandboxes?state=running,paused&limit=100");
	if (!label)
		return;
	rest_encode(&name, str_of(label));
	rest_encode(&text, str_of(value));
	rest_encode(&pair, buf_str(&name));
	buf_addc(&pair, '=');
	rest_encode(&pair, buf_str(&text));
	buf_adds(path, "&metadata=");
	rest_encode(path, buf_str(&pair));
	buf_release(&name);
	buf_release(&text);
	buf_release(&pair);
}

/* A paused one does not end at endAt. */
static void add_end(const cJSON *item, struct sandbox_info *info)
{
	if (info->state != STATE_STOPPED)
		info->ends = json_time(item, "endAt");
}

/* The answers to a create and a connect tell no state. */
static const struct vendor_state states[] = {
	{ "running", STATE_RUNNING, STEP_READY, false },
	{ "paused", STATE_STOPPED, STEP_START, false },
	{ "", STATE_UNKNOWN, STEP_READY, false },
	{ 0 },
};

const struct vendor_pages e2b_pages = { .header = "x-next-token",
					.query = "nextToken" };

static const struct vendor vendor = {
	.noun = "sandbox",
	.auth_hint = "Check that E2B_API_KEY is a key of this account: "
		     "https://e2b.dev/dashboard (API Keys)",
	.client_size = sizeof(struct e2b),
	.box_size = sizeof(struct e2b_box),
	.path = "/sandboxes/",
	.fields = { .id = "sandboxID",
		    .labels = "metadata",
		    .state = "state",
		    .created = "startedAt",
		    .image = { "alias", "templateID" } },
	.states = states,
	.pages = &e2b_pages,
	.wait_ms = WAIT_MS,
	.attach_starts = true,
	.describe = e2b_describe,
	.post = e2b_post,
	.start = start,
	.set_endpoint = set_endpoint,
	.prepare = make_workdir,
	.stop_path = "/pause",
	.stop_body = "{}",
	.extend = extend,
	.info = add_end,
	.list_path = list_path,
	.call = e2b_call,
	.max_command = 1 << 20, /* of all arguments; Linux takes 2 MiB */
	.max_answer = 4 << 20,
	.may_be_gone = (const int[]){ 401, 404, 502, 503, 0 },
	.files = &e2b_files,
	.close = free_client,
	.discard = free_box,
};

static const struct sandbox_ops ops = {
	.open = e2b_open,
	.close = vendor_close,
	.create = vendor_create,
	.attach = vendor_attach,
	.list = vendor_list,
	.info = vendor_info,
	.extend = vendor_extend,
	.snapshot = e2b_snapshot,
	.find_snapshot = e2b_find_snapshot,
	.execute = vendor_execute,
	.upload = vendor_upload,
	.download = vendor_download,
	.stop = vendor_stop,
	.remove = vendor_remove,
	.discard = vendor_discard,
};

const struct sandbox_provider e2b_provider = {
	.name = "e2b",
	.summary = "sandboxes of E2B",
	.workdir = "/home/user",
	.flags = SANDBOX_ATTACH | SANDBOX_SNAPSHOT | SANDBOX_LIVE |
		 SANDBOX_FREEZES | SANDBOX_NETWORK | SANDBOX_LIST |
		 SANDBOX_PLACED | SANDBOX_PLACED_AGAIN,
	.max_command = COMMAND_MAX,
	.lifetime_s = LIFETIME_S,
	.settings = e2b_settings,
	.url_env = (const char *const[]){ "E2B_API_URL", "E2B_DOMAIN", NULL },
	.ops = &ops,
	.price = e2b_price,
	/* "Each sandbox is powered by Firecracker" */
	.isolation = ISOLATION_MICROVM,
	.isolation_source = "e2b.dev, 2026-11-23",
};
