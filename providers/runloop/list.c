/* list.c - which devboxes are ours, and what they are. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "providers/runloop/runloop.h"

enum {
	PAGES_MAX = 1000,
	SEEN_MAX = 4096,
	PAGE = 500, /* devboxes; the API gives 5000 at most */
};

static enum sandbox_state state_of(const char *word)
{
	static const char *const starting[] = { "queued", "scheduled",
						"provisioning", "initializing",
						"resuming" };

	if (strcmp(word, "running") == 0)
		return STATE_RUNNING;
	if (strcmp(word, "suspended") == 0 || strcmp(word, "suspending") == 0)
		return STATE_STOPPED;
	if (strcmp(word, "shutdown") == 0 || strcmp(word, "failure") == 0)
		return STATE_GONE;
	for (size_t i = 0; i < sizeof(starting) / sizeof(*starting); i++)
		if (strcmp(word, starting[i]) == 0)
			return STATE_STARTING;
	return STATE_UNKNOWN;
}

/* With an idle limit nothing says when it will end. */
static int64_t end_of(const cJSON *item, enum sandbox_state state)
{
	const cJSON *launch = json_get(item, "launch_parameters");
	int64_t seconds = json_int(launch, "keep_alive_time_seconds", 0);
	int64_t created = json_int(item, "create_time_ms", 0) / 1000;

	if (state != STATE_RUNNING && state != STATE_STARTING)
		return 0;
	if (cJSON_IsObject(
		    json_get(json_get(launch, "lifecycle"), "after_idle")) ||
	    cJSON_IsObject(json_get(launch, "after_idle")))
		return 0;
	if (seconds <= 0 || seconds > RUNLOOP_LIFETIME_MAX_S || created <= 0)
		return 0;
	return created + seconds;
}

static void tell(const cJSON *item, const struct info_sink *sink)
{
	const cJSON *metadata = json_get(item, "metadata");
	struct sandbox_info info = {
		.id = json_string(item, "id", ""),
		.label = json_string(metadata, "dcode.label", ""),
		.owner = json_string(metadata, "dcode.owner", ""),
		.state = state_of(json_string(item, "status", "")),
		.image = json_string(item, "blueprint_id", ""),
		.created = json_int(item, "create_time_ms", 0) / 1000,
	};

	info.ends = end_of(item, info.state);
	if (!info.image[0])
		info.image = json_string(item, "snapshot_id", "");
	if (runloop_id_ok(info.id))
		info_emit(sink, &info);
}

/* The next page; *more tells whether there is another, *last is the id that it
 * starts after (owned). */
static int one_page(struct runloop *r, const struct runloop_query *q,
		    char **last, cJSON **page, const struct stop *stop,
		    struct error *err)
{
	struct buf full = BUF_INIT(8192);
	struct rest_ask ask = { .method = "GET",
				.what = "listing",
				.flags = REST_AGAIN };
	int rc;

	buf_addf(&full, "%s?%slimit=%d", q->path, q->query, q->limit);
	if (*last) {
		buf_adds(&full, "&starting_after=");
		rest_encode(&full, str_of(*last));
	}
	ask.path = full.ptr;
	rc = runloop_api(r, &ask, page, NULL, stop, err);
	buf_release(&full);
	free(*last);
	*last = NULL;
	return rc;
}

int runloop_pages(struct runloop *r, const struct runloop_query *q,
		  const struct stop *stop, struct error *err)
{
	char *last = NULL;
	bool go_on = true;
	int rc = 0;

	for (int pages = 1; rc == 0 && go_on; pages++) {
		const cJSON *list;
		const cJSON *item;
		const char *id = NULL;
		cJSON *page = NULL;

		rc = one_page(r, q, &last, &page, stop, err);
		list = json_get(page, q->items);
		if (rc == 0 && !cJSON_IsArray(list))
			rc = error_set(err, ERR_PROTOCOL,
				       "unexpected server response: no list");
		cJSON_ArrayForEach (item, list) {
			id = json_string(item, "id", NULL);
			go_on = go_on && q->each(q->arg, item);
		}
		if (!id || !json_bool(page, "has_more", false))
			go_on = false;
		else if (rc == 0)
			last = xstrdup(id);
		cJSON_Delete(page);
		if (rc == 0 && go_on && pages == q->pages)
			rc = 1;
		if (rc == 0 && pages == PAGES_MAX)
			rc = error_set(err, ERR_LIMIT, "the list does not end");
	}
	free(last);
	return rc;
}

struct ours {
	const char *owner;
	const struct info_sink *sink;
	char *seen[SEEN_MAX]; /* ids that were told */
	size_t n;
};

static void on_info(void *arg, const struct sandbox_info *info)
{
	struct ours *o = arg;

	/* One that has ended is listed for ever. */
	if (info->state == STATE_GONE)
		return;
	if (!info->label[0] || (o->owner && strcmp(info->owner, o->owner) != 0))
		return;
	for (size_t i = 0; i < o->n; i++)
		if (strcmp(o->seen[i], info->id) == 0)
			return;
	if (o->n < SEEN_MAX)
		o->seen[o->n++] = xstrdup(info->id);
	info_emit(o->sink, info);
}

static bool on_item(void *arg, const cJSON *item)
{
	tell(item, &(struct info_sink){ on_info, arg });
	return true;
}

/* 1 when there are more pages than q wants. */
static int list_some(struct runloop *r, struct ours *o, const char *query,
		     int pages, const struct stop *stop, struct error *err)
{
	struct runloop_query q = { .path = "/v1/devboxes",
				   .query = query,
				   .items = "devboxes",
				   .limit = PAGE,
				   .pages = pages,
				   .each = on_item,
				   .arg = o };

	return runloop_pages(r, &q, stop, err);
}

/* In the order in which a devbox goes through them, so that none slips through
 * between two requests. */
static int list_living(struct runloop *r, struct ours *o,
		       const struct stop *stop, struct error *err)
{
	static const char *const living[] = {
		"queued",    "provisioning", "initializing", "suspending",
		"suspended", "resuming",     "running",
	};
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < sizeof(living) / sizeof(*living);
	     i++) {
		char *query = xasprintf("status=%s&include_total_count=false&",
					living[i]);
		struct error why = { 0 };

		rc = list_some(r, o, query, 0, stop, &why);
		/* The document does not know this one, the SDKs do. */
		if (rc < 0 && i == 0 &&
		    (why.http_status == 400 || why.http_status == 422))
			rc = 0;
		if (rc < 0)
			*err = why;
		free(query);
	}
	return rc;
}

/*
 * There is no filter by metadata, and without one by status the list has every
 * devbox that ever was: most accounts have one page of them, others are asked
 * for the living ones.
 */
int runloop_list(struct sandbox_client *host, const char *owner,
		 const struct info_sink *sink, const struct stop *stop,
		 struct error *err)
{
	struct runloop *r = runloop_of(host);
	struct ours *o = xcalloc(1, sizeof(*o));
	int rc;

	o->owner = owner;
	o->sink = sink;
	rc = list_some(r, o, "include_total_count=false&", 1, stop, err);
	if (rc > 0)
		rc = list_living(r, o, stop, err);
	for (size_t i = 0; i < o->n; i++)
		free(o->seen[i]);
	free(o);
	return rc;
}

int runloop_info(struct sandbox_client *host, const char *id,
		 const struct info_sink *sink, const struct stop *stop,
		 struct error *err)
{
	char *path = xasprintf("/v1/devboxes/%s", id);
	struct rest_ask ask = { .method = "GET",
				.path = path,
				.what = "asking for the devbox",
				.flags = REST_AGAIN };
	cJSON *tree = NULL;
	int rc = -1;

	if (!runloop_id_ok(id))
		error_set(err, ERR_USAGE, "'%.100s' is no devbox id", id);
	else
		rc = runloop_api(runloop_of(host), &ask, &tree, NULL, stop,
				 err);
	if (rc == 0 && strcmp(json_string(tree, "id", ""), id) != 0)
		rc = error_set(err, ERR_PROTOCOL,
			       "unexpected server response: asked for "
			       "devbox %s, got %.100s",
			       id, json_string(tree, "id", "nothing"));
	if (rc == 0)
		tell(tree, sink);
	cJSON_Delete(tree);
	free(path);
	return rc;
}
