/* e2b.c - sandboxes of E2B: the example of a vendor with a REST API. */
/* SPDX-License-Identifier: MIT */
/*
 * There are two servers: the API at https://api.DOMAIN, which creates and
 * deletes sandboxes, and envd in each sandbox, which runs commands and
 * transfers files. Sources of the protocol: the OpenAPI documents and protocol
 * files of e2b-dev/E2B at b8029973a, and what its JavaScript SDK 2.51.0 was
 * seen to send (2026-11).
 *
 * The tables at the end contain the special cases of E2B; providers/kit does
 * the rest. The functions are in the order of a sandbox's life: account,
 * create, envd's address, commands, files, snapshots. To add a vendor, copy
 * this file and read providers/README.md.
 */
#include "providers/e2b/e2b.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "providers/kit/files.h"
#include "providers/kit/lease.h"
#include "providers/kit/rest.h"
#include "providers/kit/vault.h"
#include "providers/kit/vendor.h"
#include "sandbox/ports/ports.h"

enum {
	PORT = 49983, /* envd's port in every sandbox */
	COMMAND_MAX = 512 << 10,
	LIFETIME_S = 1800,
	WAIT_MS = 180000,
	CREATE_MS = 120000,
	SNAPSHOT_MS = 300000,
	RAW_SINCE = 507, /* envd 0.5.7 accepts a body that is the file itself */
};

static const struct setting settings[] = {
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
	WORKDIR_ROW("/home/user"),
	{ .key = "user",
	  .example = "\"root\"",
	  .type = SETTING_STRING,
	  .help = "user inside (default: the template's)" },
	ENV_ROW("envVars"),
	LABELS_ROW("metadata of the sandbox: NAME=value"),
	NETWORK_ROW,
	{ .key = "auto_pause",
	  .type = SETTING_BOOL,
	  .field = "autoPause",
	  .fallback = "false",
	  .help = "pause instead of deleting at the end of the lifetime" },
	LIFETIME_ROW("3600", "seconds from the last command to the end of the "
			     "sandbox (default 1800)"),
	{ 0 },
};

/* Account: domain and addresses. */

static bool is_domain(const char *domain)
{
	size_t len = strlen(domain);

	return len && len <= 253 &&
	       strspn(domain, "abcdefghijklmnopqrstuvwxyz"
			      "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-.:") == len;
}

static int set_addresses(struct e2b *e, const struct settings *set,
			 struct error *err)
{
	static const char *const api[] = { "E2B_API_URL", NULL };
	static const char *const envd[] = { "E2B_SANDBOX_URL", NULL };
	/* The key goes only to the API's address. If that is set, a domain of
	 * the sandboxes alone may come from anywhere. */
	const char *domain = rest_variable(set, api[0])
				     ? settings_env(set, "E2B_DOMAIN")
				     : rest_variable(set, "E2B_DOMAIN");
	char *fallback;
	int rc;

	e->domain = xstrdup(domain ? domain : "e2b.app");
	if (!is_domain(e->domain))
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

	if (!key) {
		error_set(err, ERR_AUTH, "E2B_API_KEY is not set");
		return error_hint(err,
				  "Get a key at https://e2b.dev/dashboard (API "
				  "Keys), then export E2B_API_KEY=e2b_...");
	}
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
	mem_wipe(b->traffic);
}

/* Create, and making a sandbox run. */

/* Names are compared with the Host header on port 80 and with the TLS server
 * name on port 443. An allowed host wins over a denied address, so one list
 * cannot have both. */
static const struct network_limits network_limits = {
	.can = NETWORK_CAN_ADDRESSES | NETWORK_CAN_NETWORKS |
	       NETWORK_CAN_DENY_ADDRESSES,
	.note = "E2B resolves every name, so data can leave in DNS queries.",
};

/* Returns the vendor's form of a list: without denying everything, allowed
 * hosts would restrict nothing. */
static cJSON *network_object(const struct network *n)
{
	static const char *const all[] = { "0.0.0.0/0" };
	cJSON *object = cJSON_CreateObject();

	body_add_hosts(object, "allowOut", n, HOSTS_NAMES | HOSTS_ADDRESSES);
	if (n->open)
		body_add_hosts(object, "denyOut", n,
			       HOSTS_ADDRESSES | HOSTS_DENIED);
	else
		cJSON_AddItemToObject(object, "denyOut",
				      cJSON_CreateStringArray(all, 1));
	return object;
}

/* Replaces the whole object: a member that is left out would be cleared. So
 * the rules that put secrets in are read and sent again. They have the names of
 * the secrets, and no values. */
static int set_network(struct sandbox *sb, const struct network *n,
		       const struct stop *stop, struct error *err)
{
	cJSON *info = NULL;
	const cJSON *now;
	cJSON *body;
	int rc = vendor_get(sb->client->priv, sb->id, &info, stop, err);

	if (rc > 0)
		rc = error_set(err, ERR_GONE, "the sandbox has ended");
	now = json_get(info, "network");
	if (rc == 0 && json_get(now, "egressProxy"))
		rc = error_set(
			err, ERR_USAGE,
			"this sandbox has an egressProxy, which a change "
			"would remove: E2B does not return its password");
	if (rc < 0) {
		cJSON_Delete(info);
		return -1;
	}
	body = network_object(n);
	if (json_get(now, "rules"))
		cJSON_AddItemToObject(
			body, "rules",
			cJSON_Duplicate(json_get(now, "rules"), true));
	cJSON_Delete(info);
	return vendor_change_network(sb, "PUT",
				     xasprintf("/sandboxes/%s/network", sb->id),
				     body, stop, err);
}

/* True if the list of denied networks contains all addresses. */
static bool denies_all(const cJSON *denied)
{
	const cJSON *item;

	cJSON_ArrayForEach (item, denied)
		if (cJSON_IsString(item) &&
		    !strcmp(item->valuestring, "0.0.0.0/0"))
			return true;
	return false;
}

static int get_network(struct sandbox *sb, struct network *n,
		       const struct stop *stop, struct error *err)
{
	cJSON *info = NULL;
	const cJSON *allow;
	const cJSON *deny;
	int rc = vendor_get(sb->client->priv, sb->id, &info, stop, err);

	if (rc > 0)
		rc = error_set(err, ERR_GONE, "the sandbox has ended");
	allow = json_get(json_get(info, "network"), "allowOut");
	deny = json_get(json_get(info, "network"), "denyOut");
	if (rc == 0 && cJSON_IsFalse(json_get(info, "allowInternetAccess")))
		n->mode = NETWORK_NONE;
	else if (rc == 0 && denies_all(deny))
		rc = body_read_hosts(n, allow, NULL, false, err);
	else if (rc == 0)
		rc = body_read_hosts(n, NULL, deny, true, err);
	cJSON_Delete(info);
	return rc;
}

static int describe(struct vendor_client *c, const struct sandbox_spec *spec,
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
	cJSON_AddItemToObject(body, "network",
			      spec->network->mode == NETWORK_LIST
				      ? network_object(spec->network)
				      : cJSON_CreateObject());
	/* The default is true: its ports would be open to the world. */
	cJSON_AddBoolToObject(body_object(body, "network"),
			      "allowPublicTraffic", false);
	if (spec->network->mode == NETWORK_LIST)
		return 0;
	if (spec->network->mode != NETWORK_DEFAULT)
		cJSON_AddBoolToObject(body, "allow_internet_access",
				      spec->network->mode == NETWORK_FULL);
	return 0;
}

/* Secrets. The account stores the whole value of a header, and a rule names
 * it. */

static const struct secret_limits secret_limits = {
	.can = SECRET_CAN_HEADER | SECRET_CAN_WILD | SECRET_IN_ACCOUNT,
};
static const struct vendor_pages secret_pages = { .header = "X-Next-Token",
						  .query = "nextToken" };
static const struct vendor_objects stored_secrets = {
	.path = "/secrets",
	.list = "/secrets?limit=100",
	.pages = &secret_pages,
	.name = "name",
	.id = "secretID",
};
static const struct vendor_objects *const objects[] = { &stored_secrets, NULL };

/* The store has its names in lower case. */
static char *stored_name(const char *label, const struct secret *s)
{
	char *name = vault_object_name(label, s);

	for (char *c = name; *c; c++)
		if (*c >= 'A' && *c <= 'Z')
			*c += 'a' - 'A';
	return name;
}

static int check_names(const struct secrets *all, struct error *err)
{
	for (size_t i = 0; i < all->n; i++)
		for (size_t k = 0; k < i; k++)
			if (str_is_nocase(str_of(all->list[i].name),
					  all->list[k].name)) {
				error_set(err, ERR_CONFIG,
					  "%s: E2B does not distinguish it "
					  "from secrets.%s",
					  all->list[i].source,
					  all->list[k].name);
				err->nothing_made = true;
				return -1;
			}
	return 0;
}

static int store_secret(struct vendor_client *c, const char *label,
			const struct secret *s, const struct stop *stop,
			struct error *err)
{
	cJSON *body = cJSON_CreateObject();
	char *name = stored_name(label, s);

	cJSON_AddStringToObject(body, "name", name);
	vault_add_header(body, "value", s, false);
	free(name);
	return vault_create_object(c, &stored_secrets, body, stop, err);
}

/* Adds the rule of one host. Of several rules that match a host only the most
 * specific one counts, so it sets all headers. */
static void add_rule(cJSON *rules, const struct network_rule *host,
		     const struct sandbox_spec *spec)
{
	char *key = vault_host_text(host);
	cJSON *rule = cJSON_CreateObject();
	cJSON *headers = body_object(rule, "transform.headers");

	for (size_t i = 0; i < spec->secrets->n; i++) {
		const struct secret *s = &spec->secrets->list[i];
		char *name = stored_name(spec->label, s);
		char *value = xasprintf("${e2b.secrets.%s}", name);

		if (vault_covers(s, host))
			cJSON_AddStringToObject(headers, s->header, value);
		free(value);
		free(name);
	}
	cJSON_AddItemToArray(cJSON_AddArrayToObject(rules, key), rule);
	free(key);
}

static int add_secrets(struct vendor_client *c, const struct sandbox_spec *spec,
		       cJSON *body, const struct stop *stop, struct error *err)
{
	const struct secrets *all = spec->secrets;
	struct network hosts;
	int rc = check_names(all, err);

	for (size_t i = 0; rc == 0 && i < all->n; i++)
		rc = store_secret(c, spec->label, &all->list[i], stop, err);
	if (rc < 0)
		return -1;
	hosts = vault_hosts(all, NULL);
	for (size_t i = 0; i < hosts.n; i++)
		add_rule(body_object(body, "network.rules"), &hosts.rules[i],
			 spec);
	network_release(&hosts);
	vault_add_variables(body_object(body, "envVars"), all);
	return 0;
}

static const struct vendor_vault vault = { .add = add_secrets,
					   .objects = objects };

/* Creates the sandbox. If the server does not know the new path (404, 405), the
 * old path is used. */
static int post_create(struct sandbox *sb, const struct sandbox_spec *spec,
		       cJSON *body, cJSON **answer, const struct stop *stop,
		       struct error *err)
{
	struct http_request ask = { .method = "POST",
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

/* True for domains of the public service, whose sandboxes share one host. */
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

/* Parses "0.6.4" as 604. Returns 0 for another format. */
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

static void replace_text(char **text, const char *value)
{
	if (value) {
		free(*text);
		*text = xstrdup(value);
	}
}

/* Reads envd's data from an answer. Values that the answer does not contain
 * stay unchanged. Then sets envd's address and headers. */
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
	if (domain && !is_domain(domain))
		return error_set(err, ERR_PROTOCOL,
				 "unexpected server response: no domain");
	snprintf(port, sizeof(port), "%d", PORT);
	pthread_mutex_lock(&b->kit.lock);
	replace_text(&b->domain, domain);
	replace_text(&b->token, json_string(answer, "envdAccessToken", NULL));
	replace_text(&b->traffic,
		     json_string(answer, "trafficAccessToken", NULL));
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

/* Sends a request that changes a sandbox's state or lifetime. Its body contains
 * the new lifetime. */
static int post_timeout(struct sandbox *sb, struct http_request *ask,
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

/* Resumes a paused sandbox. Tries a second path if the first is unknown: older
 * self-hosted servers have only that one. */
static int resume_sandbox(struct sandbox *sb, const char *id, cJSON **answer,
			  const struct stop *stop, struct error *err)
{
	char *path = xasprintf("/v2/sandboxes/%s/connect", id);
	struct http_request ask = { .path = path,
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

static int extend_life(struct sandbox *sb, int64_t lifetime_s,
		       const struct stop *stop, struct error *err)
{
	char *path = xasprintf("/sandboxes/%s/timeout", sb->id);
	struct http_request ask = { .path = path,
				    .what = "extending the sandbox's life" };
	int rc = post_timeout(sb, &ask, lifetime_s, NULL, stop, err);

	free(path);
	return rc;
}

/* Creates the configured directory, unless it is the default one. */
static int make_workdir(struct sandbox *sb, const struct stop *stop,
			struct error *err)
{
	static const char *const headers[] = { "Connect-Protocol-Version: 1",
					       NULL };
	struct buf body = BUF_INIT(16 << 10);
	struct http_request ask = { .method = "POST",
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
	/* the directory exists already */
	if (rc < 0 && why.http_status == 409)
		return 0;
	if (rc < 0)
		*err = why;
	return rc;
}

/* Ports. A port has a host name of its own, or all sandboxes have one address
 * (E2B_SANDBOX_URL), where headers name the sandbox and the port. */

/* Sets the address, and *token, owned by the caller: NULL if anybody who knows
 * the address reaches the port. */
static void get_port(struct sandbox *sb, unsigned port, struct port_url *u,
		     char **token)
{
	const struct e2b *e = sb->client->priv;
	struct e2b_box *b = (struct e2b_box *)vendor_box(sb);

	pthread_mutex_lock(&b->kit.lock);
	u->url = e->envd ? xstrdup(e->envd)
			 : xasprintf("https://%u-%s.%s", port, sb->id,
				     b->domain ? b->domain : e->domain);
	if (e->envd)
		u->more = xasprintf("E2b-Sandbox-Id: %s\r\n"
				    "E2b-Sandbox-Port: %u\r\n",
				    sb->id, port);
	*token = xstrdup(b->traffic);
	pthread_mutex_unlock(&b->kit.lock);
}

/* Implements port_ops.url (getHost() and the header of
 * trafficAccessToken, SDK 2.51.0, read 2026-11-26). */
static int e2b_port_url(struct sandbox *sb, unsigned port, struct port_url *u,
			const struct stop *stop, struct error *err)
{
	char *token;
	int rc;

	(void)stop;
	get_port(sb, port, u, &token);
	if (token) {
		rc = port_url_set_token(u, "e2b-traffic-access-token", "",
					token, err);
	} else {
		error_set(err, ERR_USAGE,
			  "anybody reaches the ports of this sandbox: it was "
			  "created without network.allowPublicTraffic = false");
		rc = error_hint(err, "Create another one with dcode, or use "
				     "`dcode sandbox url --public`.");
	}
	mem_wipe(token);
	return rc;
}

/* Implements port_ops.publish. */
static int publish_port(struct sandbox *sb, unsigned port, struct port_url *u,
			const struct stop *stop, struct error *err)
{
	char *token;
	bool is_protected;

	(void)stop;
	get_port(sb, port, u, &token);
	is_protected = token != NULL;
	mem_wipe(token);
	if (!is_protected)
		return 0;
	return error_set(err, ERR_USAGE,
			 "the ports of this sandbox are protected, and E2B "
			 "cannot change that");
}

/* Files, transferred by envd. */

static void fill_get(struct sandbox *sb, const char *file,
		     struct file_request *req)
{
	const char *user = e2b_envd_user(sb);

	buf_adds(&req->path, "/files?path=");
	rest_encode(&req->path, str_of(file));
	if (user) {
		buf_adds(&req->path, "&username=");
		rest_encode(&req->path, str_of(user));
	}
}

/* The server ignores the file name in the form: the path is in the query. */
static void fill_put(struct sandbox *sb, const char *file,
		     struct file_request *req)
{
	int version = e2b_envd_version(sb);

	fill_get(sb, file, req);
	if (!version || version >= RAW_SINCE)
		return;
	req->file_field = "file";
	req->file_name = "file";
}

/* Recognises the texts with which the proxy says that a sandbox does not exist
 * or does not answer. */
static enum file_retry classify_failure(const struct http_response *res)
{
	struct str body = buf_str(&res->body);

	if (res->status == 401 || res->status == 502 || res->status == 503 ||
	    (res->status == 404 && str_search(body, STR("andbox")) < body.len &&
	     str_search(body, STR("path '")) == body.len))
		return FILE_RETRY_STARTED;
	return FILE_RETRY_NEVER;
}

static const struct http_files files = {
	.call = vendor_send,
	.get = fill_get,
	.put = fill_put,
	.classify = classify_failure,
	.touch = true,
};

/* Snapshots. The sandbox continues to run afterwards. */

/* True if two template names "team/name:tag" are the same. A missing team
 * matches any; a missing tag means "default". */
static bool is_same_name(const char *listed, const char *name)
{
	struct str a = str_of(listed);
	struct str b = str_of(name);

	if (str_find(b, '/') == b.len && str_find(a, '/') < a.len)
		a = str_skip(a, str_find(a, '/') + 1);
	if (str_ends(a, ":default"))
		a.len -= strlen(":default");
	if (str_ends(b, ":default"))
		b.len -= strlen(":default");
	return str_eq(a, b);
}

static bool has_name(const cJSON *snapshot, const char *name)
{
	const cJSON *item;

	if (is_same_name(json_string(snapshot, "snapshotID", ""), name))
		return true;
	cJSON_ArrayForEach (item, json_get(snapshot, "names"))
		if (cJSON_IsString(item) &&
		    is_same_name(item->valuestring, name))
			return true;
	return false;
}

struct e2b_search {
	const char *name;
	char *id; /* owned, or NULL: not found */
};

static bool on_snapshot(void *arg, const cJSON *item)
{
	struct e2b_search *s = arg;

	if (has_name(item, s->name))
		s->id = xstrdup(json_string(item, "snapshotID", ""));
	return !s->id;
}

static const struct vendor_pages pages = { .header = "x-next-token",
					   .query = "nextToken" };

static int e2b_find_snapshot(struct sandbox_client *client, const char *name,
			     char **id, const struct stop *stop,
			     struct error *err)
{
	struct e2b_search s = { .name = name };
	const struct vendor_query q = { .pages = &pages,
					.path = "/snapshots?limit=100",
					.each = on_snapshot,
					.arg = &s };
	int rc = vendor_pages(client->priv, &q, stop, err);

	*id = s.id;
	return rc < 0 ? -1 : s.id != NULL;
}

static int e2b_remove_snapshot(struct sandbox_client *client, const char *name,
			       const char *id, const struct stop *stop,
			       struct error *err)
{
	(void)name;
	return vendor_delete_snapshot(client, "/templates/", id, stop, err);
}

/* Makes a snapshot. Its name can then be used as that of a template. */
static int e2b_snapshot(struct sandbox *sb, const char *name, bool replace,
			const struct stop *stop, struct error *err)
{
	const struct http_request ask = { .path = "/snapshots",
					  .timeout_ms = SNAPSHOT_MS };
	cJSON *tree = NULL;
	int rc = vendor_post_snapshot(sb, &ask, name, &tree, stop, err);

	(void)replace; /* the API always moves the name to the new snapshot */
	if (rc == 0 && !json_string(tree, "snapshotID", NULL))
		rc = error_set(err, ERR_PROTOCOL,
			       "unexpected server response: no snapshot");
	cJSON_Delete(tree);
	return rc;
}

/* CPU and memory are billed by the sandbox's size, used or not; disk is not
 * billed (e2b.dev/docs/faq/calculate-sandbox-price.md, read 2026-11-23). */
static const struct rates rates = {
	.vcpu = RATES_HOUR(0.0504),
	.gib = RATES_HOUR(0.0162),
};

/* size of the template "base" (same page); other templates have other sizes */
static const struct rates_size base = { .milli_vcpu = 2000, .mib = 512 };

static int e2b_price(const struct settings *set, const char *snapshot,
		     struct sandbox_price *price, struct error *err)
{
	const char *template = NULL;

	if (settings_string(set, "e2b", "template", &template, err) < 0)
		return -1;
	if (!snapshot && template && strcmp(template, "base") == 0)
		price->usd_s = rates_price(&rates, &base);
	return 0;
}

/* Builds the path of the list like the SDK: names and values are encoded, each
 * pair is encoded again, and the result becomes the value of one query
 * parameter. */
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

/* Sets when the sandbox ends. A paused sandbox does not end at endAt. */
static void add_end(const cJSON *item, struct sandbox_info *info)
{
	if (info->state != STATE_STOPPED)
		info->ends = json_time(item, "endAt");
}

/* Answers to create and connect contain no state. */
static const struct vendor_state states[] = {
	{ "running", STATE_RUNNING, STEP_READY, false },
	{ "paused", STATE_STOPPED, STEP_START, false },
	{ "", STATE_UNKNOWN, STEP_READY, false },
	{ 0 },
};

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
	.pages = &pages,
	.wait_ms = WAIT_MS,
	.attach_starts = true,
	.describe = describe,
	.vault = &vault,
	.post = post_create,
	.start = resume_sandbox,
	.set_endpoint = set_endpoint,
	.prepare = make_workdir,
	.stop_path = "/pause",
	.stop_body = "{}",
	.extend = extend_life,
	.info = add_end,
	.list_path = list_path,
	.call = e2b_run_script,
	.max_command = 1 << 20, /* bytes of all arguments; Linux allows 2 MiB */
	.max_answer = 4 << 20,
	.may_be_gone = (const int[]){ 401, 404, 502, 503, 0 },
	.files = &files,
	.close = free_client,
	.discard = free_box,
};

static const struct port_ops port_ops = { .url = e2b_port_url,
					  .publish = publish_port };

static const struct sandbox_ops ops = {
	VENDOR_OPS,
	.open = e2b_open,
	.attach = vendor_attach,
	.snapshot = e2b_snapshot,
	.find_snapshot = e2b_find_snapshot,
	.ports = &port_ops,
	.remove_snapshot = e2b_remove_snapshot,
	.execute = vendor_execute,
	.shell = e2b_shell,
	.set_network = set_network,
	.get_network = get_network,
	.clean = vault_clean,
};

const struct sandbox_provider e2b_provider = {
	.name = "e2b",
	.summary = "sandboxes of E2B",
	.workdir = "/home/user",
	.flags = SANDBOX_ATTACH | SANDBOX_SNAPSHOT | SANDBOX_LIVE |
		 SANDBOX_FREEZES | SANDBOX_NETWORK | SANDBOX_LIST |
		 SANDBOX_PLACED | SANDBOX_PLACED_AGAIN,
	.network = &network_limits,
	.secrets = &secret_limits,
	.max_command = COMMAND_MAX,
	.lifetime_s = LIFETIME_S,
	.settings = settings,
	.url_env = (const char *const[]){ "E2B_API_URL", "E2B_DOMAIN", NULL },
	.ops = &ops,
	.price = e2b_price,
	/* The page says: "Each sandbox is powered by Firecracker" */
	.isolation = ISOLATION_MICROVM,
	.isolation_source = "e2b.dev, 2026-11-23",
};
