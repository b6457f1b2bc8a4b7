/* list.c - which sandboxes are ours, as the console knows them. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "providers/deno/deno.h"

enum { PAGES_MAX = 1000, CURSOR_MAX = 4096, PATH_MAX_BYTES = 32 << 10 };

struct page_end {
	char *cursor; /* owned: of the next page, as it stands in the address;
			 or NULL */
};

/* Link: <https://.../sandboxes?cursor=abc>; rel="next", <...>; rel="prev". The
 * SDK reads it of other lists (client.js), and takes this one for whole. */
static void on_header(void *arg, struct str line)
{
	struct page_end *end = arg;
	size_t colon = str_find(line, ':');
	struct str rest = str_trim(str_skip(line, colon + 1));
	struct str item;

	if (!str_is_nocase((struct str){ line.ptr, colon }, "link"))
		return;
	while (str_split(&rest, ',', &item)) {
		size_t at = str_search(item, STR("cursor="));
		struct str cursor = str_skip(item, at + strlen("cursor="));

		cursor.len = str_find(cursor, '>');
		cursor.len = str_find(cursor, '&');
		if (at == item.len || !cursor.len || cursor.len > CURSOR_MAX ||
		    str_search(item, STR("rel=\"next\"")) == item.len)
			continue;
		free(end->cursor);
		end->cursor = xstrndup(cursor.ptr, cursor.len);
	}
}

static bool cursor_ok(const char *cursor)
{
	return strspn(cursor, "abcdefghijklmnopqrstuvwxyz"
			      "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
			      "0123456789-._~%+=/") == strlen(cursor);
}

struct search {
	const char *key; /* of a label; NULL: all */
	const char *value;
	const struct info_sink *sink;
};

static int one_page(struct deno *d, const struct search *s,
		    struct page_end *end, cJSON **page, const struct stop *stop,
		    struct error *err)
{
	struct buf path = BUF_INIT(PATH_MAX_BYTES);
	struct rest_ask ask = { .method = "GET",
				.what = "listing sandboxes",
				.flags = REST_AGAIN,
				.header = on_header,
				.arg = end };
	int rc;

	buf_adds(&path, "/api/v2/sandboxes");
	if (s->key) {
		buf_adds(&path, "?labels%5B");
		rest_encode(&path, str_of(s->key));
		buf_adds(&path, "%5D=");
		rest_encode(&path, str_of(s->value));
	}
	if (end->cursor)
		buf_addf(&path, "%ccursor=%s", s->key ? '&' : '?', end->cursor);
	free(end->cursor);
	end->cursor = NULL;
	ask.path = path.ptr;
	rc = buf_check(&path, "the request", err);
	if (rc == 0)
		rc = rest_json(&d->console, &ask, page, NULL, stop, err);
	deno_advise(err);
	buf_release(&path);
	if (rc == 0 && !cJSON_IsArray(*page))
		rc = error_set(err, ERR_PROTOCOL,
			       "unexpected server response: no list");
	if (rc == 0 && end->cursor && !cursor_ok(end->cursor))
		rc = error_set(err, ERR_PROTOCOL,
			       "unexpected server response: no next page");
	return rc;
}

static void tell(const struct search *s, const cJSON *item)
{
	const cJSON *labels = json_get(item, "labels");
	bool runs = strcmp(json_string(item, "status", ""), "running") == 0;
	struct sandbox_info info = {
		.id = json_string(item, "id", ""),
		.label = json_string(labels, "dcode.label", ""),
		.owner = json_string(labels, "dcode.owner", ""),
		.state = runs ? STATE_RUNNING : STATE_GONE,
		.image = "",
		.created = rest_time(json_string(item, "createdAt", "")),
	};

	if (deno_id_ok(info.id))
		info_emit(s->sink, &info);
}

static int find(struct deno *d, const struct search *s, const struct stop *stop,
		struct error *err)
{
	struct page_end end = { 0 };
	int pages = 0;
	int rc;

	do {
		const cJSON *item;
		cJSON *page = NULL;

		rc = one_page(d, s, &end, &page, stop, err);
		if (rc == 0)
			cJSON_ArrayForEach (item, page)
				tell(s, item);
		cJSON_Delete(page);
		if (rc == 0 && ++pages == PAGES_MAX)
			rc = error_set(err, ERR_LIMIT,
				       "the list of sandboxes does not end");
	} while (rc == 0 && end.cursor);
	free(end.cursor);
	return rc;
}

/* One that has stopped is gone: nothing starts it again. */
struct ours {
	const char *owner;
	const char *id;
	bool found;
	const struct info_sink *sink;
};

static void on_ours(void *arg, const struct sandbox_info *info)
{
	const struct ours *o = arg;

	if (info->state != STATE_GONE && info->label[0] &&
	    (!o->owner || strcmp(info->owner, o->owner) == 0))
		info_emit(o->sink, info);
}

int deno_list(struct sandbox_client *host, const char *owner,
	      const struct info_sink *sink, const struct stop *stop,
	      struct error *err)
{
	struct ours o = { .owner = owner, .sink = sink };
	const struct info_sink own = { on_ours, &o };
	const struct search s = { owner ? "dcode.owner" : NULL, owner, &own };

	return find(deno_of(host), &s, stop, err);
}

int deno_find(struct sandbox_client *host, const char *label,
	      const struct info_sink *sink, const struct stop *stop,
	      struct error *err)
{
	struct ours o = { .sink = sink };
	const struct info_sink own = { on_ours, &o };
	const struct search s = { "dcode.label", label, &own };

	return find(deno_of(host), &s, stop, err);
}

static void on_one(void *arg, const struct sandbox_info *info)
{
	struct ours *o = arg;

	if (o->found || strcmp(info->id, o->id) != 0)
		return;
	o->found = true;
	info_emit(o->sink, info);
}

/* There is no way to ask for one alone. */
int deno_info(struct sandbox_client *host, const char *id,
	      const struct info_sink *sink, const struct stop *stop,
	      struct error *err)
{
	struct ours o = { .id = id, .sink = sink };
	const struct info_sink one = { on_one, &o };
	const struct search s = { NULL, NULL, &one };

	if (find(deno_of(host), &s, stop, err) < 0)
		return -1;
	if (!o.found)
		return error_set(err, ERR_NOT_FOUND, "sandbox not found: %s",
				 id);
	return 0;
}
