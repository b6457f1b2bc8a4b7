/* vendor.c - a vendor's account, one sandbox's server, requests to both. */
/* SPDX-License-Identifier: MIT */
#include "providers/kit/vendor.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "net/loopback.h"
#include "providers/kit/http_files.h"

enum { BODY_MAX = 1 << 20 };

/* Older ones may still be in use by other threads: they stay until the sandbox
 * is released. A new one comes only with a new address or token. */
struct vendor_server {
	struct rest rest;
	struct vendor_server *older; /* owned, or NULL */
};

struct vendor_client *vendor_open(struct sandbox_client *client,
				  const struct vendor *vendor)
{
	struct vendor_client *c = xcalloc(1, vendor->client_size);

	c->vendor = vendor;
	c->client = client;
	c->api.http = client->http;
	create_log_init(&c->created);
	client->priv = c;
	return c;
}

void vendor_close(struct sandbox_client *client)
{
	struct vendor_client *c = vendor_of(client);

	if (!c)
		return;
	if (c->vendor->close)
		c->vendor->close(c);
	rest_release(&c->api);
	create_log_release(&c->created);
	free(c);
	client->priv = NULL;
	client->endpoint = NULL;
}

int vendor_bearer(struct rest *r, const char *token, struct error *err)
{
	char *value = xasprintf("Bearer %s", token);
	int rc = rest_header(r, "Authorization", value, err);

	explicit_bzero(value, strlen(value));
	free(value);
	return rc;
}

struct vendor_client *vendor_of(const struct sandbox_client *client)
{
	return client->priv;
}

bool vendor_id_ok(const char *id)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyz"
				      "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789-_.";
	size_t len = strlen(id);

	return len && len <= VENDOR_ID_MAX && id[0] != '.' &&
	       strspn(id, allowed) == len;
}

int vendor_check_id(const struct vendor *v, const char *id, struct error *err)
{
	if (vendor_id_ok(id))
		return 0;
	return error_set(err, ERR_USAGE, "not a %s id: '%.100s'", v->noun, id);
}

struct vendor_box *vendor_box(struct sandbox *sb)
{
	struct vendor_box *b = sb->priv;

	if (!b) {
		b = xcalloc(1, vendor_of(sb->client)->vendor->box_size);
		pthread_mutex_init(&b->lock, NULL);
		sb->priv = b;
	}
	return b;
}

void vendor_discard(struct sandbox *sb)
{
	struct vendor_box *b = sb->priv;
	struct vendor_server *older;

	if (!b)
		return;
	if (vendor_of(sb->client)->vendor->discard)
		vendor_of(sb->client)->vendor->discard(sb);
	for (struct vendor_server *s = b->server; s; s = older) {
		older = s->older;
		rest_release(&s->rest);
		free(s);
	}
	pthread_mutex_destroy(&b->lock);
	free(b);
	sb->priv = NULL;
}

const struct rest *vendor_server(struct sandbox *sb)
{
	struct vendor_box *b = vendor_box(sb);
	struct vendor_server *now;

	pthread_mutex_lock(&b->lock);
	now = b->server;
	pthread_mutex_unlock(&b->lock);
	return now ? &now->rest : &vendor_of(sb->client)->api;
}

static bool same_server(const struct rest *a, const struct rest *b)
{
	size_t i = 0;

	while (a->headers[i] && b->headers[i] &&
	       strcmp(a->headers[i], b->headers[i]) == 0)
		i++;
	return !a->headers[i] && !b->headers[i] &&
	       strcmp(a->base, b->base) == 0;
}

void vendor_set_server(struct sandbox *sb, struct rest *server)
{
	struct vendor_box *b = vendor_box(sb);

	pthread_mutex_lock(&b->lock);
	if (b->server && same_server(&b->server->rest, server)) {
		rest_release(server);
	} else {
		struct vendor_server *s = xcalloc(1, sizeof(*s));

		s->rest = *server;
		s->older = b->server;
		b->server = s;
	}
	pthread_mutex_unlock(&b->lock);
	*server = (struct rest){ 0 };
}

char *vendor_server_url(const struct vendor_client *c, const char *url,
			struct error *err)
{
	struct str base = str_of(url);

	if (!loopback_or_https(base) ||
	    (!str_starts(base, "https://") &&
	     str_starts(str_of(c->api.base), "https://"))) {
		error_set(err, ERR_PROTOCOL,
			  "unexpected server response: refusing to send the "
			  "key to '%.200s'",
			  url);
		return NULL;
	}
	while (str_ends(base, "/"))
		base.len--;
	return xstrndup(base.ptr, base.len);
}

void vendor_set_lease(struct sandbox *sb, int64_t lifetime_s)
{
	struct vendor_box *b = vendor_box(sb);

	pthread_mutex_lock(&b->lock);
	b->lifetime_s = lifetime_s;
	b->ends = clock_ms() + lifetime_s * 1000;
	pthread_mutex_unlock(&b->lock);
}

int64_t vendor_lifetime(struct sandbox *sb)
{
	struct vendor_box *b = vendor_box(sb);
	int64_t lifetime_s;

	pthread_mutex_lock(&b->lock);
	lifetime_s = b->lifetime_s;
	pthread_mutex_unlock(&b->lock);
	return lifetime_s;
}

int vendor_api(struct vendor_client *c, const struct rest_ask *ask,
	       cJSON **tree, const struct stop *stop, struct error *err)
{
	char header[VENDOR_HEADER];
	const char *const headers[] = { header, NULL };
	struct rest_ask own = *ask;
	cJSON *answer = NULL;
	int status = 0;
	int rc;

	if (c->vendor->header && !own.headers &&
	    strcmp(own.method, "GET") != 0) {
		c->vendor->header(header);
		own.headers = headers;
	}
	rc = rest_json(&c->api, &own, &answer, &status, stop, err);
	if (rc < 0 && err->code == ERR_AUTH && !err->hint[0])
		error_hint(err, "%s", c->vendor->auth_hint);
	if (rc == 0 && status == 404) {
		cJSON_Delete(answer);
		answer = NULL;
		rc = 1;
	}
	if (tree)
		*tree = answer;
	else
		cJSON_Delete(answer);
	return rc;
}

int vendor_ask(struct vendor_client *c, const char *id,
	       const struct rest_ask *ask, cJSON **tree,
	       const struct stop *stop, struct error *err)
{
	struct rest_ask full = *ask;
	char *path = xasprintf("%s%s%s", c->vendor->path, id,
			       ask->path ? ask->path : "");
	int rc;

	full.path = path;
	rc = vendor_api(c, &full, tree, stop, err);
	free(path);
	return rc;
}

int vendor_get(struct vendor_client *c, const char *id, cJSON **tree,
	       const struct stop *stop, struct error *err)
{
	struct rest_ask ask = { .method = "GET",
				.flags = REST_AGAIN | REST_MISSING_OK };
	char *what;
	int rc;

	if (c->vendor->get)
		return c->vendor->get(c, id, tree, stop, err);
	what = xasprintf("asking for the %s", c->vendor->noun);
	ask.what = what;
	rc = vendor_ask(c, id, &ask, tree, stop, err);
	free(what);
	return rc;
}

int vendor_post(struct vendor_client *c, const struct rest_ask *ask,
		const cJSON *body, cJSON **tree, const struct stop *stop,
		struct error *err)
{
	struct buf text = BUF_INIT(BODY_MAX);
	struct rest_ask full = *ask;
	int rc;

	json_print(&text, body);
	full.body = buf_str(&text);
	rc = buf_check(&text, "the request", err);
	if (rc == 0)
		rc = vendor_api(c, &full, tree, stop, err);
	buf_release(&text);
	return rc;
}

int vendor_send(struct sandbox *sb, const struct rest_ask *ask,
		struct http_response *res, const struct stop *stop,
		struct error *err)
{
	return rest_call(vendor_server(sb), ask, res, stop, err);
}

int vendor_upload(struct sandbox *sb, struct transfer *files, size_t n,
		  const struct stop *stop, struct error *err)
{
	const struct vendor *v = vendor_of(sb->client)->vendor;

	return http_files_upload(sb, v->files, files, n, stop, err);
}

int vendor_download(struct sandbox *sb, struct transfer *files, size_t n,
		    const struct stop *stop, struct error *err)
{
	const struct vendor *v = vendor_of(sb->client)->vendor;

	return http_files_download(sb, v->files, files, n, stop, err);
}
