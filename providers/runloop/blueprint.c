/* blueprint.c - a blueprint by name: found, waited for, or built. */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "net/retry.h"
#include "providers/runloop/runloop.h"

enum {
	BODY_MAX = 1 << 20,
	BUILD_MS = 1800000,
	LOOK_MS = 1000, /* between two looks at a build */
	TELL_MS = 15000,
	TRIES = 4,
};

struct build {
	const char *name;
	char id[RUNLOOP_ID_MAX + 1]; /* of the one to wait for, or "" */
	char status[RUNLOOP_STATUS];
};

static bool building(const char *status)
{
	return !strcmp(status, "queued") || !strcmp(status, "provisioning") ||
	       !strcmp(status, "building");
}

/* Of several of a name, the best: complete, being built, failed. */
static bool on_blueprint(void *arg, const cJSON *item)
{
	struct build *b = arg;
	const char *id = json_string(item, "id", "");
	const char *status = json_string(item, "status", "");

	if (strcmp(json_string(item, "name", ""), b->name) != 0 ||
	    strcmp(json_string(item, "state", ""), "deleted") == 0 ||
	    !runloop_id_ok(id) || strlen(status) >= RUNLOOP_STATUS)
		return true;
	if (b->id[0] && (building(b->status) || !building(status)) &&
	    strcmp(status, "build_complete") != 0)
		return true;
	snprintf(b->id, sizeof(b->id), "%s", id);
	snprintf(b->status, sizeof(b->status), "%s", status);
	return strcmp(status, "build_complete") != 0;
}

static int find(struct runloop *r, struct build *b, const struct stop *stop,
		struct error *err)
{
	struct buf query = BUF_INIT(4096);
	struct runloop_query q = { .path = "/v1/blueprints",
				   .items = "blueprints",
				   .limit = 100,
				   .each = on_blueprint,
				   .arg = b };
	int rc;

	b->id[0] = '\0';
	buf_adds(&query, "name=");
	rest_encode(&query, str_of(b->name));
	buf_addc(&query, '&');
	q.query = query.ptr;
	rc = runloop_pages(r, &q, stop, err);
	buf_release(&query);
	return rc;
}

static int describe(struct runloop *r, const char *name, cJSON *body,
		    struct error *err)
{
	const char *dockerfile = NULL;
	const char *base = NULL;
	const char *const *list;
	size_t n = 0;

	if (settings_string(r->settings, "runloop", "dockerfile", &dockerfile,
			    err) < 0 ||
	    settings_string(r->settings, "runloop", "base_blueprint", &base,
			    err) < 0 ||
	    settings_list(r->settings, "runloop", "setup_commands", &list, &n,
			  err) < 0)
		return -1;
	cJSON_AddStringToObject(body, "name", name);
	if (base)
		cJSON_AddStringToObject(body, "base_blueprint_name", base);
	else
		cJSON_AddStringToObject(body, "dockerfile", dockerfile);
	if (n)
		cJSON_AddItemToObject(body, "system_setup_commands",
				      cJSON_CreateStringArray(list, (int)n));
	return 0;
}

static int take(struct build *b, const cJSON *tree, struct error *err)
{
	const char *id = json_string(tree, "id", "");
	const char *status = json_string(tree, "status", "");

	if (!runloop_id_ok(id) || !*status || strlen(status) >= RUNLOOP_STATUS)
		return error_set(err, ERR_PROTOCOL,
				 "unexpected server response: no blueprint");
	if (b->id[0] && strcmp(b->id, id) != 0)
		return error_set(err, ERR_PROTOCOL,
				 "unexpected server response: asked for "
				 "blueprint %s, got %s",
				 b->id, id);
	snprintf(b->id, sizeof(b->id), "%s", id);
	snprintf(b->status, sizeof(b->status), "%s", status);
	return 0;
}

static int start(struct runloop *r, struct build *b, const struct stop *stop,
		 struct error *err)
{
	struct buf text = BUF_INIT(BODY_MAX);
	struct rest_ask ask = { .method = "POST",
				.path = "/v1/blueprints",
				.what = "building the blueprint" };
	cJSON *body = cJSON_CreateObject();
	cJSON *tree = NULL;
	int rc = describe(r, b->name, body, err);

	if (rc == 0) {
		json_print(&text, body);
		ask.body = buf_str(&text);
		rc = buf_check(&text, "the blueprint", err);
	}
	if (rc == 0)
		rc = runloop_api(r, &ask, &tree, NULL, stop, err);
	if (rc == 0)
		rc = take(b, tree, err);
	cJSON_Delete(tree);
	cJSON_Delete(body);
	buf_release(&text);
	return rc;
}

static int look(struct runloop *r, struct build *b, const struct stop *stop,
		struct error *err)
{
	char *path = xasprintf("/v1/blueprints/%s", b->id);
	struct rest_ask ask = { .method = "GET",
				.path = path,
				.what = "asking for the blueprint",
				.flags = REST_AGAIN };
	cJSON *tree = NULL;
	int rc = runloop_api(r, &ask, &tree, NULL, stop, err);

	if (rc == 0)
		rc = take(b, tree, err);
	cJSON_Delete(tree);
	free(path);
	return rc;
}

static void tell(const struct build *b, int64_t began,
		 const struct runloop_progress *p)
{
	char line[160];

	if (!p->line)
		return;
	snprintf(line, sizeof(line), "blueprint %.64s: %s (%lld s)", b->name,
		 b->status, (long long)((clock_ms() - began) / 1000));
	p->line(p->arg, line);
}

static int await(struct runloop *r, struct build *b,
		 const struct runloop_progress *p, const struct stop *stop,
		 struct error *err)
{
	char told[RUNLOOP_STATUS] = "";
	int64_t began = clock_ms();
	int64_t last = began;

	while (building(b->status)) {
		if (strcmp(told, b->status) != 0 ||
		    clock_ms() - last > TELL_MS) {
			tell(b, began, p);
			last = clock_ms();
		}
		snprintf(told, sizeof(told), "%s", b->status);
		if (stop_sleep(stop, LOOK_MS, err) < 0 ||
		    look(r, b, stop, err) < 0)
			return -1;
	}
	return 0;
}

/* A request to build that was cut may have come through: look before it is
 * repeated. */
static int find_or_start(struct runloop *r, struct build *b,
			 const struct stop *stop, struct error *err)
{
	for (int i = 1;; i++) {
		struct error why = { 0 };

		if (find(r, b, stop, err) < 0)
			return -1;
		if (b->id[0] || start(r, b, stop, &why) == 0)
			return 0;
		if (i == TRIES || !retry_is_transient(&why)) {
			*err = why;
			return -1;
		}
		b->id[0] = '\0';
		if (retry_sleep(&why, LOOK_MS, stop, err) < 0)
			return -1;
	}
}

int runloop_blueprint(struct runloop *r, const char *name,
		      const struct runloop_progress *progress,
		      const struct stop *stop, struct error *err)
{
	struct stop within = stop_within(stop, BUILD_MS);
	struct build b = { .name = name };
	int rc = find_or_start(r, &b, &within, err);

	if (rc == 0)
		rc = await(r, &b, progress, &within, err);
	if (rc < 0 && err->code == ERR_TIMEOUT && clock_ms() < stop->deadline)
		return error_set(err, ERR_TIMEOUT,
				 "blueprint '%.100s' is still being built "
				 "(%s) after %d minutes",
				 name, b.status, BUILD_MS / 60000);
	if (rc < 0 || strcmp(b.status, "build_complete") == 0)
		return rc;
	error_set(err, ERR_REMOTE,
		  "the build of blueprint '%.100s' failed (%s)", name,
		  b.status);
	return error_hint(err, "Delete it on https://platform.runloop.ai or "
			       "mend the dockerfile parameter, and try again.");
}
