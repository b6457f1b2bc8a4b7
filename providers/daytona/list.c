/* list.c - which sandboxes are ours, and what they are. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "providers/daytona/daytona.h"

enum { PAGES_MAX = 1000, CURSOR_MAX = 8192 };

static enum sandbox_state state_of(const char *word)
{
	static const struct {
		const char *word;
		enum sandbox_state state;
	} table[] = {
		{ "started", STATE_RUNNING },
		{ "stopped", STATE_STOPPED },
		{ "stopping", STATE_STOPPED },
		{ "archived", STATE_STOPPED },
		{ "archiving", STATE_STOPPED },
		{ "paused", STATE_STOPPED },
		{ "pausing", STATE_STOPPED },
		{ "destroyed", STATE_GONE },
		{ "destroying", STATE_GONE },
		{ "creating", STATE_STARTING },
		{ "starting", STATE_STARTING },
		{ "restoring", STATE_STARTING },
		{ "resuming", STATE_STARTING },
		{ "pending_build", STATE_STARTING },
		{ "building_snapshot", STATE_STARTING },
		{ "pulling_snapshot", STATE_STARTING },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++)
		if (strcmp(word, table[i].word) == 0)
			return table[i].state;
	return STATE_UNKNOWN;
}

static void tell(const cJSON *item, const struct info_sink *sink)
{
	const cJSON *labels = json_get(item, "labels");
	int64_t minutes = json_int(item, "autoStopInterval", 0);
	int64_t active = rest_time(json_string(item, "lastActivityAt", ""));
	struct sandbox_info info = {
		.id = json_string(item, "id", ""),
		.label = json_string(labels, "dcode.label", ""),
		.owner = json_string(labels, "dcode.owner", ""),
		.state = state_of(json_string(item, "state", "")),
		.image = json_string(item, "snapshot", ""),
		.created = rest_time(json_string(item, "createdAt", "")),
	};

	if (active && minutes > 0 && info.state == STATE_RUNNING)
		info.ends = active + minutes * 60;
	if (daytona_id_ok(info.id))
		info_emit(sink, &info);
}

/* The filter is JSON in the query. */
static void add_filter(struct buf *path, const char *owner)
{
	struct buf labels = BUF_INIT(4096);

	buf_addc(&labels, '{');
	json_member(&labels, "dcode.owner", str_of(owner));
	buf_addc(&labels, '}');
	buf_adds(path, "&labels=");
	rest_encode(path, buf_str(&labels));
	buf_release(&labels);
}

/* Servers of old answer with a plain array of all. */
static int one_page(struct daytona *d, const char *owner, char **cursor,
		    cJSON **page, const struct stop *stop, struct error *err)
{
	struct buf path = BUF_INIT(64 << 10);
	struct rest_ask ask = { .method = "GET",
				.what = "listing sandboxes",
				.flags = REST_AGAIN };
	const char *next;
	int rc;

	buf_adds(&path, "/sandbox?limit=100");
	if (owner)
		add_filter(&path, owner);
	if (*cursor) {
		buf_adds(&path, "&cursor=");
		rest_encode(&path, str_of(*cursor));
	}
	free(*cursor);
	*cursor = NULL;
	ask.path = path.ptr;
	rc = daytona_api(d, &ask, page, NULL, stop, err);
	buf_release(&path);
	if (rc < 0)
		return -1;
	if (!cJSON_IsArray(*page) && !cJSON_IsArray(json_get(*page, "items")))
		return error_set(err, ERR_PROTOCOL,
				 "unexpected server response: no list");
	next = json_string(*page, "nextCursor", "");
	if (strlen(next) > CURSOR_MAX)
		return error_set(err, ERR_PROTOCOL,
				 "unexpected server response: a cursor of %zu "
				 "bytes",
				 strlen(next));
	if (*next)
		*cursor = xstrdup(next);
	return 0;
}

struct ours {
	const char *owner;
	const struct info_sink *sink;
};

static void on_item(void *arg, const struct sandbox_info *info)
{
	const struct ours *o = arg;

	if (info->label[0] && info->state != STATE_GONE &&
	    (!o->owner || strcmp(info->owner, o->owner) == 0))
		info_emit(o->sink, info);
}

int daytona_list(struct sandbox_client *host, const char *owner,
		 const struct info_sink *sink, const struct stop *stop,
		 struct error *err)
{
	struct ours o = { owner, sink };
	char *cursor = NULL;
	int pages = 0;
	int rc;

	do {
		const cJSON *items;
		const cJSON *item;
		cJSON *page = NULL;

		rc = one_page(daytona_of(host), owner, &cursor, &page, stop,
			      err);
		items = cJSON_IsArray(page) ? page : json_get(page, "items");
		if (rc == 0)
			cJSON_ArrayForEach (item, items)
				tell(item, &(struct info_sink){ on_item, &o });
		cJSON_Delete(page);
		if (rc == 0 && ++pages == PAGES_MAX)
			rc = error_set(err, ERR_LIMIT,
				       "the list of sandboxes does not end");
	} while (rc == 0 && cursor);
	free(cursor);
	return rc;
}

int daytona_info(struct sandbox_client *host, const char *id,
		 const struct info_sink *sink, const struct stop *stop,
		 struct error *err)
{
	cJSON *answer = NULL;
	int status = 0;
	int rc = 0;

	if (!daytona_id_ok(id))
		return error_set(err, ERR_USAGE, "'%.100s' is no sandbox id",
				 id);
	if (daytona_get(daytona_of(host), id, &answer, &status, stop, err) < 0)
		return -1;
	if (status == 404)
		rc = error_set(err, ERR_NOT_FOUND, "no sandbox %s", id);
	else if (strcmp(json_string(answer, "id", ""), id) != 0)
		rc = error_set(err, ERR_PROTOCOL,
			       "unexpected server response: asked for "
			       "sandbox %s, got %.100s",
			       id, json_string(answer, "id", "nothing"));
	else
		tell(answer, sink);
	cJSON_Delete(answer);
	return rc;
}
