/* snapshot.c - the snapshot to start from: found by name or built. */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "net/retry.h"
#include "providers/langsmith/langsmith.h"

enum {
	POLL_MS = 2000,
	BUILD_MS = 900000, /* python:3 may need more than the SDK's 60 s */
	TELL_MS = 10000,
	NAME_MAX_BYTES = 128,
	TRIES = 4,
	PAUSE_MS = 500, /* doubled each time */
};

struct found {
	const char *name;
	char *id;        /* owned: of one that is ready, else of any */
	char status[32]; /* of that */
	char message[160];
};

static bool on_snapshot(void *arg, const cJSON *item)
{
	struct found *f = arg;
	const char *id = json_string(item, "id", "");
	const char *status = json_string(item, "status", "");

	if (strcmp(json_string(item, "name", ""), f->name) != 0 ||
	    !langsmith_id_ok(id))
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

static int find(struct langsmith *l, struct found *f, const struct stop *stop,
		struct error *err)
{
	struct langsmith_query q = { .path = "/v2/sandboxes/snapshots",
				     .each = on_snapshot,
				     .arg = f };
	struct buf query = BUF_INIT(4096);
	int rc;

	free(f->id);
	f->id = NULL;
	buf_adds(&query, "&name_contains=");
	rest_encode(&query, str_of(f->name));
	buf_addc(&query, '\0');
	q.more = query.ptr;
	rc = langsmith_pages(l, &q, stop, err);
	buf_release(&query);
	if (rc < 0)
		error_wrap(err, "Failed to list snapshots");
	return rc;
}

static void tell(const struct sandbox_spec *spec, const char *name,
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

static int poll_ready(struct langsmith *l, const char *id, const char *name,
		      const struct sandbox_spec *spec, const struct stop *stop,
		      struct error *err)
{
	char *path = xasprintf("/v2/sandboxes/snapshots/%s", id);
	struct rest_ask ask = { .method = "GET",
				.path = path,
				.what = "waiting for the snapshot",
				.flags = REST_AGAIN };
	struct stop within = stop_within(stop, BUILD_MS);
	int64_t began = clock_ms();
	int64_t told = began - TELL_MS;
	int rc = 0;

	while (rc == 0) {
		cJSON *tree = NULL;
		const char *status;

		rc = langsmith_api(l, &ask, &tree, NULL, &within, err);
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
		if (rc == 0 && clock_ms() - told >= TELL_MS) {
			told = clock_ms();
			tell(spec, name, status, began);
		}
		cJSON_Delete(tree);
		if (rc == 0)
			rc = stop_sleep(&within, POLL_MS, err);
	}
	free(path);
	return rc > 0 ? 0 : -1;
}

static int post_build(struct langsmith *l, const char *name, char **id,
		      const struct stop *stop, struct error *err)
{
	struct buf body = BUF_INIT(8192);
	struct rest_ask ask = { .method = "POST",
				.path = "/v2/sandboxes/snapshots",
				.what = "building the snapshot",
				.timeout_ms = 120000 };
	const char *image = NULL;
	int64_t gib = 0;
	cJSON *tree = NULL;
	int rc;

	if (settings_string(l->settings, "langsmith", "image", &image, err) <
		    0 ||
	    settings_int(l->settings, "langsmith", "disk", &gib, err) < 0)
		return -1;
	if (gib < 1 || gib > 1 << 20)
		return error_set(err, ERR_CONFIG, "disk: no size in GiB");
	buf_addc(&body, '{');
	json_member(&body, "name", str_of(name));
	buf_addc(&body, ',');
	json_member(&body, "docker_image", str_of(image));
	buf_addf(&body, ",\"fs_capacity_bytes\":%lld}",
		 (long long)gib * (1 << 30));
	ask.body = buf_str(&body);
	rc = buf_check(&body, "the snapshot's description", err);
	if (rc == 0)
		rc = langsmith_api(l, &ask, &tree, NULL, stop, err);
	if (rc == 0 && langsmith_id_ok(json_string(tree, "id", "")))
		*id = xstrdup(json_string(tree, "id", ""));
	else if (rc == 0)
		rc = error_set(err, ERR_PROTOCOL,
			       "unexpected server response: no snapshot");
	cJSON_Delete(tree);
	buf_release(&body);
	return rc;
}

static int find_or_build(struct langsmith *l, struct found *f,
			 const struct stop *stop, struct error *err)
{
	int64_t pause = PAUSE_MS;

	for (int i = 1;; i++, pause *= 2) {
		struct error why = { 0 };
		int rc = find(l, f, stop, err);

		if (rc < 0 || f->id)
			return rc;
		rc = post_build(l, f->name, &f->id, stop, &why);
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

int langsmith_resolve(struct langsmith *l, const struct sandbox_spec *spec,
		      char **id, const struct stop *stop, struct error *err)
{
	struct found f = { .name = spec->snapshot };
	const char *known = NULL;
	int rc;

	if (settings_string(l->settings, "langsmith", "snapshot_id", &known,
			    err) < 0 ||
	    (!f.name && settings_string(l->settings, "langsmith", "snapshot",
					&f.name, err) < 0))
		return -1;
	if (known) {
		*id = xstrdup(known);
		return 0;
	}
	if (!f.name || !*f.name || strlen(f.name) > NAME_MAX_BYTES)
		return error_set(err, ERR_CONFIG, "no name of a snapshot");
	rc = find_or_build(l, &f, stop, err);
	if (rc == 0 && strcmp(f.status, "building") == 0) {
		rc = poll_ready(l, f.id, f.name, spec, stop, err);
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

int langsmith_find_snapshot(struct sandbox_client *host, const char *name,
			    const struct stop *stop, struct error *err)
{
	struct found f = { .name = name };
	int rc = find(langsmith_of(host), &f, stop, err);

	if (rc == 0)
		rc = f.id != NULL;
	free(f.id);
	return rc;
}

/* The sandbox goes on meanwhile. */
int langsmith_snapshot(struct sandbox *sb, const char *name, bool replace,
		       const struct stop *stop, struct error *err)
{
	struct langsmith *l = langsmith_of(sb->host);
	char *path = xasprintf("/v2/sandboxes/boxes/%s/snapshot", sb->id);
	struct buf body = BUF_INIT(1024);
	struct rest_ask ask = { .method = "POST",
				.path = path,
				.what = "making the snapshot",
				.timeout_ms = 120000 };
	cJSON *tree = NULL;
	const char *id;
	int rc;

	(void)replace; /* names are not unique there: the newest is used */
	buf_addc(&body, '{');
	json_member(&body, "name", str_of(name));
	buf_addc(&body, '}');
	ask.body = buf_str(&body);
	if (!*name || strlen(name) > NAME_MAX_BYTES)
		rc = error_set(err, ERR_USAGE, "no name of a snapshot");
	else
		rc = langsmith_api(l, &ask, &tree, NULL, stop, err);
	id = json_string(tree, "id", "");
	if (rc == 0 && !langsmith_id_ok(id))
		rc = error_set(err, ERR_PROTOCOL,
			       "unexpected server response: no snapshot");
	if (rc == 0)
		rc = poll_ready(l, id, name, NULL, stop, err);
	cJSON_Delete(tree);
	buf_release(&body);
	free(path);
	return rc;
}
