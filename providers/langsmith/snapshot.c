/* snapshot.c - the snapshot to start from: found by name or built. */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "net/retry.h"
#include "providers/kit/vendor.h"
#include "providers/langsmith/langsmith.h"

enum {
	POLL_MS = 2000,
	BUILD_MS = 900000, /* python:3 may need more than the SDK's 60 s */
	PROGRESS_MS = 10000,
	NAME_MAX_BYTES = 128,
	PAGE = 500,
	TRIES = 4,
	PAUSE_MS = 500, /* doubled each time */
	POST_MS = 120000,
	DISK_MAX = 1 << 20, /* GiB */
};

#define SNAPSHOTS LANGSMITH_API "/snapshots"

void langsmith_list_path(struct buf *path, const char *list, const char *filter)
{
	buf_addf(path, "%s?page_size=%d&%s", list, PAGE, filter);
}

/* Newer servers answer {"items":[...],"next_cursor":C}; older ones do not know
 * page_size, send a page of their own size, and want an offset. */
void langsmith_next_path(struct buf *path, const char *first, const cJSON *page,
			 int64_t seen)
{
	struct str list = { first, strcspn(first, "?") };
	const char *cursor = json_string(page, "next_cursor", "");
	bool newer = json_get(page, "next_cursor") || json_get(page, "items");
	const cJSON *member;
	bool any = false;

	cJSON_ArrayForEach (member, page)
		any = any || (cJSON_IsArray(member) && member->child);
	if (newer ? !*cursor : !any)
		return;
	buf_addstr(path, list);
	if (newer) {
		buf_addf(path, "?page_size=%d&cursor=", PAGE);
		rest_encode(path, str_of(cursor));
	} else {
		buf_addf(path, "?limit=%d&offset=%lld", PAGE, (long long)seen);
	}
	buf_adds(path, strchr(first, '&'));
}

struct snapshot_search {
	const char *name;
	char *id;        /* owned: of one that is ready, else of any */
	char status[32]; /* of that */
	char message[160];
};

static bool on_snapshot(void *arg, const cJSON *item)
{
	struct snapshot_search *f = arg;
	const char *id = json_string(item, "id", "");
	const char *status = json_string(item, "status", "");

	if (strcmp(json_string(item, "name", ""), f->name) != 0 ||
	    !vendor_id_ok(id))
		return true;
	/* One that is being built is worth more than one that failed. */
	if (f->id && strcmp(f->status, "building") == 0 &&
	    strcmp(status, "ready") != 0)
		return true;
	free(f->id);
	f->id = xstrdup(id);
	snprintf(f->status, sizeof(f->status), "%s", status);
	snprintf(f->message, sizeof(f->message), "%s",
		 json_string(item, "status_message", ""));
	return strcmp(status, "ready") != 0;
}

static const struct vendor_pages pages = { .items = "snapshots",
					   .next = langsmith_next_path };

static int find_snapshot(struct vendor_client *c, struct snapshot_search *f,
			 const struct stop *stop, struct error *err)
{
	struct buf filter = BUF_INIT(4096);
	struct buf path = BUF_INIT(8192);
	struct vendor_query q = { .pages = &pages,
				  .each = on_snapshot,
				  .arg = f };
	int rc;

	free(f->id);
	f->id = NULL;
	buf_adds(&filter, "name_contains=");
	rest_encode(&filter, str_of(f->name));
	langsmith_list_path(&path, SNAPSHOTS, filter.ptr);
	buf_release(&filter);
	q.path = path.ptr;
	rc = vendor_pages(c, &q, stop, err);
	buf_release(&path);
	if (rc < 0)
		error_wrap(err, "Failed to list snapshots");
	return rc;
}

static void report_progress(const struct sandbox_spec *spec, const char *name,
			    const char *status, int64_t began)
{
	char line[256];

	if (!spec || !spec->progress)
		return;
	snprintf(line, sizeof(line), "snapshot %.100s: %.30s, %lld s", name,
		 status, (long long)(clock_ms() - began) / 1000);
	spec->progress(spec->arg, line);
}

static int not_ready(const char *name, const char *status, const char *message,
		     struct error *err)
{
	return error_set(err, ERR_REMOTE,
			 "Snapshot '%s' exists but is in state '%s'%s%s. Wait "
			 "for it to finish building, or delete it to rebuild",
			 name, status, *message ? ": " : "", message);
}

static int poll_ready(struct vendor_client *c, const char *id, const char *name,
		      const struct sandbox_spec *spec, const struct stop *stop,
		      struct error *err)
{
	char *path = xasprintf(SNAPSHOTS "/%s", id);
	struct rest_ask ask = { .method = "GET",
				.path = path,
				.what = "waiting for the snapshot",
				.flags = REST_AGAIN };
	struct stop within = stop_within(stop, BUILD_MS);
	int64_t began = clock_ms();
	int64_t reported = began - PROGRESS_MS;
	int rc = 0;

	while (rc == 0) {
		cJSON *tree = NULL;
		const char *status;

		rc = vendor_api(c, &ask, &tree, &within, err);
		status = json_string(tree, "status", "");
		if (rc == 0 && strcmp(json_string(tree, "id", ""), id) != 0)
			rc = error_set(err, ERR_PROTOCOL,
				       "unexpected server response: another "
				       "snapshot");
		else if (rc == 0 && strcmp(status, "ready") == 0)
			rc = 1;
		else if (rc == 0 && strcmp(status, "building") != 0)
			rc = not_ready(name, status,
				       json_string(tree, "status_message", ""),
				       err);
		if (rc == 0 && clock_ms() - reported >= PROGRESS_MS) {
			reported = clock_ms();
			report_progress(spec, name, status, began);
		}
		cJSON_Delete(tree);
		if (rc == 0)
			rc = stop_sleep(&within, POLL_MS, err);
	}
	free(path);
	return rc > 0 ? 0 : -1;
}

/* The id (owned) of the snapshot that an answer is about, or NULL. */
static char *parse_id(const cJSON *answer, struct error *err)
{
	const char *text = json_string(answer, "id", "");

	if (vendor_id_ok(text))
		return xstrdup(text);
	error_set(err, ERR_PROTOCOL, "unexpected server response: no snapshot");
	return NULL;
}

static int post_build(struct vendor_client *c, const char *name, char **id,
		      const struct stop *stop, struct error *err)
{
	const struct settings *set = c->client->settings;
	struct rest_ask ask = { .method = "POST",
				.path = SNAPSHOTS,
				.what = "building the snapshot",
				.timeout_ms = POST_MS };
	const char *image = NULL;
	int64_t gib = 0;
	cJSON *tree = NULL;
	cJSON *body;
	int rc;

	if (settings_string(set, "langsmith", "image", &image, err) < 0 ||
	    settings_int(set, "langsmith", "disk", &gib, err) < 0)
		return -1;
	if (gib < 1 || gib > DISK_MAX)
		return error_set(err, ERR_CONFIG, "disk must be from 1 to %d",
				 DISK_MAX);
	body = cJSON_CreateObject();
	cJSON_AddStringToObject(body, "name", name);
	cJSON_AddStringToObject(body, "docker_image", image);
	cJSON_AddNumberToObject(body, "fs_capacity_bytes",
				(double)gib * (1 << 30));
	rc = vendor_post(c, &ask, body, &tree, stop, err);
	*id = rc == 0 ? parse_id(tree, err) : NULL;
	cJSON_Delete(tree);
	cJSON_Delete(body);
	return *id ? 0 : -1;
}

static int find_or_build(struct vendor_client *c, struct snapshot_search *f,
			 const struct stop *stop, struct error *err)
{
	int64_t pause = PAUSE_MS;

	for (int i = 1;; i++, pause *= 2) {
		struct error why = { 0 };
		int rc = find_snapshot(c, f, stop, err);

		if (rc < 0 || f->id)
			return rc;
		rc = post_build(c, f->name, &f->id, stop, &why);
		snprintf(f->status, sizeof(f->status), "building");
		if (rc == 0)
			return 0;
		/* 409: one of this name is being built. */
		if ((!retry_is_transient(&why) && why.http_status != 409) ||
		    i == TRIES) {
			*err = why;
			return error_wrap(err, "Failed to build snapshot '%s'",
					  f->name);
		}
		if (retry_sleep(&why, pause, stop, err) < 0)
			return -1;
	}
}

int langsmith_resolve_snapshot(struct vendor_client *c,
			       const struct sandbox_spec *spec, char **id,
			       const struct stop *stop, struct error *err)
{
	struct snapshot_search f = { .name = spec->snapshot };
	const char *known = NULL;
	int rc;

	const struct settings *set = c->client->settings;

	if (settings_string(set, "langsmith", "snapshot_id", &known, err) < 0 ||
	    (!f.name &&
	     settings_string(set, "langsmith", "snapshot", &f.name, err) < 0))
		return -1;
	if (known) {
		*id = xstrdup(known);
		return 0;
	}
	if (!f.name || !*f.name || strlen(f.name) > NAME_MAX_BYTES)
		return error_set(err, ERR_CONFIG, "not a snapshot name");
	rc = find_or_build(c, &f, stop, err);
	if (rc == 0 && strcmp(f.status, "building") == 0) {
		rc = poll_ready(c, f.id, f.name, spec, stop, err);
		if (rc < 0)
			error_wrap(err, "Failed to build snapshot '%s'",
				   f.name);
	} else if (rc == 0 && strcmp(f.status, "ready") != 0) {
		rc = not_ready(f.name, f.status, f.message, err);
	}
	if (rc == 0)
		*id = f.id;
	else
		free(f.id);
	return rc;
}

int langsmith_find_snapshot(struct sandbox_client *client, const char *name,
			    const struct stop *stop, struct error *err)
{
	struct snapshot_search f = { .name = name };
	int rc = find_snapshot(client->priv, &f, stop, err);

	if (rc == 0)
		rc = f.id != NULL;
	free(f.id);
	return rc;
}

/* The sandbox goes on meanwhile. */
int langsmith_snapshot(struct sandbox *sb, const char *name, bool replace,
		       const struct stop *stop, struct error *err)
{
	struct buf body = BUF_INIT(1024);
	struct rest_ask ask = { .method = "POST",
				.path = "/snapshot",
				.what = "making the snapshot",
				.timeout_ms = POST_MS };
	cJSON *tree = NULL;
	char *id = NULL;
	int rc;

	(void)replace; /* names are not unique there: the newest is used */
	if (!*name || strlen(name) > NAME_MAX_BYTES)
		return error_set(err, ERR_USAGE, "not a snapshot name");
	buf_addc(&body, '{');
	json_member(&body, "name", str_of(name));
	buf_addc(&body, '}');
	ask.body = buf_str(&body);
	rc = vendor_ask(sb->client->priv, sb->id, &ask, &tree, stop, err);
	if (rc == 0)
		id = parse_id(tree, err);
	rc = id ? poll_ready(sb->client->priv, id, name, NULL, stop, err) : -1;
	free(id);
	cJSON_Delete(tree);
	buf_release(&body);
	return rc;
}
