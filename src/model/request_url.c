/* request_url.c - where a request to a model goes, and its key's header. */
/* SPDX-License-Identifier: MIT */
#include "model/request_url.h"

#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "model/presets.h"
#include "model/wires/vertex_account.h"

/* A base that already ends in (the front of) the path is taken as it is:
 * https://h/v1 and https://h for /v1/messages, a whole address too. */
static char *join_url(const char *base, const char *path)
{
	struct str b = str_of(base);
	const char *last = strrchr(path, '/');

	if (str_ends(b, path) || str_ends(b, last))
		return xstrdup(base);
	if (str_starts(str_of(path), "/v1/") && str_ends(b, "/v1"))
		path += strlen("/v1");
	return xasprintf("%s%s", base, path);
}

/* The path of a dated API: wire->path, with the version asked for. */
static void add_dated(struct buf *url, const struct wire *wire,
		      const struct model_choice *c)
{
	if (wire->deployments) {
		buf_adds(url, "/deployments/");
		wire_escape(url, c->model, "");
	}
	buf_addf(url, "%s?api-version=", wire->path);
	wire_escape(url, c->version, "");
}

char *request_url(const struct wire *wire, const struct model_choice *c)
{
	struct buf url = BUF_INIT(SIZE_MAX / 2);

	if (!wire->url && !c->version && !c->vertex)
		return join_url(c->base_url, wire->path);
	buf_adds(&url, c->base_url);
	if (wire->url) {
		wire->url(c, &url);
	} else if (c->vertex) {
		vertex_account_path(c->vertex, "anthropic", c->model, &url);
		buf_adds(&url, ":streamRawPredict");
	} else {
		add_dated(&url, wire, c);
	}
	return buf_detach(&url);
}

const char *request_key_header(const struct wire *wire,
			       const struct model_choice *c)
{
	const struct preset *p = preset_find(c->provider ? c->provider : "");
	const struct wire *own = p && p->wire ? wire_find(p->wire) : NULL;
	bool token = p && p->token_env && c->key_env &&
		     !strcmp(c->key_env, p->token_env);

	if (c->vertex)
		return "Authorization: Bearer ";
	return own && p->auth && !token && !strcmp(own->auth, wire->auth)
		       ? p->auth
		       : wire->auth;
}
