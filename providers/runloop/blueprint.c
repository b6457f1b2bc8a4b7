/* blueprint.c - blueprints, disk snapshots, network policies of devboxes. */
/* SPDX-License-Identifier: MIT */
/*
 * A blueprint and a network policy are objects of the account. Both are found
 * by name, or created. Building a blueprint takes minutes, for which
 * runloop_blueprint() waits. A list of hosts is a policy with the devbox's
 * label as its name, which is changed and deleted with that devbox; all
 * devboxes share the policies without a list: runloop_policy().
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "net/retry.h"
#include "providers/kit/rest.h"
#include "providers/runloop/runloop.h"

enum {
	BUILD_MS = 1800000,
	LOOK_MS = 1000, /* pause between two requests about a build */
	TELL_MS = 15000,
	TRIES = 4,
	STATUS_ROOM = 32, /* bytes of a status */
	/* Constants for snapshots: */
	SNAPSHOT_MS = 120000, /* of the request that begins one */
	SNAPSHOT_POLL_MS = 1000,
	SNAPSHOT_MOST_MS = 1800000,
	SNAPSHOT_DROP_MS = 15000, /* to delete one that was not finished */
};

struct build {
	const char *name;
	char id[VENDOR_ID_MAX + 1]; /* id of the build to wait for, or "" */
	char status[STATUS_ROOM];
};

static bool is_building(const char *status)
{
	return !strcmp(status, "queued") || !strcmp(status, "provisioning") ||
	       !strcmp(status, "building");
}

/*
 * Stores the best blueprint with this name: a complete one, else one that is
 * being built, else a failed one.
 */
static bool on_blueprint(void *arg, const cJSON *item)
{
	struct build *b = arg;
	const char *id = json_string(item, "id", "");
	const char *status = json_string(item, "status", "");

	if (strcmp(json_string(item, "name", ""), b->name) != 0 ||
	    strcmp(json_string(item, "state", ""), "deleted") == 0 ||
	    !vendor_id_ok(id) || strlen(status) >= STATUS_ROOM)
		return true;
	if (b->id[0] && (is_building(b->status) || !is_building(status)) &&
	    strcmp(status, "build_complete") != 0)
		return true;
	snprintf(b->id, sizeof(b->id), "%s", id);
	snprintf(b->status, sizeof(b->status), "%s", status);
	return strcmp(status, "build_complete") != 0;
}

static int find_blueprint(struct vendor_client *c, struct build *b,
			  const struct stop *stop, struct error *err)
{
	static const struct vendor_pages pages = { .items = "blueprints",
						   .query = "starting_after" };
	struct buf path = BUF_INIT(4096);
	struct vendor_query q = { .pages = &pages,
				  .each = on_blueprint,
				  .arg = b };
	int rc;

	b->id[0] = '\0';
	buf_adds(&path, "/v1/blueprints?name=");
	rest_encode(&path, str_of(b->name));
	buf_adds(&path, "&limit=100");
	q.path = path.ptr;
	rc = vendor_pages(c, &q, stop, err);
	buf_release(&path);
	return rc;
}

static int describe_blueprint(struct vendor_client *c, const char *name,
			      cJSON *body, struct error *err)
{
	cJSON_AddStringToObject(body, "name", name);
	if (body_add_settings(c->client, "base_blueprint", body, err) < 0)
		return -1;
	if (!json_get(body, "base_blueprint_name") &&
	    body_add_settings(c->client, "dockerfile", body, err) < 0)
		return -1;
	return body_add_settings(c->client, "setup_commands", body, err);
}

static int parse_build(struct build *b, const cJSON *tree, struct error *err)
{
	const char *id = json_string(tree, "id", "");
	const char *status = json_string(tree, "status", "");

	if (!vendor_id_ok(id) || !*status || strlen(status) >= STATUS_ROOM)
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

static int start_build(struct vendor_client *c, struct build *b,
		       const struct stop *stop, struct error *err)
{
	struct http_request ask = { .method = "POST",
				    .path = "/v1/blueprints",
				    .what = "building the blueprint" };
	cJSON *body = cJSON_CreateObject();
	cJSON *tree = NULL;
	int rc = describe_blueprint(c, b->name, body, err);

	if (rc == 0)
		rc = vendor_post(c, &ask, body, &tree, stop, err);
	if (rc == 0)
		rc = parse_build(b, tree, err);
	cJSON_Delete(tree);
	cJSON_Delete(body);
	return rc;
}

static int poll_build(struct vendor_client *c, struct build *b,
		      const struct stop *stop, struct error *err)
{
	char *path = xasprintf("/v1/blueprints/%s", b->id);
	struct http_request ask = { .method = "GET",
				    .path = path,
				    .what = "asking for the blueprint",
				    .flags = REST_AGAIN };
	cJSON *tree = NULL;
	int rc = vendor_api(c, &ask, &tree, stop, err);

	if (rc == 0)
		rc = parse_build(b, tree, err);
	cJSON_Delete(tree);
	free(path);
	return rc;
}

static void emit_progress(const struct build *b, int64_t began,
			  const struct sandbox_spec *spec)
{
	char line[160];

	if (!spec->progress)
		return;
	snprintf(line, sizeof(line), "blueprint %.64s: %s (%lld s)", b->name,
		 b->status, (long long)((clock_ms() - began) / 1000));
	spec->progress(spec->arg, line);
}

static int await_build(struct vendor_client *c, struct build *b,
		       const struct sandbox_spec *spec, const struct stop *stop,
		       struct error *err)
{
	char told[STATUS_ROOM] = "";
	int64_t began = clock_ms();
	int64_t last = began;

	while (is_building(b->status)) {
		if (strcmp(told, b->status) != 0 ||
		    clock_ms() - last > TELL_MS) {
			emit_progress(b, began, spec);
			last = clock_ms();
		}
		snprintf(told, sizeof(told), "%s", b->status);
		if (stop_sleep(stop, LOOK_MS, err) < 0 ||
		    poll_build(c, b, stop, err) < 0)
			return -1;
	}
	return 0;
}

/*
 * Starts a build, unless one is found. If the answer to a build request was
 * lost, the build may exist, so the list is searched before each retry.
 */
static int find_or_start(struct vendor_client *c, struct build *b,
			 const struct stop *stop, struct error *err)
{
	for (int i = 1;; i++) {
		struct error why = { 0 };

		if (find_blueprint(c, b, stop, err) < 0)
			return -1;
		if (b->id[0] || start_build(c, b, stop, &why) == 0)
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

int runloop_blueprint(struct vendor_client *c, const char *name,
		      const struct sandbox_spec *spec, const struct stop *stop,
		      struct error *err)
{
	struct stop within = stop_within(stop, BUILD_MS);
	struct build b = { .name = name };
	int rc = find_or_start(c, &b, &within, err);

	if (rc == 0)
		rc = await_build(c, &b, spec, &within, err);
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
			       "fix the dockerfile parameter, and try again.");
}

static const struct vendor_pages policy_pages = { .items = "network_policies",
						  .query = "starting_after" };

struct policy_search {
	const char *name;
	char *id; /* owned */
};

static bool on_policy(void *arg, const cJSON *item)
{
	struct policy_search *s = arg;
	const char *id = json_string(item, "id", "");

	if (strcmp(json_string(item, "name", ""), s->name) == 0 &&
	    vendor_id_ok(id))
		s->id = xstrdup(id);
	return !s->id;
}

/* Sets *id (owned by the caller) to the policy with this name; NULL: none. */
static int find_policy(struct vendor_client *c, const char *name, char **id,
		       const struct stop *stop, struct error *err)
{
	struct policy_search s = { .name = name };
	char *path = xasprintf("/v1/network-policies?name=%s&limit=100", name);
	const struct vendor_query q = { &policy_pages, path, on_policy, &s };
	int rc = vendor_pages(c, &q, stop, err);

	free(path);
	*id = s.id;
	return rc;
}

static int make_policy(struct vendor_client *c, const char *name,
		       const struct sandbox_spec *spec, char **id,
		       const struct stop *stop, struct error *err)
{
	const struct network *n = spec->network;
	struct buf text = BUF_INIT(1 << 20);
	struct http_request ask = { .method = "POST",
				    .path = "/v1/network-policies",
				    .what = "making the network policy",
				    .flags = REST_AGAIN };
	cJSON *body = cJSON_CreateObject();
	cJSON *tree = NULL;
	int rc;

	cJSON_AddStringToObject(body, "name", name);
	cJSON_AddBoolToObject(body, "allow_all", n->mode == NETWORK_FULL);
	body_add_hosts(body, "allowed_hostnames", n, HOSTS_NAMES);
	if (spec->secrets)
		cJSON_AddBoolToObject(body, "allow_agent_gateway", true);
	json_print(&text, body);
	cJSON_Delete(body);
	ask.body = buf_str(&text);
	rc = vendor_api(c, &ask, &tree, stop, err);
	if (rc == 0 && vendor_id_ok(json_string(tree, "id", "")))
		*id = xstrdup(json_string(tree, "id", ""));
	else if (rc == 0)
		rc = error_set(err, ERR_PROTOCOL,
			       "unexpected server response: no policy");
	cJSON_Delete(tree);
	buf_release(&text);
	return rc;
}

int runloop_policy(struct vendor_client *c, const struct sandbox_spec *spec,
		   char **id, const struct stop *stop, struct error *err)
{
	const struct network *n = spec->network;
	const char *name = n->mode == NETWORK_LIST   ? spec->label
			   : n->mode == NETWORK_FULL ? "dcode-full"
						     : "dcode-none";
	struct error why = { 0 };

	*id = NULL;
	if (find_policy(c, name, id, stop, err) < 0)
		return -1;
	if (*id || make_policy(c, name, spec, id, stop, &why) == 0)
		return 0;
	/* another client may have created the policy meanwhile */
	if (find_policy(c, name, id, stop, err) < 0)
		return -1;
	if (*id)
		return 0;
	*err = why;
	return -1;
}

/* Disk snapshots: objects of the account. A name need not be unique; dcode's
 * are. (DevboxDiskSnapshotView of the API's OpenAPI document, 2026-11.) */

enum { SNAPSHOTS_MOST = 32 }; /* of one name whose state is asked for */

struct disk_snapshot_search {
	const char *name;
	char *ids[SNAPSHOTS_MOST]; /* owned */
	size_t n;
};

static bool on_snapshot(void *arg, const cJSON *item)
{
	struct disk_snapshot_search *s = arg;
	const char *id = json_string(item, "id", "");

	if (!strcmp(json_string(item, "name", ""), s->name) && vendor_id_ok(id))
		s->ids[s->n++] = xstrdup(id);
	return s->n < SNAPSHOTS_MOST;
}

/* Asks for the state of a snapshot: "in_progress", "complete", "error" or
 * "deleted" (DevboxSnapshotAsyncStatusView, 2026-11). The caller deletes *tree,
 * which holds the state. */
static int ask_snapshot(struct vendor_client *c, const char *id, cJSON **tree,
			const char **status, const struct stop *stop,
			struct error *err)
{
	char *path = xasprintf("/v1/devboxes/disk_snapshots/%s/status", id);
	struct http_request ask = { .method = "GET",
				    .path = path,
				    .what = "asking for the snapshot",
				    .flags = REST_AGAIN | REST_MISSING_OK };
	int rc = vendor_api(c, &ask, tree, stop, err);

	*status = rc == 0 ? json_string(*tree, "status", "") : "deleted";
	free(path);
	return rc < 0 ? -1 : 0;
}

/* The list does not say whether a snapshot is complete. */
int runloop_find_snapshot(struct sandbox_client *client, const char *name,
			  char **id, const struct stop *stop, struct error *err)
{
	static const struct vendor_pages pages = { .items = "snapshots",
						   .query = "starting_after" };
	struct disk_snapshot_search s = { .name = name };
	const struct vendor_query q = {
		.pages = &pages,
		.path = "/v1/devboxes/disk_snapshots?limit=100",
		.each = on_snapshot,
		.arg = &s,
	};
	int rc = vendor_pages(client->priv, &q, stop, err);

	*id = NULL;
	for (size_t i = 0; i < s.n; i++) {
		cJSON *tree = NULL;
		const char *status = "";

		if (rc >= 0 && !*id)
			rc = ask_snapshot(client->priv, s.ids[i], &tree,
					  &status, stop, err);
		if (rc >= 0 && !strcmp(status, "complete"))
			*id = xstrdup(s.ids[i]);
		cJSON_Delete(tree);
		free(s.ids[i]);
	}
	return rc < 0 ? -1 : *id != NULL;
}

int runloop_remove_snapshot(struct sandbox_client *client, const char *name,
			    const char *id, const struct stop *stop,
			    struct error *err)
{
	char *path = xasprintf("/v1/devboxes/disk_snapshots/%s/delete", id);
	struct http_request ask = { .method = "POST",
				    .path = path,
				    .what = "deleting the snapshot",
				    .flags = REST_AGAIN | REST_MISSING_OK };
	int rc = vendor_api(client->priv, &ask, NULL, stop, err);

	(void)name;
	free(path);
	return rc;
}

/* Returns 1 when the snapshot is complete, 0 to ask again. */
static int poll_snapshot(struct vendor_client *c, const char *id,
			 const struct stop *stop, struct error *err)
{
	cJSON *tree = NULL;
	const char *status;
	int rc = ask_snapshot(c, id, &tree, &status, stop, err);

	if (rc == 0 && !strcmp(status, "complete"))
		rc = 1;
	else if (rc == 0 && strcmp(status, "in_progress") != 0)
		rc = error_set(err, ERR_REMOTE, "the snapshot failed: %.300s",
			       json_string(tree, "error_message", status));
	cJSON_Delete(tree);
	return rc;
}

/* Deletes what is left of a snapshot that failed or is not waited for, so that
 * it neither keeps its name nor is billed. */
static void drop_snapshot(struct sandbox_client *client, const char *name,
			  const char *id)
{
	struct stop limit = stop_cleanup(SNAPSHOT_DROP_MS);
	struct error ignored = { 0 };

	(void)runloop_remove_snapshot(client, name, id, &limit, &ignored);
}

int runloop_snapshot(struct sandbox *sb, const char *name, bool replace,
		     const struct stop *stop, struct error *err)
{
	const struct http_request ask = { .path = "/snapshot_disk_async",
					  .timeout_ms = SNAPSHOT_MS };
	struct stop within = stop_within(stop, SNAPSHOT_MOST_MS);
	cJSON *tree = NULL;
	char *old = NULL;
	const char *id;
	int rc = replace ? runloop_find_snapshot(sb->client, name, &old, stop,
						 err)
			 : 0;

	if (rc >= 0)
		rc = vendor_post_snapshot(sb, &ask, name, &tree, stop, err);
	id = json_string(tree, "id", "");
	if (rc == 0 && !vendor_id_ok(id))
		rc = error_set(err, ERR_PROTOCOL,
			       "unexpected server response: no snapshot");
	while (rc == 0) {
		rc = poll_snapshot(sb->client->priv, id, &within, err);
		if (rc == 0)
			rc = stop_sleep(&within, SNAPSHOT_POLL_MS, err);
	}
	if (rc < 0 && vendor_id_ok(id))
		drop_snapshot(sb->client, name, id);
	if (rc > 0 && old)
		rc = runloop_remove_snapshot(sb->client, name, old, stop, err);
	cJSON_Delete(tree);
	free(old);
	return rc < 0 ? -1 : 0;
}
