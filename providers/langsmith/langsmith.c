/* langsmith.c - sandboxes of LangSmith: the account, and one's life. */
/* SPDX-License-Identifier: MIT */
#include "providers/langsmith/langsmith.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "providers/table.h"

enum {
	COMMAND_MAX = 80 << 10, /* one argument, 128 KiB, once encoded */
	POLL_MS = 1000,
	TELL_MS = 5000, /* between lines of progress */
	START_MS = 180000,
	URL_MAX = 2048,
};

struct langsmith *langsmith_of(const struct sandbox_client *host)
{
	return host->priv;
}

bool langsmith_id_ok(const char *id)
{
	size_t len = strlen(id);

	return len && len <= LANGSMITH_ID_MAX && id[0] != '.' &&
	       strspn(id, "abcdefghijklmnopqrstuvwxyz"
			  "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.") == len;
}

static const char *find_key(const struct settings *set, const char **project)
{
	static const char *const names[] = { "LANGSMITH_SANDBOX_API_KEY",
					     "LANGSMITH_API_KEY",
					     "LANGCHAIN_API_KEY" };
	static const char *const own[] = {
		"DEEPAGENTS_CODE_LANGSMITH_SANDBOX_API_KEY",
		"DEEPAGENTS_CODE_LANGSMITH_API_KEY",
		"DEEPAGENTS_CODE_LANGCHAIN_API_KEY"
	};
	bool stored = settings_env_source(set, names[0]) == SOURCE_STORED;
	const char *key = NULL;

	/* A stored key stands for the first name; what is set for dcode alone
	 * goes over it under each. */
	for (size_t i = 0; stored && i < sizeof(own) / sizeof(*own); i++) {
		key = settings_env_plain(set, own[i]);
		if (key && key[0])
			return key;
	}
	key = NULL;
	for (size_t i = 0; !key && i < sizeof(names) / sizeof(*names); i++)
		key = settings_credential(set, names[i], project);
	return key;
}

static int no_key(struct error *err)
{
	error_set(err, ERR_AUTH,
		  "No LangSmith sandbox API key found. Set LANGSMITH_API_KEY, "
		  "LANGCHAIN_API_KEY, or LANGSMITH_SANDBOX_API_KEY (or the "
		  "DEEPAGENTS_CODE_-prefixed equivalents)");
	return error_hint(err, "Get a key at https://smith.langchain.com "
			       "(Settings, API Keys), then export "
			       "LANGSMITH_API_KEY=lsv2_...");
}

/* Paths below are /v2/sandboxes/...; a self-hosted endpoint is often given
 * with the first version's path. */
static int set_address(struct langsmith *l, struct error *err)
{
	static const char *const names[] = { "LANGSMITH_ENDPOINT",
					     "LANGCHAIN_ENDPOINT", NULL };
	struct str base;

	if (rest_address(&l->api.base, l->settings, names,
			 "https://api.smith.langchain.com", err) < 0)
		return -1;
	base = str_of(l->api.base);
	if (str_ends(base, "/api/v1"))
		l->api.base[base.len - strlen("/v1")] = '\0';
	return 0;
}

static void langsmith_close(struct sandbox_client *host)
{
	struct langsmith *l = langsmith_of(host);

	if (!l)
		return;
	rest_release(&l->api);
	free(l);
	host->priv = NULL;
	host->endpoint = NULL;
}

static int langsmith_open(struct sandbox_client *host,
			  const struct settings *set, struct error *err)
{
	struct langsmith *l = xcalloc(1, sizeof(*l));

	host->priv = l;
	l->api.http = host->http;
	l->settings = set;
	l->key = find_key(set, &host->project_key);
	if (!l->key)
		return no_key(err);
	if (set_address(l, err) < 0 ||
	    rest_header(&l->api, "X-Api-Key", l->key, err) < 0)
		return -1;
	host->endpoint = l->api.base;
	return 0;
}

int langsmith_api(struct langsmith *l, const struct rest_ask *ask, cJSON **tree,
		  int *status, const struct stop *stop, struct error *err)
{
	cJSON *ignored = NULL;
	int rc = rest_json(&l->api, ask, tree ? tree : &ignored, status, stop,
			   err);

	cJSON_Delete(ignored);
	if (rc < 0 && err->code == ERR_AUTH && !err->hint[0])
		error_hint(err, "Is LANGSMITH_API_KEY a key of this account "
				"and region? See https://smith.langchain.com "
				"(Settings, API Keys)");
	return rc;
}

struct langsmith_box *langsmith_box(struct sandbox *sb)
{
	struct langsmith_box *b = sb->priv;

	if (!b) {
		b = xcalloc(1, sizeof(*b));
		pthread_mutex_init(&b->lock, NULL);
		sb->priv = b;
	}
	return b;
}

/* The key goes there: https, or where the API itself is on loopback. */
static bool plane_ok(const struct langsmith *l, const char *url)
{
	struct str text = str_of(url);

	if (!text.len || text.len > URL_MAX)
		return false;
	if (!str_starts(text, "https://") &&
	    !str_starts(str_of(l->api.base), "http://"))
		return false;
	return rest_url_ok(text);
}

int langsmith_adopt(struct sandbox *sb, const cJSON *answer, const char *want,
		    struct error *err)
{
	const char *name = json_string(answer, "name", "");
	const char *url = json_string(answer, "dataplane_url", "");
	struct langsmith_box *b = langsmith_box(sb);
	struct str base = str_of(url);

	if (strcmp(name, want) != 0 &&
	    strcmp(json_string(answer, "id", ""), want) != 0)
		return error_set(err, ERR_PROTOCOL,
				 "unexpected server response: asked for "
				 "sandbox %s, got %.100s",
				 want, *name ? name : "nothing");
	if (!sb->id)
		sb->id = xstrdup(want);
	if (!plane_ok(langsmith_of(sb->host), url))
		return error_set(err, ERR_PROTOCOL,
				 "unexpected server response: no address that "
				 "a key may be sent to: '%.100s'",
				 url);
	while (str_ends(base, "/"))
		base.len--;
	pthread_mutex_lock(&b->lock);
	free(b->base);
	b->base = xstrndup(base.ptr, base.len);
	pthread_mutex_unlock(&b->lock);
	return 0;
}

static int post_start(struct sandbox *sb, const char *id,
		      const struct stop *stop, struct error *err)
{
	char *path = xasprintf("/v2/sandboxes/boxes/%s/start", id);
	struct rest_ask ask = { .method = "POST",
				.path = path,
				.body = STR("{}"),
				.what = "starting the sandbox",
				.flags = REST_AGAIN };
	struct error why = { 0 };
	int rc = langsmith_api(langsmith_of(sb->host), &ask, NULL, NULL, stop,
			       &why);

	/* Somebody else's start, or its stop is not over yet: look again. */
	if (rc < 0 && why.http_status == 409)
		rc = 0;
	if (rc < 0)
		*err = why;
	free(path);
	return rc;
}

/* 1 when it runs, 0 to look again. */
static int look(struct sandbox *sb, const char *id, const struct stop *stop,
		char *state, size_t room, struct error *err)
{
	char *path = xasprintf("/v2/sandboxes/boxes/%s", id);
	struct rest_ask ask = { .method = "GET",
				.path = path,
				.what = "asking for the sandbox",
				.flags = REST_AGAIN };
	cJSON *tree = NULL;
	int rc = langsmith_api(langsmith_of(sb->host), &ask, &tree, NULL, stop,
			       err);
	const char *status = json_string(tree, "status", "");

	free(path);
	snprintf(state, room, "%s", status);
	if (rc == 0 && strcmp(status, "ready") == 0)
		rc = langsmith_adopt(sb, tree, id, err) < 0 ? -1 : 1;
	else if (rc == 0 && strcmp(status, "stopped") == 0)
		rc = post_start(sb, id, stop, err);
	else if (rc == 0 && strcmp(status, "deleting") == 0)
		rc = error_set(err, ERR_GONE, "the sandbox %s has ended", id);
	else if (rc == 0 && strcmp(status, "failed") == 0)
		rc = error_set(err, ERR_REMOTE,
			       "LangSmith sandbox failed to start: %.200s",
			       json_string(tree, "status_message",
					   "no reason "
					   "given"));
	cJSON_Delete(tree);
	return rc;
}

int langsmith_wait(struct sandbox *sb, const char *id, int64_t wait_ms,
		   const struct sandbox_spec *spec, const struct stop *stop,
		   struct error *err)
{
	struct stop within = stop_within(stop, wait_ms);
	int64_t told = clock_ms();
	struct error why = { 0 };
	char state[32];
	char line[128];
	int rc;

	while ((rc = look(sb, id, &within, state, sizeof(state), &why)) == 0) {
		if (spec && spec->progress && clock_ms() - told >= TELL_MS) {
			told = clock_ms();
			snprintf(line, sizeof(line), "the sandbox is %s",
				 state);
			spec->progress(spec->arg, line);
		}
		rc = stop_sleep(&within, POLL_MS, &why);
		if (rc < 0)
			break;
	}
	if (rc > 0)
		return 0;
	if (why.code == ERR_TIMEOUT && clock_ms() < stop->deadline)
		return error_set(err, ERR_REMOTE,
				 "LangSmith sandbox failed to start within "
				 "%lld seconds",
				 (long long)(wait_ms / 1000));
	*err = why;
	return -1;
}

static int langsmith_attach(struct sandbox *sb, const char *id,
			    const struct stop *stop, struct error *err)
{
	int64_t lifetime = 0;

	if (!langsmith_id_ok(id))
		return error_set(err, ERR_USAGE, "'%.100s' is no sandbox id",
				 id);
	if (settings_int(sb->host->settings, "langsmith", "lifetime", &lifetime,
			 err) < 0)
		return -1;
	langsmith_box(sb)->lifetime_s =
		lifetime > 0 ? lifetime : LANGSMITH_LIFETIME_S;
	return langsmith_wait(sb, id, START_MS, NULL, stop, err);
}

int langsmith_revive(struct sandbox *sb, const struct stop *stop,
		     struct error *err)
{
	struct error why = { 0 };
	char state[32];

	if (look(sb, sb->id, stop, state, sizeof(state), &why) >= 0)
		return 0;
	if (why.code == ERR_NOT_FOUND || why.code == ERR_GONE)
		return error_set(err, ERR_GONE, "the sandbox %s has ended",
				 sb->id);
	*err = why;
	return -1;
}

int langsmith_plane(struct sandbox *sb, struct rest *r, struct error *err)
{
	struct langsmith_box *b = langsmith_box(sb);

	*r = (struct rest){ .http = sb->host->http };
	pthread_mutex_lock(&b->lock);
	r->base = xstrdup(b->base ? b->base : "");
	pthread_mutex_unlock(&b->lock);
	return rest_header(r, "X-Api-Key", langsmith_of(sb->host)->key, err);
}

/* The server takes whole minutes. */
static int set_lifetime(struct sandbox *sb, int64_t lifetime_s,
			const struct stop *stop, struct error *err)
{
	char *path = xasprintf("/v2/sandboxes/boxes/%s", sb->id);
	char *body = xasprintf("{\"idle_ttl_seconds\":%lld}",
			       (long long)(lifetime_s + 59) / 60 * 60);
	struct rest_ask ask = { .method = "PATCH",
				.path = path,
				.body = str_of(body),
				.what = "extending the sandbox's life",
				.flags = REST_AGAIN };
	int rc = langsmith_api(langsmith_of(sb->host), &ask, NULL, NULL, stop,
			       err);

	free(body);
	free(path);
	return rc;
}

/* Whether it runs: 1, or 0. A request to the data plane would wake one that
 * somebody has stopped. */
static int is_ready(struct sandbox *sb, const struct stop *stop,
		    struct error *err)
{
	char *path = xasprintf("/v2/sandboxes/boxes/%s/status", sb->id);
	struct rest_ask ask = { .method = "GET",
				.path = path,
				.what = "asking for the sandbox",
				.flags = REST_AGAIN };
	cJSON *tree = NULL;
	int rc = langsmith_api(langsmith_of(sb->host), &ask, &tree, NULL, stop,
			       err);

	if (rc == 0)
		rc = strcmp(json_string(tree, "status", ""), "ready") == 0;
	cJSON_Delete(tree);
	free(path);
	return rc;
}

/* Any request to the data plane starts the idle time again. */
static int touch(struct sandbox *sb, const struct stop *stop, struct error *err)
{
	struct http_response res = { 0 };
	struct rest plane = { 0 };
	struct rest_ask ask = {
		.method = "POST",
		.path = "/execute",
		.body = STR("{\"command\":\":\",\"timeout\":10,\"shell\":"
			    "\"/bin/sh\"}"),
		.what = "keeping the sandbox alive",
		.flags = REST_AGAIN,
	};
	int rc = langsmith_plane(sb, &plane, err);

	if (rc == 0)
		rc = rest_call(&plane, &ask, &res, stop, err);
	rest_release(&plane);
	http_response_release(&res);
	return rc;
}

int langsmith_extend(struct sandbox *sb, int64_t lifetime_s,
		     const struct stop *stop, struct error *err)
{
	struct langsmith_box *b = langsmith_box(sb);
	bool other;
	int rc;

	pthread_mutex_lock(&b->lock);
	other = b->lifetime_s != lifetime_s;
	pthread_mutex_unlock(&b->lock);
	if (other) {
		rc = set_lifetime(sb, lifetime_s, stop, err);
	} else {
		rc = is_ready(sb, stop, err);
		if (rc > 0)
			rc = touch(sb, stop, err);
	}
	pthread_mutex_lock(&b->lock);
	if (rc == 0)
		b->lifetime_s = lifetime_s;
	pthread_mutex_unlock(&b->lock);
	if (rc < 0 && err->code == ERR_NOT_FOUND)
		err->code = ERR_GONE;
	return rc;
}

/* 409: its state is changing. */
static int langsmith_remove(struct sandbox_client *host, const char *id,
			    const struct stop *stop, struct error *err)
{
	struct rest_ask ask = { .method = "DELETE",
				.what = "deleting the sandbox",
				.flags = REST_MISSING_OK };
	int status = 0;
	char *path;
	int rc;

	if (!langsmith_id_ok(id))
		return error_set(err, ERR_USAGE, "'%.100s' is no sandbox id",
				 id);
	path = xasprintf("/v2/sandboxes/boxes/%s", id);
	ask.path = path;
	rc = langsmith_api(langsmith_of(host), &ask, NULL, &status, stop, err);
	free(path);
	if (rc < 0 && err->http_status == 409)
		err->code = ERR_BUSY;
	return rc < 0 ? -1 : status == 404;
}

static void langsmith_discard(struct sandbox *sb)
{
	struct langsmith_box *b = sb->priv;

	if (!b)
		return;
	free(b->base);
	pthread_mutex_destroy(&b->lock);
	free(b);
	sb->priv = NULL;
}

static const struct sandbox_ops ops = {
	.open = langsmith_open,
	.close = langsmith_close,
	.create = langsmith_create,
	.attach = langsmith_attach,
	.list = langsmith_list,
	.info = langsmith_info,
	.extend = langsmith_extend,
	.snapshot = langsmith_snapshot,
	.find_snapshot = langsmith_find_snapshot,
	.execute = langsmith_execute,
	.upload = langsmith_upload,
	.download = langsmith_download,
	.remove = langsmith_remove,
	.discard = langsmith_discard,
};

const struct sandbox_provider langsmith_provider = {
	.name = "langsmith",
	.summary = "sandboxes of LangSmith",
	.workdir = "/root",
	.flags = SANDBOX_ATTACH | SANDBOX_SNAPSHOT | SANDBOX_LIVE |
		 SANDBOX_NETWORK | SANDBOX_LIST,
	.max_command = COMMAND_MAX,
	.lifetime_s = LANGSMITH_LIFETIME_S,
	.settings = langsmith_settings,
	.url_env = (const char *const[]){ "LANGSMITH_ENDPOINT",
					  "LANGCHAIN_ENDPOINT", NULL },
	.ops = &ops,
};
