/* list.c - all pages of a list, and which sandboxes are ours. */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "providers/langsmith/langsmith.h"

enum { PAGES_MAX = 1000, PAGE = 500, CURSOR_MAX = 4096 };

/* {"snapshots":[...]} or {"sandboxes":[...]}; newer servers {"items":[...],
 * "next_cursor":C}. */
static const cJSON *items_of(const cJSON *page)
{
	static const char *const keys[] = { "items", "snapshots", "sandboxes" };
	const cJSON *found = NULL;

	for (size_t i = 0; !found && i < sizeof(keys) / sizeof(*keys); i++)
		found = json_get(page, keys[i]);
	return cJSON_IsArray(found) ? found : NULL;
}

struct pager {
	const struct langsmith_query *query;
	char *cursor; /* owned: of the next page, or NULL */
	char *first;  /* owned: id of the last page's first item, or NULL */
	int64_t offset;
};

static int one_page(struct langsmith *l, const struct pager *p, cJSON **page,
		    const struct stop *stop, struct error *err)
{
	struct buf text = BUF_INIT(32 << 10);
	struct rest_ask ask = { .method = "GET",
				.what = "reading a list",
				.flags = REST_AGAIN };
	int rc;

	buf_adds(&text, p->query->path);
	if (p->cursor) {
		buf_addf(&text, "?page_size=%d&cursor=", PAGE);
		rest_encode(&text, str_of(p->cursor));
	} else {
		buf_addf(&text, "?limit=%d&offset=%lld", PAGE,
			 (long long)p->offset);
	}
	buf_adds(&text, p->query->more);
	buf_addc(&text, '\0');
	ask.path = text.ptr;
	rc = buf_check(&text, "the request", err);
	if (rc == 0)
		rc = langsmith_api(l, &ask, page, NULL, stop, err);
	buf_release(&text);
	if (rc == 0 && !items_of(*page))
		rc = error_set(err, ERR_PROTOCOL,
			       "unexpected server response: no list");
	return rc;
}

/* Whether there may be another page. A server that does not know offsets
 * sends the first one again. */
static bool go_on(struct pager *p, const cJSON *page)
{
	const cJSON *items = items_of(page);
	const char *cursor = json_string(page, "next_cursor", "");
	const char *first = json_string(items->child, "id", "");
	bool again = p->first && strcmp(p->first, first) == 0;

	free(p->first);
	free(p->cursor);
	p->first = xstrdup(first);
	p->cursor = *cursor && strlen(cursor) <= CURSOR_MAX ? xstrdup(cursor)
							    : NULL;
	p->offset += cJSON_GetArraySize(items);
	if (json_get(page, "next_cursor") || json_get(page, "items"))
		return p->cursor;
	return items->child && !again;
}

static bool tell_all(const struct langsmith_query *q, const cJSON *page)
{
	const cJSON *item;
	bool more = true;

	cJSON_ArrayForEach (item, items_of(page))
		more = more && q->each(q->arg, item);
	return more;
}

int langsmith_pages(struct langsmith *l, const struct langsmith_query *q,
		    const struct stop *stop, struct error *err)
{
	struct pager p = { .query = q };
	bool more = true;
	int pages = 0;
	int rc = 0;

	while (rc == 0 && more) {
		cJSON *page = NULL;

		rc = one_page(l, &p, &page, stop, err);
		more = rc == 0 && tell_all(q, page) && go_on(&p, page);
		cJSON_Delete(page);
		if (more && ++pages == PAGES_MAX)
			rc = error_set(err, ERR_LIMIT, "a list does not end");
	}
	free(p.cursor);
	free(p.first);
	return rc;
}

static enum sandbox_state state_of(const char *word)
{
	static const struct {
		const char *word;
		enum sandbox_state state;
	} states[] = {
		{ "ready", STATE_RUNNING },
		{ "provisioning", STATE_STARTING },
		{ "stopped", STATE_STOPPED },
		{ "deleting", STATE_GONE },
		{ "failed", STATE_STOPPED },
	};

	for (size_t i = 0; i < sizeof(states) / sizeof(*states); i++)
		if (strcmp(states[i].word, word) == 0)
			return states[i].state;
	return STATE_UNKNOWN;
}

/* "dcode-" and 8 characters. */
static bool is_label(const char *name)
{
	return strlen(name) == 14 && strncmp(name, "dcode-", 6) == 0 &&
	       strspn(name + 6, "abcdefghijklmnopqrstuvwxyz234567") == 8;
}

/* An older server does not tell labels; the name is one. */
static struct sandbox_info info_of(const cJSON *item)
{
	const cJSON *labels = json_get(item, "labels");
	const char *name = json_string(item, "name", "");

	return (struct sandbox_info){
		.id = name,
		.label = json_string(labels, "dcode.label",
				     is_label(name) ? name : ""),
		.owner = json_string(labels, "dcode.owner", ""),
		.state = state_of(json_string(item, "status", "")),
		.image = json_string(item, "snapshot_id", ""),
		.created = rest_time(json_string(item, "created_at", "")),
	};
}

struct ours {
	const char *owner;
	const struct info_sink *sink;
};

static bool on_item(void *arg, const cJSON *item)
{
	const struct ours *o = arg;
	struct sandbox_info info = info_of(item);

	if (langsmith_id_ok(info.id) && info.label[0] &&
	    (!o->owner || strcmp(info.owner, o->owner) == 0))
		info_emit(o->sink, &info);
	return true;
}

int langsmith_list(struct sandbox_client *host, const char *owner,
		   const struct info_sink *sink, const struct stop *stop,
		   struct error *err)
{
	struct ours o = { owner, sink };
	const struct langsmith_query q = { .path = "/v2/sandboxes/boxes",
					   .more = "&name_contains=dcode-",
					   .each = on_item,
					   .arg = &o };

	return langsmith_pages(langsmith_of(host), &q, stop, err);
}

int langsmith_info(struct sandbox_client *host, const char *id,
		   const struct info_sink *sink, const struct stop *stop,
		   struct error *err)
{
	char *path = xasprintf("/v2/sandboxes/boxes/%s", id);
	struct rest_ask ask = { .method = "GET",
				.path = path,
				.what = "asking for the sandbox",
				.flags = REST_AGAIN };
	cJSON *tree = NULL;
	struct sandbox_info info;
	int rc = -1;

	if (!langsmith_id_ok(id))
		error_set(err, ERR_USAGE, "'%.100s' is no sandbox id", id);
	else
		rc = langsmith_api(langsmith_of(host), &ask, &tree, NULL, stop,
				   err);
	info = info_of(tree);
	if (rc == 0 && strcmp(info.id, id) != 0)
		rc = error_set(err, ERR_PROTOCOL,
			       "unexpected server response: asked for "
			       "sandbox %s, got %.100s",
			       id, *info.id ? info.id : "nothing");
	if (rc == 0)
		info_emit(sink, &info);
	cJSON_Delete(tree);
	free(path);
	return rc;
}
