/* list.c - which sandboxes are ours, what they are, and their snapshots. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "providers/e2b/e2b.h"

enum { PAGES_MAX = 1000, TOKEN_MAX = 4096, NAME_MAX_BYTES = 128 };

static enum sandbox_state state_of(const char *word)
{
	if (strcmp(word, "running") == 0)
		return STATE_RUNNING;
	if (strcmp(word, "paused") == 0)
		return STATE_STOPPED;
	return STATE_UNKNOWN;
}

static void tell(const cJSON *item, const struct info_sink *sink)
{
	const cJSON *metadata = json_get(item, "metadata");
	const char *alias = json_string(item, "alias", "");
	struct sandbox_info info = {
		.id = json_string(item, "sandboxID", ""),
		.label = json_string(metadata, "dcode.label", ""),
		.owner = json_string(metadata, "dcode.owner", ""),
		.state = state_of(json_string(item, "state", "")),
		.image = alias[0] ? alias : json_string(item, "templateID", ""),
		.created = rest_time(json_string(item, "startedAt", "")),
		.ends = rest_time(json_string(item, "endAt", "")),
	};

	/* A paused one does not end at endAt. */
	if (info.state == STATE_STOPPED)
		info.ends = 0;
	if (e2b_id_ok(info.id))
		info_emit(sink, &info);
}

struct cursor {
	char *token; /* owned: of the next page, or NULL */
};

static void on_header(void *arg, struct str line)
{
	struct cursor *c = arg;
	size_t colon = str_find(line, ':');
	struct str name = { line.ptr, colon };
	struct str value = str_trim(str_skip(line, colon + 1));

	if (!str_is_nocase(name, "x-next-token") || value.len > TOKEN_MAX)
		return;
	free(c->token);
	c->token = value.len ? xstrndup(value.ptr, value.len) : NULL;
}

/* As the SDK does: names and values are encoded, the pairs made from them once
 * more, and the whole as a query's value. */
static void add_filter(struct buf *path, const char *key, const char *value)
{
	struct buf name = BUF_INIT(4096);
	struct buf text = BUF_INIT(4096);
	struct buf pair = BUF_INIT(16 << 10);

	rest_encode(&name, str_of(key));
	rest_encode(&text, str_of(value));
	rest_encode(&pair, buf_str(&name));
	buf_addc(&pair, '=');
	rest_encode(&pair, buf_str(&text));
	buf_adds(path, "&metadata=");
	rest_encode(path, buf_str(&pair));
	buf_release(&name);
	buf_release(&text);
	buf_release(&pair);
}

/* path is that of the first page, with a query. */
static int one_page(struct e2b *e, struct buf *path, struct cursor *c,
		    cJSON **page, const struct stop *stop, struct error *err)
{
	struct rest_ask ask = { .method = "GET",
				.what = "listing what is there",
				.flags = REST_AGAIN,
				.header = on_header,
				.arg = c };
	int rc;

	if (c->token) {
		buf_adds(path, "&nextToken=");
		rest_encode(path, str_of(c->token));
	}
	free(c->token);
	c->token = NULL;
	ask.path = path->ptr;
	rc = e2b_api(e, &ask, page, NULL, stop, err);
	if (rc == 0 && !cJSON_IsArray(*page)) {
		cJSON_Delete(*page);
		*page = NULL;
		rc = error_set(err, ERR_PROTOCOL,
			       "unexpected server response: no list");
	}
	return rc;
}

int e2b_find(struct e2b *e, const struct e2b_search *s, const struct stop *stop,
	     struct error *err)
{
	struct cursor c = { 0 };
	int rc;
	int pages = 0;

	do {
		const cJSON *item;
		cJSON *page = NULL;
		struct buf path = BUF_INIT(32 << 10);

		buf_adds(&path, "/v2/sandboxes?state=running,paused&limit=100");
		if (s->key)
			add_filter(&path, s->key, s->value);
		rc = one_page(e, &path, &c, &page, stop, err);
		buf_release(&path);
		cJSON_ArrayForEach (item, page)
			tell(item, s->sink);
		cJSON_Delete(page);
		if (rc == 0 && ++pages == PAGES_MAX)
			rc = error_set(err, ERR_LIMIT,
				       "the list of sandboxes does not end");
	} while (rc == 0 && c.token);
	free(c.token);
	return rc;
}

struct ours {
	const char *owner;
	const struct info_sink *sink;
};

static void on_item(void *arg, const struct sandbox_info *info)
{
	const struct ours *o = arg;

	if (info->label[0] && (!o->owner || strcmp(info->owner, o->owner) == 0))
		info_emit(o->sink, info);
}

int e2b_list(struct sandbox_client *host, const char *owner,
	     const struct info_sink *sink, const struct stop *stop,
	     struct error *err)
{
	struct ours o = { owner, sink };
	const struct info_sink own = { on_item, &o };
	const struct e2b_search s = { owner ? "dcode.owner" : NULL, owner,
				      &own };

	return e2b_find(e2b_of(host), &s, stop, err);
}

int e2b_info(struct sandbox_client *host, const char *id,
	     const struct info_sink *sink, const struct stop *stop,
	     struct error *err)
{
	char *path = xasprintf("/sandboxes/%s", id);
	struct rest_ask ask = { .method = "GET",
				.path = path,
				.what = "asking for the sandbox",
				.flags = REST_AGAIN };
	cJSON *tree = NULL;
	int rc = -1;

	if (!e2b_id_ok(id))
		error_set(err, ERR_USAGE, "'%.100s' is no sandbox id", id);
	else
		rc = e2b_api(e2b_of(host), &ask, &tree, NULL, stop, err);
	if (rc == 0 && strcmp(json_string(tree, "sandboxID", ""), id) != 0)
		rc = error_set(err, ERR_PROTOCOL,
			       "unexpected server response: asked for "
			       "sandbox %s, got %.100s",
			       id, json_string(tree, "sandboxID", "nothing"));
	if (rc == 0)
		tell(tree, sink);
	cJSON_Delete(tree);
	free(path);
	return rc;
}

/* "team/name:tag"; without them any team and the tag "default" are meant. */
static bool same_name(const char *listed, const char *name)
{
	struct str a = str_of(listed);
	struct str b = str_of(name);

	if (str_find(b, '/') == b.len && str_find(a, '/') < a.len)
		a = str_skip(a, str_find(a, '/') + 1);
	if (str_ends(a, ":default"))
		a.len -= strlen(":default");
	if (str_ends(b, ":default"))
		b.len -= strlen(":default");
	return str_eq(a, b);
}

static bool has_name(const cJSON *snapshot, const char *name)
{
	const cJSON *item;

	if (same_name(json_string(snapshot, "snapshotID", ""), name))
		return true;
	cJSON_ArrayForEach (item, json_get(snapshot, "names"))
		if (cJSON_IsString(item) && same_name(item->valuestring, name))
			return true;
	return false;
}

int e2b_find_snapshot(struct sandbox_client *host, const char *name,
		      const struct stop *stop, struct error *err)
{
	struct cursor c = { 0 };
	int found = 0;
	int rc;
	int pages = 0;

	do {
		const cJSON *item;
		cJSON *page = NULL;
		struct buf path = BUF_INIT(32 << 10);

		buf_adds(&path, "/snapshots?limit=100");
		rc = one_page(e2b_of(host), &path, &c, &page, stop, err);
		cJSON_ArrayForEach (item, page)
			found |= has_name(item, name);
		cJSON_Delete(page);
		buf_release(&path);
	} while (rc == 0 && c.token && !found && ++pages < PAGES_MAX);
	free(c.token);
	return rc < 0 ? -1 : found;
}

/* The sandbox goes on; the snapshot's name is a template's from then on. */
int e2b_snapshot(struct sandbox *sb, const char *name, bool replace,
		 const struct stop *stop, struct error *err)
{
	char *path = xasprintf("/sandboxes/%s/snapshots", sb->id);
	struct buf body = BUF_INIT(1024);
	struct rest_ask ask = { .method = "POST",
				.path = path,
				.what = "making the snapshot",
				.timeout_ms = 300000 };
	cJSON *tree = NULL;
	int rc;

	(void)replace; /* the name is given to the new one in any case */
	buf_addc(&body, '{');
	json_member(&body, "name", str_of(name));
	buf_addc(&body, '}');
	ask.body = buf_str(&body);
	if (!*name || strlen(name) > NAME_MAX_BYTES)
		rc = error_set(err, ERR_USAGE, "no name of a snapshot");
	else
		rc = e2b_api(e2b_of(sb->host), &ask, &tree, NULL, stop, err);
	if (rc == 0 && !json_string(tree, "snapshotID", NULL))
		rc = error_set(err, ERR_PROTOCOL,
			       "unexpected server response: no snapshot");
	cJSON_Delete(tree);
	buf_release(&body);
	free(path);
	return rc;
}
