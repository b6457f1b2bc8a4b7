/* vercel.c - sandboxes of Vercel: one sandbox's life. */
/* SPDX-License-Identifier: MIT */
#include "providers/vercel/vercel.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "providers/kit/vendor.h"

enum {
	COMMAND_MAX = 512 << 10,
	LIFETIME_S = 1800,
	WAIT_MS = 180000,
	EXTEND_LEAST_MS = 1000, /* the vendor's */
};

char *vercel_path(const struct vercel *v, const char *path, const char *more)
{
	return xasprintf("%s?teamId=%s%s", path, v->team, more);
}

char *vercel_project_query(const struct vercel *v, const char *name)
{
	struct buf b = BUF_INIT(1024);

	buf_addf(&b, "&%s=", name);
	rest_encode(&b, str_of(v->project));
	return buf_detach(&b);
}

const char *vercel_session_path(const struct vercel *v)
{
	return v->v1 ? "/v1/sandboxes/" : "/v2/sandboxes/sessions/";
}

const cJSON *vercel_session(const struct vercel *v, const cJSON *sandbox)
{
	return v->v1 ? sandbox : json_get(sandbox, "session");
}

int vercel_unwrap(const struct vercel *v, cJSON **answer, struct error *err)
{
	cJSON *sandbox =
		cJSON_DetachItemFromObjectCaseSensitive(*answer, "sandbox");
	cJSON *session =
		cJSON_DetachItemFromObjectCaseSensitive(*answer, "session");
	const char *status = json_string(session, "status", "");

	cJSON_Delete(*answer);
	*answer = cJSON_IsObject(sandbox) ? sandbox : cJSON_CreateObject();
	if (*answer != sandbox)
		cJSON_Delete(sandbox);
	if (v->v1) {
		cJSON_Delete(session);
	} else {
		if (vendor_state(&vercel_v2, session)->step == STEP_ENDED &&
		    json_bool(*answer, "persistent", false))
			status = "resumable";
		cJSON_DeleteItemFromObjectCaseSensitive(*answer, "status");
		cJSON_AddStringToObject(*answer, "status", status);
		cJSON_AddItemToObject(*answer, "session", session);
	}
	if (vendor_id_ok(json_string(vercel_session(v, *answer), "id", "")))
		return 0;
	cJSON_Delete(*answer);
	*answer = NULL;
	error_set(err, ERR_PROTOCOL,
		  "unexpected server response: no sandbox id");
	err->http_status = 200;
	return -1;
}

static int get_sandbox(struct vendor_client *c, const char *id,
		       const char *more, cJSON **answer,
		       const struct stop *stop, struct error *err)
{
	const struct vercel *v = (const struct vercel *)c;
	char *project = vercel_project_query(v, "projectId");
	char *query = xasprintf("%s%s", project, more);
	char *bare = xasprintf("/%s/sandboxes/%s", v->v1 ? "v1" : "v2", id);
	char *path = vercel_path(v, bare, v->v1 ? "" : query);
	struct rest_ask ask = { .method = "GET",
				.path = path,
				.what = *more ? "resuming the sandbox"
					      : "asking for the sandbox",
				.flags = REST_AGAIN | REST_MISSING_OK };
	int rc = vendor_api(c, &ask, answer, stop, err);

	free(path);
	free(bare);
	free(query);
	free(project);
	return rc == 0 ? vercel_unwrap(v, answer, err) : rc;
}

static int get(struct vendor_client *c, const char *id, cJSON **answer,
	       const struct stop *stop, struct error *err)
{
	return get_sandbox(c, id, "", answer, stop, err);
}

/* Boots one that was stopped. */
static int start(struct sandbox *sb, const char *id, cJSON **answer,
		 const struct stop *stop, struct error *err)
{
	int rc = get_sandbox(sb->client->priv, id, "&resume=true", answer, stop,
			     err);

	if (rc == 0 && vendor_state(&vercel_v2, *answer)->step == STEP_START)
		return error_set(err, ERR_GONE,
				 "the sandbox %s does not resume", id);
	return rc;
}

/* How long the session still has, in ms, by its own times. */
static int64_t left_ms(const cJSON *session)
{
	int64_t timeout = json_int(session, "timeout", 0);
	int64_t begin = json_int(session, "startedAt",
				 json_int(session, "requestedAt", 0));
	int64_t gone = clock_unix_ms() - begin;

	if (timeout <= 0)
		return 0;
	if (begin <= 0 || gone < 0)
		return timeout;
	return gone < timeout ? timeout - gone : 0;
}

/* Commands and files go to the session. */
static int set_endpoint(struct sandbox *sb, const cJSON *answer,
			const struct stop *stop, struct error *err)
{
	const struct vercel *v = sb->client->priv;
	const cJSON *session = vercel_session(v, answer);
	struct vendor_box *b = vendor_box(sb);
	struct rest server = { .http = sb->client->http };
	int rc = vendor_bearer(&server, v->token, err);

	(void)stop;
	server.base =
		xasprintf("%s%s%s", v->kit.api.base, vercel_session_path(v),
			  json_string(session, "id", ""));
	if (rc == 0) {
		vendor_set_server(sb, &server);
		pthread_mutex_lock(&b->lock);
		b->ends = clock_ms() + left_ms(session);
		pthread_mutex_unlock(&b->lock);
	}
	rest_release(&server);
	return rc;
}

/* One that was attached may have little time left. */
static int prepare(struct sandbox *sb, const struct stop *stop,
		   struct error *err)
{
	(void)err;
	vendor_touch(sb, stop);
	return 0;
}

static int extend(struct sandbox *sb, int64_t lifetime_s,
		  const struct stop *stop, struct error *err)
{
	struct vendor_box *b = vendor_box(sb);
	char *path = vercel_path(sb->client->priv, "/extend-timeout", "");
	struct http_response res = { 0 };
	struct rest_ask ask = { .method = "POST",
				.path = path,
				.what = "extending the sandbox's life",
				.flags = REST_AGAIN };
	int64_t more;
	char *body;
	int rc = 0;

	pthread_mutex_lock(&b->lock);
	more = clock_ms() + lifetime_s * 1000 - b->ends;
	pthread_mutex_unlock(&b->lock);
	body = xasprintf("{\"duration\":%lld}", (long long)more);
	ask.body = str_of(body);
	if (more >= EXTEND_LEAST_MS)
		rc = vendor_send(sb, &ask, &res, stop, err);
	if (rc < 0 && err->http_status == 410)
		err->code = ERR_GONE;
	http_response_release(&res);
	free(body);
	free(path);
	return rc;
}

static void list_path(const struct vendor_client *c, struct buf *path,
		      const char *label, const char *value)
{
	const struct vercel *v = (const struct vercel *)c;
	char *project = vercel_project_query(v, "project");

	buf_addf(path, "/v2/sandboxes?teamId=%s%s&limit=50", v->team, project);
	if (label) {
		buf_addf(path, "&tags=%s%%3A", label);
		rest_encode(path, str_of(value));
	} else {
		buf_adds(path, "&sortBy=name&namePrefix=dcode-");
	}
	free(project);
}

static void next_path(struct buf *path, const char *first, const cJSON *page,
		      int64_t seen)
{
	const char *cursor =
		json_string(json_get(page, "pagination"), "next", "");

	(void)seen;
	if (!*cursor)
		return;
	buf_addf(path, "%s&cursor=", first);
	rest_encode(path, str_of(cursor));
}

static const struct vendor_pages pages = { .items = "sandboxes",
					   .next = next_path };

/* v1 keeps no labels: no sandbox is known as ours. */
static int list_nothing(struct vendor_client *c,
			bool (*each)(void *arg, const cJSON *item), void *arg,
			const struct stop *stop, struct error *err)
{
	(void)c;
	(void)each;
	(void)arg;
	(void)stop;
	(void)err;
	return 0;
}

struct session_search {
	const char *session;
	char *name; /* owned: of its sandbox */
};

static bool on_sandbox(void *arg, const cJSON *item)
{
	struct session_search *s = arg;
	const char *name = json_string(item, "name", "");

	if (vendor_id_ok(name) &&
	    strcmp(json_string(item, "currentSessionId", ""), s->session) == 0)
		s->name = xstrdup(name);
	return !s->name;
}

/* By the id of a session, the sandbox that has it. */
static int vercel_attach(struct sandbox *sb, const char *id,
			 const struct stop *stop, struct error *err)
{
	const struct vercel *v = sb->client->priv;
	struct session_search s = { .session = id };
	struct vendor_query q = { .pages = &pages,
				  .each = on_sandbox,
				  .arg = &s };
	char *project;
	char *path;
	int rc;

	if (v->v1 || !str_starts(str_of(id), "sbx_"))
		return vendor_attach(sb, id, stop, err);
	project = vercel_project_query(v, "project");
	path = xasprintf("/v2/sandboxes?teamId=%s%s&limit=50", v->team,
			 project);
	q.path = path;
	rc = vendor_pages(sb->client->priv, &q, stop, err);
	if (rc == 0 && !s.name)
		rc = error_set(err, ERR_NOT_FOUND,
			       "no sandbox has the session %.100s", id);
	if (rc == 0)
		rc = vendor_attach(sb, s.name, stop, err);
	free(s.name);
	free(path);
	free(project);
	return rc;
}

static void add_end(const cJSON *item, struct sandbox_info *info)
{
	int64_t timeout = json_int(item, "timeout", 0) / 1000;

	if (info->state == STATE_RUNNING && info->created > 0 && timeout > 0 &&
	    timeout < INT64_MAX - info->created)
		info->ends = info->created + timeout;
}

static void free_client(struct vendor_client *c)
{
	struct vercel *v = (struct vercel *)c;

	free(v->project);
	free(v->team);
	free(v->endpoint);
}

static const struct vendor_state states_v1[] = {
	{ "pending", STATE_STARTING, STEP_WAIT, false },
	{ "running", STATE_RUNNING, STEP_READY, false },
	{ "stopping", STATE_STOPPED, STEP_ENDING, false },
	{ "snapshotting", STATE_STOPPED, STEP_ENDING, false },
	{ "stopped", STATE_STOPPED, STEP_ENDED, false },
	{ "failed", STATE_STOPPED, STEP_ENDED, false },
	{ "aborted", STATE_STOPPED, STEP_ENDED, false },
	{ 0 },
};

static const struct vendor_state states_v2[] = {
	{ "pending", STATE_STARTING, STEP_WAIT, false },
	{ "running", STATE_RUNNING, STEP_READY, false },
	{ "stopping", STATE_STOPPED, STEP_WAIT, false },
	{ "snapshotting", STATE_STOPPED, STEP_WAIT, false },
	{ "resumable", STATE_STOPPED, STEP_START, false },
	{ "stopped", STATE_STOPPED, STEP_ENDED, false },
	{ "failed", STATE_STOPPED, STEP_ENDED, false },
	{ "aborted", STATE_STOPPED, STEP_ENDED, false },
	{ 0 },
};

/* What both versions of the API have alike. */
#define BOTH_VERSIONS                                                          \
	.noun = "sandbox",                                                     \
	.auth_hint = "Check that the token is valid for this team and "        \
		     "project, and not "                                       \
		     "expired: https://vercel.com/account/tokens",             \
	.client_size = sizeof(struct vercel),                                  \
	.box_size = sizeof(struct vendor_box), .pages = &pages,                \
	.wait_ms = WAIT_MS, .describe = vercel_describe, .get = get,           \
	.end = vercel_end, .post = vercel_post, .start = start,                \
	.set_endpoint = set_endpoint, .prepare = prepare, .extend = extend,    \
	.info = add_end, .call = vercel_call,                                  \
	.max_command = 1 << 20, /* of all arguments; Linux takes 2 MiB */      \
		.max_answer = 4 << 20,                                         \
	.may_be_gone = (const int[]){ 404, 410, 422, 0 },                      \
	.files = &vercel_files, .close = free_client

const struct vendor vercel_v1 = {
	BOTH_VERSIONS,
	.fields = { .id = "id",
		    .state = "status",
		    .created = "createdAt",
		    .image = { "image", "runtime" } },
	.states = states_v1,
	.awaits_end = true,
	.items = list_nothing,
};

const struct vendor vercel_v2 = {
	BOTH_VERSIONS,
	.fields = { .id = "name",
		    .labels = "tags",
		    .state = "status",
		    .created = "createdAt",
		    .image = { "image", "runtime" } },
	.states = states_v2,
	.hold = vercel_hold,
	.halt = vercel_halt,
	.unique_names = true,
	.name_is_id = true,
	.list_path = list_path,
};

static const struct sandbox_ops ops = {
	.open = vercel_open,
	.close = vendor_close,
	.create = vendor_create,
	.attach = vercel_attach,
	.list = vendor_list,
	.info = vendor_info,
	.extend = vendor_extend,
	.execute = vendor_execute,
	.upload = vendor_upload,
	.download = vendor_download,
	.stop = vendor_stop,
	.remove = vendor_remove,
	.discard = vendor_discard,
};

const struct sandbox_provider vercel_provider = {
	.name = "vercel",
	.summary = "sandboxes of Vercel",
	.workdir = "/vercel/sandbox",
	.flags = SANDBOX_ATTACH | SANDBOX_SNAPSHOT | SANDBOX_LIVE |
		 SANDBOX_NETWORK | SANDBOX_LIST | SANDBOX_PLACED |
		 SANDBOX_PLACED_AGAIN,
	.max_command = COMMAND_MAX,
	.lifetime_s = LIFETIME_S,
	.settings = vercel_settings,
	.url_env = (const char *const[]){ "VERCEL_API_URL", NULL },
	.ops = &ops,
	.price = vercel_price,
	.isolation = ISOLATION_MICROVM, /* Firecracker, a kernel for each */
	.isolation_source =
		"vercel.com/docs/sandbox/concepts/security, 2026-11-23",
};
