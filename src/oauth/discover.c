/* discover.c - which authorization server a protected server belongs to. */
/* SPDX-License-Identifier: MIT */
#include "oauth/discover.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "net/http.h"
#include "web/url.h"

enum { SCOPE_MAX = 2048, NOT_FOUND_FROM = 400, NOT_FOUND_TO = 499 };

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

/* Length of "https://host:port" of an address as web_url_parse() gives it. */
static size_t origin_of(const struct web_url *url)
{
	size_t scheme = url->tls ? 8 : 7;

	return scheme + str_find(str_skip(str_of(url->text), scheme), '/');
}

/* The path without a query and a slash at its end. */
static struct str path_of(const struct web_url *url)
{
	struct str path = str_skip(str_of(url->text), origin_of(url));

	path.len = str_find(path, '?');
	while (path.len && path.ptr[path.len - 1] == '/')
		path.len--;
	return path;
}

/* ORIGIN/.well-known/NAME/PATH; without the path where bare. Owned. */
static char *well_known(const struct web_url *url, const char *name, bool bare)
{
	struct str path = path_of(url);

	return xasprintf("%.*s/.well-known/%s%.*s", (int)origin_of(url),
			 url->text, name, bare ? 0 : (int)path.len,
			 path.len ? path.ptr : "");
}

/* 1 with the document, 0 where there is none; -1: see err. */
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
				 "%s: %.200s is not a JSON object", what, url);
	return error_set(err, ERR_REMOTE, "%s: %.200s answered with HTTP %d",
			 what, url, status);
}

/* ---- the protected resource ---- */

static bool same_origin(const struct web_url *a, const struct web_url *b)
{
	return a->tls == b->tls && a->port == b->port &&
	       !strcmp(a->host, b->host);
}

/*
 * Attack: a server's metadata names another resource, to be given a token for
 * that one (RFC 9728 §3.3). It has to be the server that was asked, or what is
 * above it.
 */
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

/* The names of a list with spaces between them, owned; NULL: none. */
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

/* 1: read, 0: there is none. */
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
			rc = error_set(err, ERR_PROTOCOL,
				       "the server's resource metadata is not "
				       "at %.200s, as it claims",
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

	/* "https://host" and "https://host/" are one; nothing else is. */
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

/* Without one that is told, the list is [client_secret_basic] (RFC 8414). */
static void read_client_auth(const cJSON *tree, struct oauth_issuer *out)
{
	const cJSON *list =
		json_get(tree, "token_endpoint_auth_methods_supported");

	out->basic = !list || has_name(list, "client_secret_basic");
	out->post = has_name(list, "client_secret_post");
}

static int read_issuer(const cJSON *tree, struct oauth_issuer *out,
		       struct error *err)
{
	const char *issuer = json_string(tree, "issuer", "");

	/* Attack: one server poses as another (mix-up, RFC 9207). */
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
	/* The specification of MCP: without it a code could be stolen. */
	if (!has_name(json_get(tree, "code_challenge_methods_supported"),
		      "S256"))
		return error_set(err, ERR_PROTOCOL,
				 "the authorization server %.120s does not "
				 "support PKCE with S256, which MCP requires",
				 out->issuer);
	out->names_itself = json_bool(
		tree, "authorization_response_iss_parameter_supported", false);
	read_client_auth(tree, out);
	/* Without it some servers give no token to renew the login with. */
	if (out->scope &&
	    has_name(json_get(tree, "scopes_supported"), "offline_access")) {
		char *scope = xasprintf("%s offline_access", out->scope);

		free(out->scope);
		out->scope = scope;
	}
	return 0;
}

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
		/* Without a path the last two are one. */
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
