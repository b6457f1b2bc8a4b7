/* grant.c - what a login has brought: tokens, and how to renew them. */
/* SPDX-License-Identifier: MIT */
#include "oauth/grant.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <sodium.h>

#include "base/mem.h"
#include "base/sanitize.h"
#include "base/str.h"

enum {
	RANDOM = 32,        /* bytes of a state, and of a verifier */
	TOKEN_MAX = 8192,   /* bytes of one token */
	BODY_MAX = 1 << 16, /* bytes of a request */
	EARLY_S = 30,       /* a token is renewed so long before its end */
	FOREVER_S = 10 * 365 * 86400,
	WORDS_MAX = 200, /* bytes quoted of a server's words */
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

/* ---- stored ---- */

static void add_member(struct buf *out, const char *name, const char *value)
{
	if (!value)
		return;
	if (out->len > 1)
		buf_addc(out, ',');
	json_member(out, name, str_of(value));
}

void oauth_grant_write(const struct oauth_grant *g, struct buf *out)
{
	buf_addc(out, '{');
	add_member(out, "access", g->access);
	add_member(out, "refresh", g->refresh);
	add_member(out, "client_id", g->client_id);
	add_member(out, "client_secret", g->client_secret);
	add_member(out, "token_url", g->token_url);
	add_member(out, "revoke_url", g->revoke_url);
	add_member(out, "resource", g->resource);
	add_member(out, "scope", g->scope);
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

/* ---- one login ---- */

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
	/* OpenID Connect gives a refresh token only after a question. */
	if (g->scope && strstr(g->scope, "offline_access"))
		oauth_add_field(&query, "prompt", STR("consent"));
	buf_addf(out, "%s%c", i->authorize_url,
		 strchr(i->authorize_url, '?') ? '&' : '?');
	buf_addstr(out, buf_str(&query));
	buf_release(&query);
}

/* ---- answers ---- */

/* -1 with the error of RFC 6749 §5.2 or RFC 7591 §3.2.2. */
static int refused(const char *what, int status, const cJSON *tree,
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

/* A header is made of it: printable ASCII without spaces. NULL: there is
 * none, or it is too long. Owned. */
static char *copy_token(const cJSON *tree, const char *name)
{
	struct str s = str_of(json_string(tree, name, ""));

	return s.len <= TOKEN_MAX && str_is_visible(s) ? xstrdup(s.ptr) : NULL;
}

static void replace(char **old, char *fresh)
{
	if (!fresh)
		return;
	mem_wipe(*old);
	*old = fresh;
}

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
	replace(&g->access, access);
	replace(&g->refresh, copy_token(tree, "refresh_token"));
	g->expires = 0;
	if (seconds > 0 && seconds < FOREVER_S)
		g->expires = (int64_t)time(NULL) + seconds;
	return 0;
}

/* ---- requests ---- */

struct form_end { /* how a request may end; borrowed */
	const struct stop *stop;
	struct error *err;
};

/* "Authorization: Basic ...", of a client with a secret (RFC 6749 §2.3.1). */
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

/* Adds the client to the form, sends it, and wipes it. 0 with the answer, if it
 * is a JSON object: owned. */
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
		rc = refused(q->what, status, *tree, end->err);
	buf_wipe(&secret);
	buf_wipe(form);
	return rc;
}

static int ask_tokens(const struct oauth_net *n, struct buf *form,
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
	return ask_tokens(n, &form, g, stop, err);
}

int oauth_refresh(const struct oauth_net *n, struct oauth_grant *g,
		  const struct stop *stop, struct error *err)
{
	struct buf form = BUF_INIT(BODY_MAX);

	if (!g->refresh)
		return error_set(err, ERR_AUTH, "the login has expired");
	oauth_add_field(&form, "grant_type", STR("refresh_token"));
	oauth_add_field(&form, "refresh_token", str_of(g->refresh));
	return ask_tokens(n, &form, g, stop, err);
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
	/* With it go the access tokens that it gave (RFC 7009 §2.1). */
	oauth_add_field(&form, "token",
			str_of(g->refresh ? g->refresh : g->access));
	oauth_add_field(&form, "token_type_hint",
			g->refresh ? STR("refresh_token")
				   : STR("access_token"));
	rc = send_form(n, &q, &form, g, &tree, &end);
	cJSON_Delete(tree);
	return rc;
}

/* ---- the client ---- */

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
		rc = refused(q.what, status, tree, err);
	else if (rc == 0)
		rc = read_client(tree, g, err);
	wipe_strings(tree);
	cJSON_Delete(tree);
	buf_release(&body);
	return rc;
}
