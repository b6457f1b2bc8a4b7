/* vercel.c - sandboxes of Vercel: one sandbox's life. */
/* SPDX-License-Identifier: MIT */
#include "providers/vercel/vercel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "providers/kit/lease.h"

enum {
	COMMAND_MAX = 512 << 10,
	READY_MS = 180000,
	TRIES_AGAIN = 4,
	AGAIN_MS = 100,
	POLL_MS = 500,
	EXTEND_MS = 10000,
	EXTEND_PAUSE_MS = 15000,
	EXTEND_LEAST_MS = 1000, /* the vendor's */
};

char *vercel_path(const struct vercel *v, const char *path, const char *more)
{
	return xasprintf("%s?teamId=%s%s", path, v->team, more ? more : "");
}

char *vercel_project(const struct vercel *v, const char *name)
{
	struct buf b = BUF_INIT(1024);

	buf_addf(&b, "&%s=", name);
	rest_encode(&b, str_of(v->project));
	return buf_detach(&b);
}

static struct vercel_box *box_of(struct sandbox *sb)
{
	struct vercel_box *b = sb->priv;

	if (!b) {
		b = xcalloc(1, sizeof(*b));
		pthread_mutex_init(&b->lock, NULL);
		sb->priv = b;
	}
	return b;
}

char *vercel_session(struct sandbox *sb, const char *tail)
{
	const struct vercel *v = vercel_of(sb->host);
	struct vercel_box *b = box_of(sb);
	char *path;

	pthread_mutex_lock(&b->lock);
	path = xasprintf("/%s/%s%s?teamId=%s",
			 v->v1 ? "v1/sandboxes" : "v2/sandboxes/sessions",
			 b->session ? b->session : "", tail, v->team);
	pthread_mutex_unlock(&b->lock);
	return path;
}

/* A damaged answer to what may be repeated is asked for again. */
int vercel_api(struct vercel *v, const struct rest_ask *ask, cJSON **tree,
	       int *status, const struct stop *stop, struct error *err)
{
	int tries = ask->flags & REST_AGAIN ? TRIES_AGAIN : 1;

	for (int i = 1;; i++) {
		struct error why = { 0 };
		cJSON *ignored = NULL;
		int rc = rest_json(&v->api, ask, tree ? tree : &ignored, status,
				   stop, &why);

		cJSON_Delete(ignored);
		if (rc == 0)
			return 0;
		if (why.code == ERR_PROTOCOL && i < tries &&
		    stop_sleep(stop, i * AGAIN_MS, err) == 0)
			continue;
		why.exhausted = why.exhausted || i > 1;
		if (why.code == ERR_AUTH && !why.hint[0])
			error_hint(&why, "Is the token valid for this team and "
					 "project, and not expired? See "
					 "https://vercel.com/account/tokens");
		*err = why;
		return -1;
	}
}

enum vercel_status vercel_status(const char *word)
{
	static const struct {
		const char *word;
		enum vercel_status status;
	} words[] = {
		{ "pending", VERCEL_PENDING }, { "running", VERCEL_RUNNING },
		{ "stopping", VERCEL_BUSY },   { "snapshotting", VERCEL_BUSY },
		{ "stopped", VERCEL_ENDED },   { "failed", VERCEL_ENDED },
		{ "aborted", VERCEL_ENDED },
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (strcmp(words[i].word, word) == 0)
			return words[i].status;
	return VERCEL_UNKNOWN;
}

/* How long the session still has, in ms, by its own times. */
static int64_t left_ms(const cJSON *session)
{
	int64_t timeout = json_int(session, "timeout", 0);
	int64_t start = json_int(session, "startedAt",
				 json_int(session, "requestedAt", 0));
	int64_t gone = clock_unix_ms() - start;

	if (timeout <= 0)
		return 0;
	if (start <= 0 || gone < 0)
		return timeout;
	return gone < timeout ? timeout - gone : 0;
}

int vercel_adopt(struct sandbox *sb, const cJSON *answer, const char *want,
		 int64_t lifetime_s, enum vercel_status *status,
		 struct error *err)
{
	const struct vercel *v = vercel_of(sb->host);
	const cJSON *sandbox = json_get(answer, "sandbox");
	const cJSON *session = v->v1 ? sandbox : json_get(answer, "session");
	const char *id = json_string(sandbox, v->v1 ? "id" : "name", "");
	const char *sid = json_string(session, "id", "");
	struct vercel_box *b = box_of(sb);

	if (!vercel_id_ok(id) || !vercel_id_ok(sid))
		return error_set(err, ERR_PROTOCOL,
				 "unexpected server response: no sandbox id");
	if (want && strcmp(id, want) != 0)
		return error_set(err, ERR_PROTOCOL,
				 "unexpected server response: asked for "
				 "sandbox %s, got %s",
				 want, id);
	if (!sb->id)
		sb->id = xstrdup(id);
	pthread_mutex_lock(&b->lock);
	free(b->session);
	b->session = xstrdup(sid);
	if (lifetime_s)
		b->lifetime_s = lifetime_s;
	b->ends = clock_ms() +
		  (lifetime_s ? lifetime_s * 1000 : left_ms(session));
	pthread_mutex_unlock(&b->lock);
	if (status)
		*status = vercel_status(json_string(session, "status", ""));
	return 0;
}

int vercel_get(struct vercel *v, const char *id, bool resume, cJSON **tree,
	       const struct stop *stop, struct error *err)
{
	char *project = vercel_project(v, "projectId");
	char *more = xasprintf("%s%s", project, resume ? "&resume=true" : "");
	char *bare = xasprintf("/%s/sandboxes/%s", v->v1 ? "v1" : "v2", id);
	char *path = vercel_path(v, bare, v->v1 ? NULL : more);
	struct rest_ask ask = { .method = "GET",
				.path = path,
				.what = resume ? "resuming the sandbox"
					       : "asking for the sandbox",
				.flags = REST_AGAIN };
	int rc = vercel_api(v, &ask, tree, NULL, stop, err);

	free(path);
	free(bare);
	free(more);
	free(project);
	return rc;
}

static int ended(const cJSON *tree, const char *id, struct error *err)
{
	const cJSON *session = json_get(tree, "session");

	if (!session)
		session = json_get(tree, "sandbox");
	return error_set(err, ERR_GONE, "the sandbox %s has ended: %.40s", id,
			 json_string(session, "status", "unknown"));
}

/* One look: 1 when it runs, 0 to look again. */
static int look(struct sandbox *sb, const char *id, bool *resume,
		const struct stop *stop, struct error *err)
{
	enum vercel_status status = VERCEL_UNKNOWN;
	bool resumed = *resume;
	cJSON *tree = NULL;
	int rc = vercel_get(vercel_of(sb->host), id, resumed, &tree, stop, err);

	*resume = false;
	if (rc == 0)
		rc = vercel_adopt(sb, tree, id, 0, &status, err);
	if (rc == 0 && status == VERCEL_ENDED) {
		*resume = !resumed && json_bool(json_get(tree, "sandbox"),
						"persistent", false);
		if (!*resume)
			rc = ended(tree, id, err);
	}
	cJSON_Delete(tree);
	return rc < 0 ? -1 : status == VERCEL_RUNNING;
}

int vercel_bring(struct sandbox *sb, const char *id,
		 const struct sandbox_spec *progress, const struct stop *stop,
		 struct error *err)
{
	struct stop limit = stop_within(stop, READY_MS);
	bool resume = false;
	bool told = false;
	int rc;

	for (;;) {
		rc = look(sb, id, &resume, &limit, err);
		if (rc > 0)
			return 0;
		if (rc < 0)
			break;
		if (!told && progress && progress->progress)
			progress->progress(progress->arg,
					   "waiting for the sandbox");
		told = true;
		if (!resume && stop_sleep(&limit, POLL_MS, err) < 0)
			break;
	}
	if (err->code == ERR_TIMEOUT && clock_ms() < stop->deadline)
		error_set(err, ERR_REMOTE,
			  "the sandbox %s did not start within %d s", id,
			  READY_MS / 1000);
	return -1;
}

static int vercel_attach(struct sandbox *sb, const char *id,
			 const struct stop *stop, struct error *err)
{
	struct vercel *v = vercel_of(sb->host);
	struct vercel_box *b = box_of(sb);
	int64_t lifetime = 0;
	char *name = NULL;
	int rc = -1;

	if (!vercel_id_ok(id))
		return error_set(err, ERR_USAGE, "'%.100s' is no sandbox id",
				 id);
	if (settings_int(sb->host->settings, "vercel", "lifetime", &lifetime,
			 err) < 0)
		return -1;
	if (!v->v1 && str_starts(str_of(id), "sbx_"))
		name = vercel_name(v, id, stop, err);
	else
		name = xstrdup(id);
	if (name)
		rc = vercel_bring(sb, name, NULL, stop, err);
	free(name);
	if (rc == 0) {
		b->lifetime_s = lifetime > 0 ? lifetime : VERCEL_LIFETIME_S;
		vercel_keep(sb, stop);
	}
	return rc;
}

static int vercel_extend(struct sandbox *sb, int64_t lifetime_s,
			 const struct stop *stop, struct error *err)
{
	struct vercel_box *b = box_of(sb);
	char *path = vercel_session(sb, "/extend-timeout");
	char body[64];
	struct rest_ask ask = { .method = "POST",
				.path = path,
				.what = "extending the sandbox's life",
				.flags = REST_AGAIN };
	int64_t more;
	int rc = 0;

	pthread_mutex_lock(&b->lock);
	more = clock_ms() + lifetime_s * 1000 - b->ends;
	pthread_mutex_unlock(&b->lock);
	snprintf(body, sizeof(body), "{\"duration\":%lld}", (long long)more);
	ask.body = str_of(body);
	if (more >= EXTEND_LEAST_MS) {
		rc = vercel_api(vercel_of(sb->host), &ask, NULL, NULL, stop,
				err);
		if (rc == 0) {
			pthread_mutex_lock(&b->lock);
			b->ends += more;
			pthread_mutex_unlock(&b->lock);
		} else if (err->code == ERR_NOT_FOUND ||
			   err->http_status == 410) {
			err->code = ERR_GONE;
		}
	}
	free(path);
	return rc;
}

void vercel_keep(struct sandbox *sb, const struct stop *stop)
{
	struct vercel_box *b = box_of(sb);
	struct stop within = stop_within(stop, EXTEND_MS);
	struct error ignored = { 0 };
	int64_t lifetime;
	bool due;

	pthread_mutex_lock(&b->lock);
	lifetime = b->lifetime_s;
	due = lease_due(b->ends, lifetime, EXTEND_PAUSE_MS, &b->asked);
	pthread_mutex_unlock(&b->lock);
	if (due)
		(void)vercel_extend(sb, lifetime, &within, &ignored);
}

int vercel_revive(struct sandbox *sb, const struct stop *stop,
		  struct error *err)
{
	int rc = vercel_bring(sb, sb->id, NULL, stop, err);

	if (rc < 0 && err->code == ERR_NOT_FOUND)
		error_set(err, ERR_GONE, "the sandbox %s has ended", sb->id);
	return rc;
}

static void vercel_discard(struct sandbox *sb)
{
	struct vercel_box *b = sb->priv;

	if (!b)
		return;
	free(b->session);
	pthread_mutex_destroy(&b->lock);
	free(b);
	sb->priv = NULL;
}

static const struct sandbox_ops ops = {
	.open = vercel_open,
	.close = vercel_close,
	.create = vercel_create,
	.attach = vercel_attach,
	.list = vercel_list,
	.info = vercel_info,
	.extend = vercel_extend,
	.execute = vercel_execute,
	.upload = vercel_upload,
	.download = vercel_download,
	.remove = vercel_remove,
	.discard = vercel_discard,
};

const struct sandbox_provider vercel_provider = {
	.name = "vercel",
	.summary = "sandboxes of Vercel",
	.workdir = "/vercel/sandbox",
	.flags = SANDBOX_ATTACH | SANDBOX_SNAPSHOT | SANDBOX_LIVE |
		 SANDBOX_NETWORK | SANDBOX_LIST,
	.max_command = COMMAND_MAX,
	.lifetime_s = VERCEL_LIFETIME_S,
	.settings = vercel_settings,
	.url_env = (const char *const[]){ "VERCEL_API_URL", NULL },
	.ops = &ops,
};
