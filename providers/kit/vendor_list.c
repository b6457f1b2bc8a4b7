/* vendor_list.c - all pages of a vendor's list, and which are ours. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "providers/kit/vendor.h"

enum { PAGES_MAX = 1000, TOKEN_MAX = 8192, PATH_ROOM = 64 << 10 };

struct pager {
	const struct vendor_pages *row;
	char *token; /* owned: of the next page, or NULL */
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

static const cJSON *items_of(const struct vendor_pages *row, const cJSON *page)
{
	const cJSON *list = row->items ? json_get(page, row->items) : page;

	list = list ? list : page;
	return cJSON_IsArray(list) ? list : NULL;
}

/* Where the answer says how the list goes on. */
static int read_token(struct pager *p, const cJSON *page, struct error *err)
{
	const cJSON *items = items_of(p->row, page);
	const char *next = "";

	if (p->row->header)
		return 0;
	if (p->row->member)
		next = json_string(page, p->row->member, "");
	else if (items->child && json_bool(page, "has_more", false))
		next = json_string(items->child->prev, "id", "");
	if (strlen(next) > TOKEN_MAX)
		return error_set(err, ERR_PROTOCOL,
				 "unexpected server response: a cursor of %zu "
				 "bytes",
				 strlen(next));
	p->token = *next ? xstrdup(next) : NULL;
	return 0;
}

static int read_page(struct vendor_client *c, const struct vendor_query *q,
		     struct pager *p, cJSON **page, const struct stop *stop,
		     struct error *err)
{
	struct buf path = BUF_INIT(PATH_ROOM);
	struct rest_ask ask = { .method = "GET",
				.what = "reading a list",
				.flags = REST_AGAIN,
				.header = on_header,
				.arg = p };
	int rc;

	buf_adds(&path, q->path);
	if (p->token) {
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
	return rc == 0 ? read_token(p, *page, err) : rc;
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
			rc = error_set(err, ERR_LIMIT, "the list does not end");
	}
	free(p.token);
	return rc;
}

static int64_t time_of(const cJSON *item, const char *field)
{
	const cJSON *value = json_get(item, field);

	return cJSON_IsNumber(value) ? json_int(item, field, 0) / 1000
				     : rest_time(json_string(item, field, ""));
}

struct search {            /* arg of an info_sink that filters */
	const char *owner; /* NULL: any */
	const char *label; /* the same */
	const struct info_sink *sink;
};

static void emit_ours(void *arg, const struct sandbox_info *info)
{
	const struct search *s = arg;

	if (info->label[0] && info->state != STATE_GONE &&
	    (!s->owner || strcmp(info->owner, s->owner) == 0) &&
	    (!s->label || strcmp(info->label, s->label) == 0))
		info_emit(s->sink, info);
}

void vendor_emit_info(const struct vendor *v, const cJSON *item,
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

	vendor_emit_info(all->v, item, &all->sink);
	return true;
}

int vendor_search(struct vendor_client *c, const char *label, const char *value,
		  const struct info_sink *sink, const struct stop *stop,
		  struct error *err)
{
	bool owner = label && strcmp(label, "dcode.owner") == 0;
	struct search s = { .owner = owner ? value : NULL,
			    .label = owner ? NULL : value,
			    .sink = sink };
	struct items all = { c->vendor, { emit_ours, &s } };
	struct buf path = BUF_INIT(PATH_ROOM);
	struct vendor_query q = { .pages = c->vendor->pages,
				  .each = on_item,
				  .arg = &all };
	int rc;

	c->vendor->list_path(&path, label, value);
	q.path = path.ptr;
	rc = buf_check(&path, "the request", err);
	if (rc == 0)
		rc = vendor_pages(c, &q, stop, err);
	buf_release(&path);
	return rc;
}

int vendor_list(struct sandbox_client *host, const char *owner,
		const struct info_sink *sink, const struct stop *stop,
		struct error *err)
{
	return vendor_search(vendor_of(host), owner ? "dcode.owner" : NULL,
			     owner, sink, stop, err);
}

int vendor_info(struct sandbox_client *host, const char *id,
		const struct info_sink *sink, const struct stop *stop,
		struct error *err)
{
	struct vendor_client *c = vendor_of(host);
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
		vendor_emit_info(v, tree, sink);
	cJSON_Delete(tree);
	return rc;
}
