/* grant.c - OAuth logins: finds the authorization server and gets tokens. */
/* SPDX-License-Identifier: MIT */
/*
 * oauth_discover() finds the authorization server of a protected server.
 * oauth_register() registers this program there. The user opens
 * oauth_authorize_url(), and oauth_exchange() gets the tokens. oauth_refresh()
 * renews and oauth_revoke() revokes them. All requests use oauth_ask(),
 * which checks the addresses that a server names.
 *
 * The comment of oauth_ask() in grant.h has the attack and the rules.
 * check_reach() applies them: nearness_of() says how near an address is (this
 * machine, a private network, the Internet), and a named address may not be
 * nearer than the server's farthest one.
 */
#include "oauth/grant.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <sodium.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/sanitize.h"
#include "base/str.h"
#include "net/http.h"
#include "net/resolve.h"
#include "web/url.h"

enum { SCOPE_MAX = 2048, NOT_FOUND_FROM = 400, NOT_FOUND_TO = 499 };

enum {
	OAUTH_ANSWER_MAX = 256 << 10, /* bytes of an answer */
	OAUTH_URL_MAX = 4096,         /* bytes of an address in metadata */
};

/* Requests to addresses that a server named. */

enum { CONNECT_TO = URL_HOST + 96, HEADERS_MAX = 4 };

struct oauth_visit { /* one request in progress */
	const struct oauth_net *net;
	const struct oauth_request *request;
	struct web_url url;
	struct http_response *res;
};

enum nearness { /* an address's distance, the farthest first */
		FAR_AWAY,
		PRIVATE_NETWORK,
		THIS_MACHINE,
		FORBIDDEN,
};

static bool is_loopback(const struct sockaddr *a)
{
	char text[64];

	address_print(a, text);
	return str_starts(str_of(text), "127.") || !strcmp(text, "[::1]") ||
	       str_starts(str_of(text), "[::ffff:127.");
}

static enum nearness nearness_of(const struct sockaddr *a)
{
	switch (address_reach(a)) {
	case ADDRESS_PUBLIC:
		return FAR_AWAY;
	case ADDRESS_PRIVATE:
		return is_loopback(a) ? THIS_MACHINE : PRIVATE_NETWORK;
	case ADDRESS_NEVER:
		break;
	}
	return FORBIDDEN;
}

static int resolve_url(const struct web_url *url, struct resolved *found,
		       const struct stop *stop, struct error *err)
{
	if (!url->literal)
		return resolve_host(url->host, found, stop, err);
	found->n = 1;
	(void)address_parse(str_of(url->host), &found->list[0]);
	return 0;
}

static enum nearness nearness_at(const struct resolved *found, size_t i)
{
	return nearness_of((const struct sockaddr *)&found->list[i]);
}

/* Returns the distance of the server's farthest address. Addresses that the
 * server names in metadata must not be nearer. Attack: a public server's host
 * name also resolves to this machine. If its nearest address counted, it could
 * name local services. */
static enum nearness find_farthest(const struct resolved *found)
{
	enum nearness farthest = FORBIDDEN;

	for (size_t i = 0; i < found->n; i++)
		if (nearness_at(found, i) < farthest)
			farthest = nearness_at(found, i);
	return farthest;
}

/* Removes the addresses that are nearer than `most` or forbidden. Returns the
 * distance of the nearest removed one. */
static enum nearness drop_near(struct resolved *found, enum nearness most)
{
	enum nearness nearest = FAR_AWAY;
	size_t n = 0;

	for (size_t i = 0; i < found->n; i++) {
		enum nearness one = nearness_at(found, i);

		if (one <= most && one != FORBIDDEN)
			found->list[n++] = found->list[i];
		else if (one > nearest)
			nearest = one;
	}
	found->n = n;
	return nearest;
}

/* Parses an address from metadata. Refuses unusual characters, and plain http
 * except to this machine. */
static int parse_url(const char *text, struct web_url *url, struct error *err)
{
	struct str s = str_of(text);

	if (s.len > OAUTH_URL_MAX || !str_is_visible(s))
		return error_set(err, ERR_PROTOCOL,
				 "the server sent an address that is too long "
				 "or has invalid characters");
	if (web_url_parse(url, s, err) < 0) {
		err->code = ERR_PROTOCOL;
		error_set(err, ERR_PROTOCOL,
			  "not an http or https address: %.200s", text);
		return -1;
	}
	if (!url->tls && !loopback_url(str_of(url->text)))
		return error_set(err, ERR_PROTOCOL,
				 "refusing %.200s: https is required", text);
	return 0;
}

int oauth_check_url(const char *what, const char *text, struct error *err)
{
	struct web_url url;

	if (parse_url(text, &url, err) == 0)
		return 0;
	return error_wrap(err, "%s", what);
}

/* Resolves the host of an address and keeps the IPs that the server may
 * name. */
static int check_reach(const struct oauth_net *n, const struct web_url *url,
		       struct resolved *found, const struct stop *stop,
		       struct error *err)
{
	struct web_url server;
	struct resolved own;
	enum nearness reach;

	if (web_url_parse(&server, str_of(n->server), err) < 0 ||
	    resolve_url(&server, &own, stop, err) < 0 ||
	    resolve_url(url, found, stop, err) < 0)
		return -1;
	reach = drop_near(found, find_farthest(&own));
	if (found->n)
		return 0;
	return error_set(err, ERR_PROTOCOL,
			 "refusing %s, named by %s: it is an address of %s",
			 url->host, server.host,
			 reach == THIS_MACHINE ? "this machine"
			 : reach == PRIVATE_NETWORK
				 ? "a private network"
				 : "a link-local, metadata or reserved range");
}

/* Sends the request to the checked address. TLS still verifies the host
 * name. */
static int send_to(const struct oauth_visit *v, const struct sockaddr *a,
		   const struct stop *stop, struct error *err)
{
	const struct oauth_request *q = v->request;
	const char *headers[HEADERS_MAX] = { "Accept: application/json" };
	char address[64];
	char connect_to[CONNECT_TO];
	char type[96];
	struct http_request req = {
		.method = q->type ? "POST" : "GET",
		.url = v->url.text,
		.headers = headers,
		.body = q->body,
		.connect_ms = v->net->ms,
		.connect_to = v->url.literal ? NULL : connect_to,
		.flags = HTTP_ONCE | HTTP_PROBE,
	};
	size_t n = 1;

	if (q->type) {
		snprintf(type, sizeof(type), "Content-Type: %s", q->type);
		headers[n++] = type;
	}
	if (q->secret)
		headers[n++] = q->secret;
	address_print(a, address);
	snprintf(connect_to, sizeof(connect_to), "%s:%u:%s:%u", v->url.host,
		 v->url.port, address, v->url.port);
	return http_do(v->net->http, &req, v->res, stop, err);
}

/* Checks the host's addresses and tries them in turn until one answers. */
static int send_once(struct oauth_visit *v, const struct stop *stop,
		     struct error *err)
{
	struct resolved found = { .n = 0 };
	int rc = -1;

	if (parse_url(v->request->url, &v->url, err) < 0 ||
	    check_reach(v->net, &v->url, &found, stop, err) < 0)
		return -1;
	for (size_t i = 0; rc < 0 && i < found.n; i++) {
		http_response_release(v->res);
		*v->res =
			(struct http_response){ .body.max = OAUTH_ANSWER_MAX };
		rc = send_to(v, (const struct sockaddr *)&found.list[i], stop,
			     err);
		if (rc < 0 && err->code != ERR_UNREACHABLE)
			break;
	}
	return rc;
}

int oauth_ask(const struct oauth_net *n, const struct oauth_request *q,
	      int *status, cJSON **tree, const struct stop *stop,
	      struct error *err)
{
	struct http_response res = { 0 };
	struct oauth_visit v = { .net = n, .request = q, .res = &res };
	struct stop limit = stop_within(stop, n->ms);
	struct error outer = { 0 };
	int rc = send_once(&v, &limit, err);

	*tree = NULL;
	if (rc < 0 && err->code == ERR_TIMEOUT && stop_check(stop, &outer) == 0)
		error_set(err, ERR_NETWORK,
			  "%.200s gave no answer within "
			  "%lld s",
			  q->url, (long long)(n->ms + 999) / 1000);
	if (rc == 0) {
		*status = res.status;
		*tree = json_parse(buf_str(&res.body));
		if (!cJSON_IsObject(*tree)) {
			cJSON_Delete(*tree);
			*tree = NULL;
		}
	}
	http_response_release(&res);
	return rc < 0 && err->code != ERR_CANCELLED
		       ? error_wrap(err, "%s", q->what)
		       : rc;
}

/* Appends "name=value", percent-encoded, after a "&" if out is not empty. */
static void oauth_add_field(struct buf *out, const char *name, struct str value)
{
	buf_addf(out, "%s%s=", out->len ? "&" : "", name);
	percent_encode(out, value, "");
}

void oauth_issuer_release(struct oauth_issuer *i)
{
	free(i->issuer);
	free(i->resource);
	free(i->authorize_url);
	free(i->token_url);
	free(i->register_url);
	free(i->revoke_url);
	free(i->scope);
	*i = (struct oauth_issuer){ 0 };
}

/* ---- well-known paths ---- */

/* Length of "https://host:port" in an address parsed by web_url_parse(). */
static size_t origin_of(const struct web_url *url)
{
	size_t scheme = url->tls ? 8 : 7;

	return scheme + str_find(str_skip(str_of(url->text), scheme), '/');
}

/* The path without the query and without trailing slashes. */
static struct str path_of(const struct web_url *url)
{
	struct str path = str_skip(str_of(url->text), origin_of(url));

	path.len = str_find(path, '?');
	while (path.len && path.ptr[path.len - 1] == '/')
		path.len--;
	return path;
}

/* Returns ORIGIN/.well-known/NAME/PATH; bare: without the path. Owned. */
static char *well_known(const struct web_url *url, const char *name, bool bare)
{
	struct str path = path_of(url);

	return xasprintf("%.*s/.well-known/%s%.*s", (int)origin_of(url),
			 url->text, name, bare ? 0 : (int)path.len,
			 path.len ? path.ptr : "");
}

/* Fetches a metadata document. 1: found, 0: does not exist, -1 with err. */
static int get_document(const struct oauth_net *n, const char *what,
			const char *url, cJSON **tree, const struct stop *stop,
			struct error *err)
{
	struct oauth_request q = { .what = what, .url = url };
	int status = 0;

	if (oauth_ask(n, &q, &status, tree, stop, err) < 0)
		return -1;
	if (status < 300 && *tree)
		return 1;
	cJSON_Delete(*tree);
	*tree = NULL;
	if (status >= NOT_FOUND_FROM && status <= NOT_FOUND_TO)
		return 0;
	if (status < 300)
		return error_set(err, ERR_PROTOCOL,
				 "%s: the answer of %.200s is not a JSON "
				 "object",
				 what, url);
	return error_set(err, ERR_REMOTE, "%s: %.200s answered with HTTP %d",
			 what, url, status);
}

/* ---- the protected resource ---- */

static bool same_origin(const struct web_url *a, const struct web_url *b)
{
	return a->tls == b->tls && a->port == b->port &&
	       !strcmp(a->host, b->host);
}

/* Checks the "resource" of a server's metadata: it must be the server itself or
 * a parent of its path. Attack: the metadata names another server, so that
 * dcode requests a token for that server and sends it to this one (RFC 9728
 * §3.3). */
static int check_resource(const struct oauth_net *n, const char *resource,
			  struct error *err)
{
	struct web_url named;
	struct web_url server;
	struct error ignored = { 0 };
	struct str above;
	struct str path;

	(void)web_url_parse(&server, str_of(n->server), &ignored);
	if (web_url_parse(&named, str_of(resource), &ignored) == 0 &&
	    same_origin(&named, &server)) {
		above = path_of(&named);
		path = path_of(&server);
		if (path.len >= above.len &&
		    (!above.len || !memcmp(path.ptr, above.ptr, above.len)) &&
		    (path.len == above.len || path.ptr[above.len] == '/'))
			return 0;
	}
	return error_set(
		err, ERR_PROTOCOL,
		"the metadata of %.120s belongs to another resource, %.120s",
		n->server, resource);
}

/* Joins a list of names with spaces, owned. NULL if it is empty. */
static char *join_names(const cJSON *list)
{
	struct buf out = BUF_INIT(SCOPE_MAX);
	const cJSON *item;

	cJSON_ArrayForEach (item, list)
		if (cJSON_IsString(item) &&
		    str_is_visible(str_of(item->valuestring)))
			buf_addf(&out, "%s%s", out.len ? " " : "",
				 item->valuestring);
	if (out.len && !out.over)
		return buf_detach(&out);
	buf_release(&out);
	return NULL;
}

static bool has_name(const cJSON *list, const char *name)
{
	const cJSON *item;

	cJSON_ArrayForEach (item, list)
		if (cJSON_IsString(item) && !strcmp(item->valuestring, name))
			return true;
	return false;
}

/* Reads the resource metadata. 1: done, 0: does not exist, -1 with err. */
static int read_resource(const struct oauth_net *n, const char *url,
			 struct oauth_issuer *out, const struct stop *stop,
			 struct error *err)
{
	static const char what[] = "the server's resource metadata";
	const cJSON *servers;
	const char *resource;
	cJSON *tree;
	int rc = get_document(n, what, url, &tree, stop, err);

	if (rc <= 0)
		return rc;
	servers = json_get(tree, "authorization_servers");
	resource = json_string(tree, "resource", "");
	if (check_resource(n, resource, err) < 0) {
		rc = -1;
	} else if (!cJSON_IsArray(servers) || !cJSON_IsString(servers->child)) {
		rc = error_set(err, ERR_PROTOCOL,
			       "%s names no authorization server", what);
	} else {
		out->resource = xstrdup(resource);
		out->issuer = xstrdup(servers->child->valuestring);
		if (!out->scope)
			out->scope =
				join_names(json_get(tree, "scopes_supported"));
	}
	cJSON_Delete(tree);
	return rc;
}

/* Finds the resource metadata: at the address in the challenge, or at the
 * well-known paths. */
static int find_resource(const struct oauth_net *n, struct str challenge,
			 struct oauth_issuer *out, const struct stop *stop,
			 struct error *err)
{
	static const char name[] = "oauth-protected-resource";
	char *told = auth_challenge_value(challenge, "resource_metadata");
	struct web_url server;
	int rc = web_url_parse(&server, str_of(n->server), err);

	out->scope = auth_challenge_value(challenge, "scope");
	if (rc == 0 && told) {
		rc = read_resource(n, told, out, stop, err);
		if (rc == 0)
			rc = error_set(
				err, ERR_PROTOCOL,
				"the server names %.200s as the address of its "
				"resource metadata, but there is none",
				told);
	}
	for (int bare = 0; rc == 0 && bare < 2; bare++) {
		char *url = well_known(&server, name, bare);

		rc = read_resource(n, url, out, stop, err);
		free(url);
	}
	if (rc == 0) {
		out->resource = xstrdup(n->server);
		out->issuer =
			xasprintf("%.*s", (int)origin_of(&server), server.text);
	}
	free(told);
	return rc < 0 ? -1 : 0;
}

/* ---- the authorization server ---- */

static bool same_issuer(const char *a, const char *b)
{
	struct str one = str_of(a);
	struct str other = str_of(b);

	/* Only a trailing slash may differ: "https://host" equals
	 * "https://host/". */
	if (str_ends(one, "/"))
		one.len--;
	if (str_ends(other, "/"))
		other.len--;
	return str_eq(one, other);
}

static int copy_url(const cJSON *tree, const char *member, char **out,
		    struct error *err)
{
	const char *url = json_string(tree, member, NULL);

	if (!url)
		return 0;
	*out = xstrdup(url);
	return oauth_check_url(member, url, err);
}

/* Stores which ways of client authentication the server accepts. Without the
 * list the default is client_secret_basic (RFC 8414). */
static void read_client_auth(const cJSON *tree, struct oauth_issuer *out)
{
	const cJSON *list =
		json_get(tree, "token_endpoint_auth_methods_supported");

	out->basic = !list || has_name(list, "client_secret_basic");
	out->post = has_name(list, "client_secret_post");
}

/* Reads the metadata of the authorization server into out. */
static int read_issuer(const cJSON *tree, struct oauth_issuer *out,
		       struct error *err)
{
	const char *issuer = json_string(tree, "issuer", "");

	/* Attack: a server poses as another one (mix-up, RFC 9207). */
	if (!same_issuer(issuer, out->issuer))
		return error_set(err, ERR_PROTOCOL,
				 "the metadata of the authorization server "
				 "%.120s belongs to another one, %.120s",
				 out->issuer, issuer);
	if (copy_url(tree, "authorization_endpoint", &out->authorize_url, err) <
		    0 ||
	    copy_url(tree, "token_endpoint", &out->token_url, err) < 0 ||
	    copy_url(tree, "registration_endpoint", &out->register_url, err) <
		    0 ||
	    copy_url(tree, "revocation_endpoint", &out->revoke_url, err) < 0)
		return -1;
	if (!out->authorize_url || !out->token_url)
		return error_set(err, ERR_PROTOCOL,
				 "the metadata of %.120s has no "
				 "authorization_endpoint or token_endpoint",
				 out->issuer);
	/* The MCP specification requires PKCE: with it, a stolen authorization
	 * code is useless to the thief. */
	if (!has_name(json_get(tree, "code_challenge_methods_supported"),
		      "S256"))
		return error_set(err, ERR_PROTOCOL,
				 "the authorization server %.120s does not "
				 "support PKCE with S256, which MCP requires",
				 out->issuer);
	out->names_itself = json_bool(
		tree, "authorization_response_iss_parameter_supported", false);
	read_client_auth(tree, out);
	/* Without this scope some servers issue no refresh token. */
	if (out->scope &&
	    has_name(json_get(tree, "scopes_supported"), "offline_access")) {
		char *scope = xasprintf("%s offline_access", out->scope);

		free(out->scope);
		out->scope = scope;
	}
	return 0;
}

/* Finds the metadata of the authorization server at its well-known paths. */
static int find_issuer(const struct oauth_net *n, struct oauth_issuer *out,
		       const struct stop *stop, struct error *err)
{
	static const char oauth[] = "oauth-authorization-server";
	static const char oidc[] = "openid-configuration";
	struct web_url url;
	char *places[3];
	cJSON *tree = NULL;
	int rc = 0;

	if (oauth_check_url("the authorization server", out->issuer, err) < 0)
		return -1;
	(void)web_url_parse(&url, str_of(out->issuer), err);
	places[0] = well_known(&url, oauth, false);
	places[1] = well_known(&url, oidc, false);
	places[2] = xasprintf("%.*s%.*s/.well-known/%s", (int)origin_of(&url),
			      url.text, (int)path_of(&url).len,
			      path_of(&url).len ? path_of(&url).ptr : "", oidc);
	for (int i = 0; i < 3; i++) {
		/* If the issuer has no path, the third address equals the
		 * second: do not ask twice. */
		if (rc == 0 && (i < 2 || path_of(&url).len))
			rc = get_document(n,
					  "the metadata of the authorization "
					  "server",
					  places[i], &tree, stop, err);
		free(places[i]);
	}
	if (rc == 0)
		return error_set(err, ERR_PROTOCOL,
				 "the authorization server %.200s has no "
				 "metadata",
				 out->issuer);
	if (rc > 0)
		rc = read_issuer(tree, out, err);
	cJSON_Delete(tree);
	return rc;
}

int oauth_discover(const struct oauth_net *n, struct str challenge,
		   struct oauth_issuer *out, const struct stop *stop,
		   struct error *err)
{
	if (find_resource(n, challenge, out, stop, err) < 0 ||
	    find_issuer(n, out, stop, err) < 0)
		return -1;
	return 0;
}

enum {
	RANDOM = 32,        /* bytes of a state and of a verifier */
	TOKEN_MAX = 8192,   /* bytes of one token */
	BODY_MAX = 1 << 16, /* bytes of a request */
	EARLY_S = 30,       /* a token is renewed this long before it expires */
	FOREVER_S = 10 * 365 * 86400,
	WORDS_MAX = 200, /* bytes quoted of a server's message */
};

/* ---- requests ---- */

/* what ends a request early, and where its error goes; borrowed */
struct form_end {
	const struct stop *stop;
	struct error *err;
};

void oauth_grant_release(struct oauth_grant *g)
{
	mem_wipe(g->access);
	mem_wipe(g->refresh);
	mem_wipe(g->client_secret);
	free(g->client_id);
	free(g->token_url);
	free(g->revoke_url);
	free(g->resource);
	free(g->scope);
	*g = (struct oauth_grant){ 0 };
}

/* ---- stored form ---- */

void oauth_grant_write(const struct oauth_grant *g, struct buf *out)
{
	buf_addc(out, '{');
	json_add_member(out, "access", g->access);
	json_add_member(out, "refresh", g->refresh);
	json_add_member(out, "client_id", g->client_id);
	json_add_member(out, "client_secret", g->client_secret);
	json_add_member(out, "token_url", g->token_url);
	json_add_member(out, "revoke_url", g->revoke_url);
	json_add_member(out, "resource", g->resource);
	json_add_member(out, "scope", g->scope);
	buf_addf(out, ",\"how\":%d,\"expires\":%lld}", (int)g->how,
		 (long long)g->expires);
}

static char *copy_member(const cJSON *tree, const char *name)
{
	const char *value = json_string(tree, name, NULL);

	return value ? xstrdup(value) : NULL;
}

static void wipe_strings(cJSON *tree)
{
	cJSON *item;

	cJSON_ArrayForEach (item, tree)
		if (item->valuestring)
			sodium_memzero(item->valuestring,
				       strlen(item->valuestring));
}

bool oauth_grant_read(struct oauth_grant *g, struct str json)
{
	cJSON *tree = json_parse(json);

	*g = (struct oauth_grant){
		.access = copy_member(tree, "access"),
		.refresh = copy_member(tree, "refresh"),
		.client_id = copy_member(tree, "client_id"),
		.client_secret = copy_member(tree, "client_secret"),
		.token_url = copy_member(tree, "token_url"),
		.revoke_url = copy_member(tree, "revoke_url"),
		.resource = copy_member(tree, "resource"),
		.scope = copy_member(tree, "scope"),
		.how = (enum oauth_client_auth)json_int(tree, "how", 0),
		.expires = json_int(tree, "expires", 0),
	};
	wipe_strings(tree);
	cJSON_Delete(tree);
	if (g->access && g->client_id && g->token_url && g->resource)
		return true;
	oauth_grant_release(g);
	return false;
}

bool oauth_grant_is_stale(const struct oauth_grant *g)
{
	return g->expires && g->expires < (int64_t)time(NULL) + EARLY_S;
}

/* ---- one login attempt ---- */

static void add_random(char room[64])
{
	unsigned char bytes[RANDOM];

	randombytes_buf(bytes, sizeof(bytes));
	(void)sodium_bin2base64(room, 64, bytes, sizeof(bytes),
				sodium_base64_VARIANT_URLSAFE_NO_PADDING);
}

void oauth_attempt_init(struct oauth_attempt *a, unsigned port)
{
	add_random(a->state);
	add_random(a->verifier);
	a->redirect = xasprintf("http://127.0.0.1:%u/callback", port);
}

void oauth_attempt_release(struct oauth_attempt *a)
{
	free(a->redirect);
	sodium_memzero(a, sizeof(*a));
}

void oauth_authorize_url(const struct oauth_issuer *i,
			 const struct oauth_grant *g,
			 const struct oauth_attempt *a, struct buf *out)
{
	unsigned char sum[crypto_hash_sha256_BYTES];
	struct buf query = BUF_INIT(BODY_MAX);
	char challenge[64];

	crypto_hash_sha256(sum, (const unsigned char *)a->verifier,
			   strlen(a->verifier));
	(void)sodium_bin2base64(challenge, sizeof(challenge), sum, sizeof(sum),
				sodium_base64_VARIANT_URLSAFE_NO_PADDING);
	oauth_add_field(&query, "response_type", STR("code"));
	oauth_add_field(&query, "client_id", str_of(g->client_id));
	oauth_add_field(&query, "redirect_uri", str_of(a->redirect));
	oauth_add_field(&query, "state", str_of(a->state));
	oauth_add_field(&query, "code_challenge", str_of(challenge));
	oauth_add_field(&query, "code_challenge_method", STR("S256"));
	oauth_add_field(&query, "resource", str_of(i->resource));
	if (g->scope)
		oauth_add_field(&query, "scope", str_of(g->scope));
	/* OpenID Connect issues a refresh token only after the user
	 * consents. */
	if (g->scope && strstr(g->scope, "offline_access"))
		oauth_add_field(&query, "prompt", STR("consent"));
	buf_addf(out, "%s%c", i->authorize_url,
		 strchr(i->authorize_url, '?') ? '&' : '?');
	buf_addstr(out, buf_str(&query));
	buf_release(&query);
}

/* ---- answers ---- */

/* Makes an error of a refusal (RFC 6749 §5.2, RFC 7591 §3.2.2). Returns -1. */
static int set_refusal_error(const char *what, int status, const cJSON *tree,
			     struct error *err)
{
	struct buf words = BUF_INIT(WORDS_MAX);
	const char *code = json_string(tree, "error", "");
	const char *text = json_string(tree, "error_description", "");
	bool over = !strcmp(code, "invalid_grant") ||
		    !strcmp(code, "invalid_client") ||
		    !strcmp(code, "unauthorized_client");

	sanitize_line(str_of(code), &words);
	buf_adds(&words, text[0] && code[0] ? ": " : "");
	sanitize_line(str_of(text), &words);
	words.len = str_utf8_prefix(buf_str(&words));
	error_set(err, over ? ERR_AUTH : ERR_REMOTE, "%s: HTTP %d%s%.*s", what,
		  status, words.len ? ": " : "", (int)words.len,
		  words.len ? words.ptr : "");
	buf_release(&words);
	return -1;
}

/* Copies a value that goes into a header: printable ASCII without spaces. NULL
 * if it is missing, invalid or too long. Owned. */
static char *copy_token(const cJSON *tree, const char *name)
{
	struct str s = str_of(json_string(tree, name, ""));

	return s.len <= TOKEN_MAX && str_is_visible(s) ? xstrdup(s.ptr) : NULL;
}

static void replace_token(char **old, char *fresh)
{
	if (!fresh)
		return;
	mem_wipe(*old);
	*old = fresh;
}

/* Stores the tokens of an answer in g. If it has no refresh token, the old one
 * stays valid. */
static int read_tokens(const cJSON *tree, struct oauth_grant *g,
		       struct error *err)
{
	static const char what[] = "the token endpoint";
	char *access = copy_token(tree, "access_token");
	int64_t seconds = json_int(tree, "expires_in", 0);

	if (!access)
		return error_set(err, ERR_PROTOCOL,
				 "%s returned no usable access_token", what);
	if (!str_is_nocase(str_of(json_string(tree, "token_type", "")),
			   "bearer")) {
		mem_wipe(access);
		return error_set(
			err, ERR_PROTOCOL,
			"%s returned a token of another type than Bearer",
			what);
	}
	replace_token(&g->access, access);
	replace_token(&g->refresh, copy_token(tree, "refresh_token"));
	g->expires = 0;
	if (seconds > 0 && seconds < FOREVER_S)
		g->expires = (int64_t)time(NULL) + seconds;
	return 0;
}

/* Appends "Authorization: Basic ..." for a client with a secret (RFC 6749
 * §2.3.1). */
static void add_basic(const struct oauth_grant *g, struct buf *out)
{
	struct buf pair = BUF_INIT(BODY_MAX);

	percent_encode(&pair, str_of(g->client_id), "");
	buf_addc(&pair, ':');
	percent_encode(&pair, str_of(g->client_secret), "");
	buf_adds(out, "Authorization: Basic ");
	json_base64(out, buf_str(&pair));
	buf_wipe(&pair);
}

/* Adds the client's identity to the form, sends the form and wipes it. 0 with
 * *tree (owned) if the answer is a JSON object. */
static int send_form(const struct oauth_net *n, struct oauth_request *q,
		     struct buf *form, const struct oauth_grant *g,
		     cJSON **tree, struct form_end *end)
{
	struct buf secret = BUF_INIT(BODY_MAX);
	int status = 0;
	int rc;

	q->type = "application/x-www-form-urlencoded";
	if (g->how == OAUTH_BASIC && g->client_secret)
		add_basic(g, &secret);
	else
		oauth_add_field(form, "client_id", str_of(g->client_id));
	if (g->how == OAUTH_POST && g->client_secret)
		oauth_add_field(form, "client_secret",
				str_of(g->client_secret));
	q->body = buf_str(form);
	q->secret = secret.len ? secret.ptr : NULL;
	rc = buf_check(form, "the request", end->err);
	if (rc == 0)
		rc = oauth_ask(n, q, &status, tree, end->stop, end->err);
	if (rc == 0 && status >= 300)
		rc = set_refusal_error(q->what, status, *tree, end->err);
	buf_wipe(&secret);
	buf_wipe(form);
	return rc;
}

/* Requests tokens with the form and stores them in g. */
static int request_tokens(const struct oauth_net *n, struct buf *form,
			  struct oauth_grant *g, const struct stop *stop,
			  struct error *err)
{
	struct oauth_request q = { .what = "the token endpoint",
				   .url = g->token_url };
	struct form_end end = { stop, err };
	cJSON *tree = NULL;
	int rc;

	oauth_add_field(form, "resource", str_of(g->resource));
	rc = send_form(n, &q, form, g, &tree, &end);
	if (rc == 0)
		rc = read_tokens(tree, g, err);
	wipe_strings(tree);
	cJSON_Delete(tree);
	return rc;
}

int oauth_exchange(const struct oauth_net *n, const struct oauth_attempt *a,
		   struct str code, struct oauth_grant *g,
		   const struct stop *stop, struct error *err)
{
	struct buf form = BUF_INIT(BODY_MAX);

	oauth_add_field(&form, "grant_type", STR("authorization_code"));
	oauth_add_field(&form, "code", code);
	oauth_add_field(&form, "redirect_uri", str_of(a->redirect));
	oauth_add_field(&form, "code_verifier", str_of(a->verifier));
	return request_tokens(n, &form, g, stop, err);
}

int oauth_refresh(const struct oauth_net *n, struct oauth_grant *g,
		  const struct stop *stop, struct error *err)
{
	struct buf form = BUF_INIT(BODY_MAX);

	if (!g->refresh)
		return error_set(err, ERR_AUTH, "the login has expired");
	oauth_add_field(&form, "grant_type", STR("refresh_token"));
	oauth_add_field(&form, "refresh_token", str_of(g->refresh));
	return request_tokens(n, &form, g, stop, err);
}

int oauth_revoke(const struct oauth_net *n, const struct oauth_grant *g,
		 const struct stop *stop, struct error *err)
{
	struct oauth_request q = { .what = "the revocation endpoint",
				   .url = g->revoke_url };
	struct buf form = BUF_INIT(BODY_MAX);
	struct form_end end = { stop, err };
	cJSON *tree = NULL;
	int rc;

	if (!g->revoke_url)
		return 0;
	/* Revoking the refresh token also revokes its access tokens (RFC 7009
	 * §2.1). */
	oauth_add_field(&form, "token",
			str_of(g->refresh ? g->refresh : g->access));
	oauth_add_field(&form, "token_type_hint",
			g->refresh ? STR("refresh_token")
				   : STR("access_token"));
	rc = send_form(n, &q, &form, g, &tree, &end);
	cJSON_Delete(tree);
	return rc;
}

/* ---- the registered client ---- */

/* Stores the client id and secret that a registration returned. */
static int read_client(const cJSON *tree, struct oauth_grant *g,
		       struct error *err)
{
	const char *how =
		json_string(tree, "token_endpoint_auth_method", "none");

	g->client_id = copy_token(tree, "client_id");
	g->client_secret = copy_token(tree, "client_secret");
	if (!g->client_id)
		return error_set(err, ERR_PROTOCOL,
				 "the registration returned no client_id");
	if (g->client_secret && !strcmp(how, "client_secret_basic"))
		g->how = OAUTH_BASIC;
	else if (g->client_secret && !strcmp(how, "client_secret_post"))
		g->how = OAUTH_POST;
	else if (strcmp(how, "none") != 0)
		return error_set(
			err, ERR_PROTOCOL,
			"the registration requires the client authentication "
			"%.60s, which dcode does not support",
			str_is_visible(str_of(how)) ? how : "?");
	return 0;
}

int oauth_register(const struct oauth_net *n, const struct oauth_issuer *i,
		   const char *redirect, struct oauth_grant *g,
		   const struct stop *stop, struct error *err)
{
	struct buf body = BUF_INIT(BODY_MAX);
	struct oauth_request q = { .what = "registering with the "
					   "authorization server",
				   .url = i->register_url,
				   .type = "application/json" };
	cJSON *tree = NULL;
	int status = 0;
	int rc;

	buf_adds(&body, "{\"client_name\":\"dcode\",\"redirect_uris\":[");
	json_quote(&body, str_of(redirect));
	buf_adds(&body, "],\"grant_types\":[\"authorization_code\","
			"\"refresh_token\"],\"response_types\":[\"code\"],"
			"\"application_type\":\"native\","
			"\"token_endpoint_auth_method\":\"none\"");
	if (i->scope) {
		buf_addc(&body, ',');
		json_member(&body, "scope", str_of(i->scope));
	}
	buf_addc(&body, '}');
	q.body = buf_str(&body);
	rc = oauth_ask(n, &q, &status, &tree, stop, err);
	if (rc == 0 && status >= 300)
		rc = set_refusal_error(q.what, status, tree, err);
	else if (rc == 0)
		rc = read_client(tree, g, err);
	wipe_strings(tree);
	cJSON_Delete(tree);
	buf_release(&body);
	return rc;
}
