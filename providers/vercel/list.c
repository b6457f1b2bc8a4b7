/* list.c - which sandboxes are ours, and what they are. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "providers/vercel/vercel.h"

enum { PAGES_MAX = 1000, CURSOR_MAX = 4096 };

static enum sandbox_state state_of(const char *word)
{
	switch (vercel_status(word)) {
	case VERCEL_PENDING:
		return STATE_STARTING;
	case VERCEL_RUNNING:
		return STATE_RUNNING;
	case VERCEL_BUSY:
	case VERCEL_ENDED:
		return STATE_STOPPED;
	default:
		return STATE_UNKNOWN;
	}
}

/* item: what the API calls sandbox. */
static void tell(const struct vercel *v, const cJSON *item,
		 const struct info_sink *sink)
{
	const cJSON *tags = json_get(item, "tags");
	const char *image = json_string(item, "image", "");
	int64_t created = json_int(item, "createdAt", 0) / 1000;
	int64_t timeout = json_int(item, "timeout", 0) / 1000;
	struct sandbox_info info = {
		.id = json_string(item, v->v1 ? "id" : "name", ""),
		.label = json_string(tags, "dcode.label", ""),
		.owner = json_string(tags, "dcode.owner", ""),
		.state = state_of(json_string(item, "status", "")),
		.image = image[0] ? image : json_string(item, "runtime", ""),
		.created = created,
	};

	if (info.state == STATE_RUNNING && created > 0 && timeout > 0 &&
	    timeout < INT64_MAX - created)
		info.ends = created + timeout;
	if (vercel_id_ok(info.id))
		info_emit(sink, &info);
}

/* One page of v2's list; *cursor (owned) becomes the next one's, or NULL. */
static int one_page(struct vercel *v, const char *query, char **cursor,
		    cJSON **page, const struct stop *stop, struct error *err)
{
	char *project = vercel_project(v, "project");
	struct buf more = BUF_INIT(32 << 10);
	struct rest_ask ask = { .method = "GET",
				.what = "listing sandboxes",
				.flags = REST_AGAIN };
	const char *next;
	char *path;
	int rc;

	buf_addf(&more, "%s&limit=50%s", project, query);
	if (*cursor) {
		buf_adds(&more, "&cursor=");
		rest_encode(&more, str_of(*cursor));
	}
	free(*cursor);
	*cursor = NULL;
	path = vercel_path(v, "/v2/sandboxes", more.ptr);
	ask.path = path;
	rc = vercel_api(v, &ask, page, NULL, stop, err);
	if (rc == 0 && !cJSON_IsArray(json_get(*page, "sandboxes")))
		rc = error_set(err, ERR_PROTOCOL,
			       "unexpected server response: no list");
	next = json_string(json_get(*page, "pagination"), "next", "");
	if (rc == 0 && *next && strlen(next) <= CURSOR_MAX)
		*cursor = xstrdup(next);
	free(path);
	free(project);
	buf_release(&more);
	return rc;
}

static int all_pages(struct vercel *v, const char *query,
		     void (*each)(void *arg, const cJSON *item), void *arg,
		     const struct stop *stop, struct error *err)
{
	char *cursor = NULL;
	int pages = 0;
	int rc;

	do {
		const cJSON *item;
		cJSON *page = NULL;

		rc = one_page(v, query, &cursor, &page, stop, err);
		if (rc == 0)
			cJSON_ArrayForEach (item, json_get(page, "sandboxes"))
				each(arg, item);
		cJSON_Delete(page);
		if (rc == 0 && ++pages == PAGES_MAX)
			rc = error_set(err, ERR_LIMIT,
				       "the list of sandboxes does not end");
	} while (rc == 0 && cursor);
	free(cursor);
	return rc;
}

struct ours {
	struct vercel *v;
	const char *owner;
	const struct info_sink *sink;
};

static void on_info(void *arg, const struct sandbox_info *info)
{
	const struct ours *o = arg;

	if (info->label[0] && (!o->owner || strcmp(info->owner, o->owner) == 0))
		info_emit(o->sink, info);
}

static void on_ours(void *arg, const cJSON *item)
{
	const struct ours *o = arg;

	tell(o->v, item, &(struct info_sink){ on_info, arg });
}

/* Sandboxes of the v1 API carry no label: none of them is known as ours. */
int vercel_list(struct sandbox_client *host, const char *owner,
		const struct info_sink *sink, const struct stop *stop,
		struct error *err)
{
	struct vercel *v = vercel_of(host);
	struct ours o = { v, owner, sink };
	struct buf query = BUF_INIT(4096);
	int rc;

	if (v->v1)
		return 0;
	if (owner) {
		buf_adds(&query, "&tags=dcode.owner%3A");
		rest_encode(&query, str_of(owner));
	} else {
		buf_adds(&query, "&sortBy=name&namePrefix=dcode-");
	}
	rc = all_pages(v, query.ptr, on_ours, &o, stop, err);
	buf_release(&query);
	return rc;
}

struct wanted {
	const char *session;
	char *name; /* owned */
};

static void on_any(void *arg, const cJSON *item)
{
	struct wanted *w = arg;
	const char *name = json_string(item, "name", "");

	if (!w->name && vercel_id_ok(name) &&
	    strcmp(json_string(item, "currentSessionId", ""), w->session) == 0)
		w->name = xstrdup(name);
}

char *vercel_name(struct vercel *v, const char *session,
		  const struct stop *stop, struct error *err)
{
	struct wanted w = { .session = session };
	int rc = all_pages(v, "", on_any, &w, stop, err);

	if (rc == 0 && !w.name)
		rc = error_set(err, ERR_NOT_FOUND,
			       "no sandbox has the session %s", session);
	if (rc < 0) {
		free(w.name);
		w.name = NULL;
	}
	return w.name;
}

int vercel_info(struct sandbox_client *host, const char *id,
		const struct info_sink *sink, const struct stop *stop,
		struct error *err)
{
	struct vercel *v = vercel_of(host);
	const cJSON *sandbox;
	const char *found;
	cJSON *tree = NULL;
	int rc;

	if (!vercel_id_ok(id))
		return error_set(err, ERR_USAGE, "'%.100s' is no sandbox id",
				 id);
	rc = vercel_get(v, id, false, &tree, stop, err);
	sandbox = json_get(tree, "sandbox");
	found = json_string(sandbox, v->v1 ? "id" : "name", "nothing");
	if (rc == 0 && strcmp(found, id) != 0)
		rc = error_set(err, ERR_PROTOCOL,
			       "unexpected server response: asked for "
			       "sandbox %s, got %.100s",
			       id, found);
	if (rc == 0)
		tell(v, sandbox, sink);
	cJSON_Delete(tree);
	return rc;
}
