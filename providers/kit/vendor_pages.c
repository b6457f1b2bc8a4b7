/* vendor_pages.c - every item of all pages of a vendor's list. */
/* SPDX-License-Identifier: MIT */
#include "providers/kit/vendor_pages.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"

enum { PAGES_MAX = 1000, TOKEN_MAX = 8192, PATH_ROOM = 64 << 10 };

struct pager {
	const struct vendor_pages *row;
	char *token; /* owned: of the next page, or its path, or NULL */
	char *first; /* owned, for .next: id of the last page's first item */
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

static const cJSON *items_of(const struct vendor_pages *row, const cJSON *page)
{
	const cJSON *list = row->items ? json_get(page, row->items) : page;

	list = list ? list : json_get(page, "items");
	list = list ? list : page;
	return cJSON_IsArray(list) ? list : NULL;
}

/* A server that does not know offsets sends the first page again. */
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

/* Where the answer says how the list goes on. */
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
			rc = error_set(err, ERR_LIMIT, "the list does not end");
	}
	free(p.token);
	free(p.first);
	return rc;
}
