/* vendor.c - requests to a vendor's API, and lists of its sandboxes. */
/* SPDX-License-Identifier: MIT */
/*
 * The client and a sandbox's state (vendor_open, vendor_box), JSON requests
 * (vendor_api), all items of a list with several pages (vendor_pages), and the
 * selection of dcode's sandboxes (vendor_search). vendor_life.c builds on this
 * file.
 */
#include "providers/kit/vendor.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"
#include "net/resolve.h"
#include "providers/kit/rest.h"
#include "sandbox/ports/ports.h"

enum {
	BODY_MAX = 1 << 20,
	PATH_ROOM = 64 << 10,
	PAGES_MAX = 1000,
	TOKEN_MAX = 8192,
	SNAPSHOT_NAME_MAX = 128,
};

/*
 * One server of a sandbox, in a list. Old servers stay in it until the sandbox
 * is released, because other threads may still use them. A new one is added
 * only for a new address or token.
 */
struct vendor_server {
	struct rest rest;
	struct vendor_server *older; /* owned, or NULL */
};

struct vendor_client *vendor_of(const struct sandbox_client *client)
{
	return client->priv;
}

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

static bool is_same_server(const struct rest *a, const struct rest *b)
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
	if (b->server && is_same_server(&b->server->rest, server)) {
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

int vendor_api(struct vendor_client *c, const struct http_request *ask,
	       cJSON **tree, const struct stop *stop, struct error *err)
{
	char header[VENDOR_HEADER];
	const char *const headers[] = { header, NULL };
	struct http_request own = *ask;
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
	       const struct http_request *ask, cJSON **tree,
	       const struct stop *stop, struct error *err)
{
	struct http_request full = *ask;
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
	struct http_request ask = { .method = "GET",
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

int vendor_post(struct vendor_client *c, const struct http_request *ask,
		const cJSON *body, cJSON **tree, const struct stop *stop,
		struct error *err)
{
	struct buf text = BUF_INIT(BODY_MAX);
	struct http_request full = *ask;
	int rc;

	json_print(&text, body);
	full.body = buf_str(&text);
	rc = buf_check(&text, "the request", err);
	if (rc == 0)
		rc = vendor_api(c, &full, tree, stop, err);
	buf_wipe(&text);
	return rc;
}

int vendor_change_network(struct sandbox *sb, const char *method, char *path,
			  cJSON *body, const struct stop *stop,
			  struct error *err)
{
	const struct http_request ask = { .method = method,
					  .path = path,
					  .what = "changing the network",
					  .flags = REST_AGAIN };
	int rc = vendor_post(sb->client->priv, &ask, body, NULL, stop, err);

	body_wipe(body);
	free(path);
	return rc;
}

int vendor_port_url(struct sandbox *sb, const struct http_request *ask,
		    const struct port_names *names, struct port_url *u,
		    const struct stop *stop, struct error *err)
{
	struct vendor_client *c = sb->client->priv;
	cJSON *tree = NULL;
	const char *token;
	int rc = vendor_ask(c, sb->id, ask, &tree, stop, err);

	if (rc == 0) {
		u->url = vendor_server_url(c, json_string(tree, names->url, ""),
					   err);
		rc = u->url ? 0 : -1;
	}
	token = json_string(tree, names->token, "");
	if (rc == 0 && names->header)
		rc = port_url_set_token(u, names->header, "", token, err);
	else if (rc == 0 && vendor_id_ok(token))
		u->handle = xstrdup(token);
	else if (rc == 0)
		rc = error_set(err, ERR_PROTOCOL,
			       "unexpected server response: no token with "
			       "which the port could be closed");
	cJSON_Delete(tree);
	free((char *)ask->path);
	free((char *)ask->body.ptr);
	return rc < 0 ? -1 : 0;
}

int vendor_post_snapshot(struct sandbox *sb, const struct http_request *ask,
			 const char *name, cJSON **tree,
			 const struct stop *stop, struct error *err)
{
	struct buf body = BUF_INIT(BODY_MAX);
	struct http_request full = *ask;
	int rc;

	if (!*name || strlen(name) > SNAPSHOT_NAME_MAX)
		return error_set(err, ERR_USAGE, "not a snapshot name");
	buf_addc(&body, '{');
	json_member(&body, "name", str_of(name));
	buf_addc(&body, '}');
	full.method = "POST";
	full.what = "making the snapshot";
	full.body = buf_str(&body);
	rc = vendor_ask(sb->client->priv, sb->id, &full, tree, stop, err);
	buf_release(&body);
	return rc;
}

int vendor_delete_snapshot(struct sandbox_client *client, const char *path,
			   const char *id, const struct stop *stop,
			   struct error *err)
{
	struct buf whole = BUF_INIT(BODY_MAX);
	struct http_request ask = { .method = "DELETE",
				    .what = "deleting the snapshot",
				    .flags = REST_AGAIN | REST_MISSING_OK };
	int rc;

	buf_adds(&whole, path);
	rest_encode(&whole, str_of(id));
	ask.path = whole.ptr;
	rc = vendor_api(client->priv, &ask, NULL, stop, err);
	buf_release(&whole);
	return rc;
}

int vendor_send(struct sandbox *sb, const struct http_request *ask,
		struct http_response *res, const struct stop *stop,
		struct error *err)
{
	return rest_call(vendor_server(sb), ask, res, stop, err);
}

const struct vendor_state *vendor_state(const struct vendor *v,
					const cJSON *answer)
{
	const char *word = json_string(answer, v->fields.state, "");
	const struct vendor_state *s = v->states;

	while (s->word && strcmp(s->word, word) != 0)
		s++;
	return s; /* end of the table: a row of zeros, for unknown words */
}

struct pager {
	const struct vendor_pages *row;
	char *token; /* owned: token or path of the next page, or NULL */
	/* owned, for .next: id of the previous page's first item */
	char *first;
	int64_t seen;
};

static void on_header(void *arg, struct str line)
{
	struct pager *p = arg;
	size_t colon = str_find(line, ':');
	struct str name = { line.ptr, colon };
	struct str value = str_trim(str_skip(line, colon + 1));

	if (!p->row->header || !str_is_nocase(name, p->row->header) ||
	    value.len > TOKEN_MAX)
		return;
	free(p->token);
	p->token = value.len ? xstrndup(value.ptr, value.len) : NULL;
}

/*
 * Returns the page's array from one of the three places where vendors put it.
 */
static const cJSON *items_of(const struct vendor_pages *row, const cJSON *page)
{
	const cJSON *list = row->items ? json_get(page, row->items) : page;

	list = list ? list : json_get(page, "items");
	list = list ? list : page;
	return cJSON_IsArray(list) ? list : NULL;
}

/*
 * Sets the path of the next page. A page that repeats the previous one ends the
 * list: it comes from a server that ignores offsets.
 */
static void make_path(struct pager *p, const struct vendor_query *q,
		      const cJSON *page)
{
	const cJSON *items = items_of(p->row, page);
	const char *first = json_string(items->child, "id", "");
	struct buf path = BUF_INIT(PATH_ROOM);

	p->seen += cJSON_GetArraySize(items);
	if (!p->first || !*first || strcmp(p->first, first) != 0)
		p->row->next(&path, q->path, page, p->seen);
	free(p->first);
	p->first = xstrdup(first);
	p->token = path.len ? buf_detach(&path) : NULL;
}

/* Reads the token of the next page from the body, if it is there. */
static int read_token(struct pager *p, const struct vendor_query *q,
		      const cJSON *page, struct error *err)
{
	const cJSON *items = items_of(p->row, page);
	const char *next = "";

	if (p->row->next)
		make_path(p, q, page);
	if (p->row->next || p->row->header)
		return 0;
	if (p->row->member)
		next = json_string(page, p->row->member, "");
	else if (items->child && json_bool(page, "has_more", false))
		next = json_string(items->child->prev, "id", "");
	if (strlen(next) > TOKEN_MAX)
		return error_set(err, ERR_PROTOCOL,
				 "unexpected server response: the cursor is "
				 "too long (%zu bytes)",
				 strlen(next));
	p->token = *next ? xstrdup(next) : NULL;
	return 0;
}

static int read_page(struct vendor_client *c, const struct vendor_query *q,
		     struct pager *p, cJSON **page, const struct stop *stop,
		     struct error *err)
{
	struct buf path = BUF_INIT(PATH_ROOM);
	struct http_request ask = { .method = "GET",
				    .what = "reading a list",
				    .flags = REST_AGAIN,
				    .header = on_header,
				    .arg = p };
	int rc;

	buf_adds(&path, p->token && p->row->next ? p->token : q->path);
	if (p->token && !p->row->next) {
		buf_addf(&path, "&%s=", p->row->query);
		rest_encode(&path, str_of(p->token));
	}
	free(p->token);
	p->token = NULL;
	ask.path = path.ptr;
	rc = buf_check(&path, "the request", err);
	if (rc == 0)
		rc = vendor_api(c, &ask, page, stop, err);
	buf_release(&path);
	if (rc == 0 && !items_of(p->row, *page))
		rc = error_set(err, ERR_PROTOCOL,
			       "unexpected server response: no list");
	return rc == 0 ? read_token(p, q, *page, err) : rc;
}

int vendor_pages(struct vendor_client *c, const struct vendor_query *q,
		 const struct stop *stop, struct error *err)
{
	struct pager p = { .row = q->pages };
	bool more = true;
	int pages = 0;
	int rc = 0;

	while (rc == 0 && more) {
		const cJSON *item;
		cJSON *page = NULL;

		rc = read_page(c, q, &p, &page, stop, err);
		if (rc == 0)
			cJSON_ArrayForEach (item, items_of(p.row, page))
				more = more && q->each(q->arg, item);
		cJSON_Delete(page);
		more = more && p.token;
		if (rc == 0 && more && ++pages == PAGES_MAX)
			rc = error_set(err, ERR_LIMIT,
				       "the list has too many pages");
	}
	free(p.token);
	free(p.first);
	return rc;
}

static int64_t time_of(const cJSON *item, const char *field)
{
	const cJSON *value = json_get(item, field);

	return cJSON_IsNumber(value) ? json_int(item, field, 0) / 1000
				     : json_time(item, field);
}

/* arg of an info_sink that passes on selected sandboxes only */
struct vendor_search {
	const char *owner; /* NULL: any owner */
	const char *label; /* NULL: any label */
	const struct info_sink *sink;
};

/* Implements info_sink.emit: passes on sandboxes of the owner and label. */
static void emit_if_owned(void *arg, const struct sandbox_info *info)
{
	const struct vendor_search *s = arg;

	if (info->label[0] && info->state != STATE_GONE &&
	    (!s->owner || strcmp(info->owner, s->owner) == 0) &&
	    (!s->label || strcmp(info->label, s->label) == 0))
		info_emit(s->sink, info);
}

/* Reports one item of the vendor's list. The item may belong to another
 * owner. */
static void emit_item(const struct vendor *v, const cJSON *item,
		      const struct info_sink *sink)
{
	const struct vendor_fields *f = &v->fields;
	const cJSON *labels = json_get(item, f->labels);
	struct sandbox_info info = {
		.id = json_string(item, f->id, ""),
		.label = json_string(labels, "dcode.label", ""),
		.owner = json_string(labels, "dcode.owner", ""),
		.state = vendor_state(v, item)->state,
		.image = "",
		.created = time_of(item, f->created),
	};

	for (size_t i = 0; i < 2 && f->image[i] && !*info.image; i++)
		info.image = json_string(item, f->image[i], "");
	if (v->info)
		v->info(item, &info);
	if (vendor_id_ok(info.id))
		info_emit(sink, &info);
}

struct items {
	const struct vendor *v;
	struct info_sink sink;
};

static bool on_item(void *arg, const cJSON *item)
{
	const struct items *all = arg;

	emit_item(all->v, item, &all->sink);
	return true;
}

/*
 * Lists the sandboxes. The result is filtered here again, because the vendor
 * may ignore the filter in the request.
 */
int vendor_search(struct vendor_client *c, const char *label, const char *value,
		  const struct info_sink *sink, const struct stop *stop,
		  struct error *err)
{
	bool owner = label && strcmp(label, "dcode.owner") == 0;
	struct vendor_search s = { .owner = owner ? value : NULL,
				   .label = owner ? NULL : value,
				   .sink = sink };
	struct items all = { c->vendor, { emit_if_owned, &s } };
	struct buf path = BUF_INIT(PATH_ROOM);
	struct vendor_query q = { .pages = c->vendor->pages,
				  .each = on_item,
				  .arg = &all };
	int rc;

	if (c->vendor->items)
		return c->vendor->items(c, on_item, &all, stop, err);
	c->vendor->list_path(c, &path, label, value);
	q.path = path.ptr;
	rc = buf_check(&path, "the request", err);
	if (rc == 0)
		rc = vendor_pages(c, &q, stop, err);
	buf_release(&path);
	return rc;
}

int vendor_list(struct sandbox_client *client, const char *owner,
		const struct info_sink *sink, const struct stop *stop,
		struct error *err)
{
	return vendor_search(vendor_of(client), owner ? "dcode.owner" : NULL,
			     owner, sink, stop, err);
}

int vendor_info(struct sandbox_client *client, const char *id,
		const struct info_sink *sink, const struct stop *stop,
		struct error *err)
{
	struct vendor_client *c = vendor_of(client);
	const struct vendor *v = c->vendor;
	cJSON *tree = NULL;
	const char *got;
	int rc;

	if (vendor_check_id(v, id, err) < 0)
		return -1;
	rc = vendor_get(c, id, &tree, stop, err);
	got = json_string(tree, v->fields.id, "nothing");
	if (rc > 0)
		rc = error_set(err, ERR_NOT_FOUND, "no %s %s", v->noun, id);
	else if (rc == 0 && strcmp(got, id) != 0)
		rc = error_set(err, ERR_PROTOCOL,
			       "unexpected server response: asked for "
			       "%s %s, got %.100s",
			       v->noun, id, got);
	else if (rc == 0)
		emit_item(v, tree, sink);
	cJSON_Delete(tree);
	return rc;
}
