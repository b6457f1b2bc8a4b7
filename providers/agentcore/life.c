/* life.c - a session: started once, looked at, stopped. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "providers/agentcore/agentcore.h"
#include "sandbox/quote.h"

enum {
	BODY_MAX = 4096,
	NAME_MAX_BYTES = 100,
	MKDIR_MS = 30000,
};

void agentcore_name(struct buf *out, const char *label, const char *owner)
{
	out->max = NAME_MAX_BYTES;
	buf_adds(out, label);
	if (owner && *owner)
		buf_addf(out, "-%s", owner);
}

static int gone(const char *id, struct error *err)
{
	return error_set(err, ERR_GONE, "the session %s has ended", id);
}

int agentcore_look(struct sandbox_client *host, const char *id, cJSON **tree,
		   const struct stop *stop, struct error *err)
{
	char *path = xasprintf("/sessions/get?sessionId=%s", id);
	struct agentcore_ask ask = {
		.rest = { .method = "GET",
			  .path = path,
			  .what = "asking for the session",
			  .flags = REST_AGAIN },
	};
	struct error why = { 0 };
	const char *got;
	int rc = agentcore_call(agentcore_of(host), &ask, tree, stop, &why);

	free(path);
	if (rc < 0 && ask.status == 404)
		return 0;
	if (rc < 0) {
		*err = why;
		return -1;
	}
	got = json_string(*tree, "sessionId", "");
	if (strcmp(got, id) == 0)
		return 0;
	error_set(err, ERR_PROTOCOL,
		  "unexpected server response: asked for session %s, got "
		  "%.60s",
		  id, *got ? got : "nothing");
	cJSON_Delete(*tree);
	*tree = NULL;
	return -1;
}

static bool is_ready(const cJSON *tree)
{
	return strcmp(json_string(tree, "status", ""), "READY") == 0;
}

int agentcore_alive(struct sandbox *sb, const struct stop *stop,
		    struct error *err)
{
	cJSON *tree = NULL;
	int rc = agentcore_look(sb->host, sb->id, &tree, stop, err);

	if (rc == 0 && !is_ready(tree))
		rc = gone(sb->id, err);
	cJSON_Delete(tree);
	return rc;
}

static void describe(const struct sandbox_spec *spec, struct buf *body)
{
	struct buf name = { 0 };
	char token[AGENTCORE_HASH];
	int64_t seconds = spec->lifetime_s;

	if (seconds > AGENTCORE_LIFETIME_MAX_S)
		seconds = AGENTCORE_LIFETIME_MAX_S;
	agentcore_name(&name, spec->label, spec->owner);
	agentcore_token("start", name.ptr, token);
	buf_addc(body, '{');
	json_member(body, "name", buf_str(&name));
	buf_addf(body, ",\"sessionTimeoutSeconds\":%lld,", (long long)seconds);
	json_member(body, "clientToken", str_of(token));
	buf_addc(body, '}');
	buf_release(&name);
}

/* The vendor promises one session for a clientToken; a second one would cost
 * money until its end, so after a repetition we look. */
static void prune(struct sandbox *sb, const struct sandbox_spec *spec,
		  const struct stop *stop)
{
	struct duplicate_create s = { .label = spec->label,
				      .id = xstrdup(sb->id) };
	const struct info_sink sink = { duplicate_create_found, &s };
	struct error ignored = { 0 };

	(void)agentcore_list(sb->host, spec->owner, &sink, stop, &ignored);
	duplicate_create_delete(sb->host, &s, stop);
}

static int start(struct sandbox *sb, const struct sandbox_spec *spec,
		 struct str body, const struct stop *stop, struct error *err)
{
	struct agentcore *a = agentcore_of(sb->host);
	bool again = create_log_add(&a->tried, spec->label);
	struct agentcore_ask ask = {
		.rest = { .method = "PUT",
			  .path = "/sessions/start",
			  .body = body,
			  .what = "starting the session",
			  .flags = REST_ONCE },
	};
	cJSON *tree = NULL;
	const char *id;
	int rc = agentcore_call(a, &ask, &tree, stop, err);

	id = json_string(tree, "sessionId", "");
	if (rc == 0 && !agentcore_id_ok(id))
		rc = error_set(err, ERR_PROTOCOL,
			       "unexpected server response: no session id");
	if (rc == 0)
		sb->id = xstrdup(id);
	if (rc == 0 && (again || ask.tries > 1))
		prune(sb, spec, stop);
	/* Without a key nothing was sent. */
	if (rc < 0 && !ask.tries && spec->unclear)
		*spec->unclear = false;
	cJSON_Delete(tree);
	return rc;
}

/* The configured directory, made when it is not the usual one. */
static int set_workdir(struct sandbox *sb, const struct stop *stop,
		       struct error *err)
{
	const struct agentcore *a = agentcore_of(sb->host);
	struct buf command = BUF_INIT(16 << 10);
	struct buf out = BUF_INIT(4096);
	const char *dir = NULL;
	int rc =
		settings_string(a->settings, "agentcore", "workdir", &dir, err);

	if (rc < 0 || !dir || strcmp(dir, sb->host->provider->workdir) == 0)
		return rc;
	buf_adds(&command, "mkdir -p -- ");
	quote_word(&command, str_of(dir));
	buf_adds(&command, " && echo made");
	rc = agentcore_run(sb, buf_str(&command), MKDIR_MS, &out, stop, err);
	if (rc == 0 && !str_starts(buf_str(&out), "made"))
		rc = error_set(err, ERR_REMOTE, "cannot make the directory %s",
			       dir);
	if (rc == 0)
		sb->workdir = xstrdup(dir);
	buf_release(&command);
	buf_release(&out);
	return rc;
}

static int check_workdir(struct sandbox *sb, struct error *err)
{
	const struct agentcore *a = agentcore_of(sb->host);
	const char *dir = NULL;

	if (settings_string(a->settings, "agentcore", "workdir", &dir, err) < 0)
		return -1;
	if (dir && dir[0] != '/')
		return error_set(err, ERR_CONFIG,
				 "workdir must be an absolute path");
	return 0;
}

int agentcore_create(struct sandbox *sb, const struct sandbox_spec *spec,
		     const struct stop *stop, struct error *err)
{
	struct buf body = BUF_INIT(BODY_MAX);
	int rc = check_workdir(sb, err);

	if (rc == 0 && spec->lifetime_s <= 0)
		rc = error_set(err, ERR_CONFIG,
			       "the lifetime is not above zero");
	if (rc < 0) {
		if (spec->unclear)
			*spec->unclear = false;
		return -1;
	}
	agentcore_box(sb);
	describe(spec, &body);
	/* One clientToken: a repeated request makes no second session. */
	rc = start(sb, spec, buf_str(&body), stop, err);
	if (rc == 0)
		rc = set_workdir(sb, stop, err);
	buf_release(&body);
	return rc;
}

int agentcore_attach(struct sandbox *sb, const char *id,
		     const struct stop *stop, struct error *err)
{
	cJSON *tree = NULL;
	int rc;

	if (!agentcore_id_ok(id))
		return error_set(err, ERR_USAGE, "'%.100s' is no session id",
				 id);
	if (check_workdir(sb, err) < 0)
		return -1;
	agentcore_box(sb);
	rc = agentcore_look(sb->host, id, &tree, stop, err);
	if (rc == 0 && !is_ready(tree)) {
		rc = error_set(err, ERR_NOT_FOUND, "the session %s %s", id,
			       tree ? "has ended" : "does not exist");
		error_hint(err, "A session ends after its lifetime, and cannot "
				"be started again");
	}
	cJSON_Delete(tree);
	if (rc < 0)
		return -1;
	sb->id = xstrdup(id);
	return set_workdir(sb, stop, err);
}

/* Stopped already, or never there: the API says so in more than one way. */
static int has_ended(struct sandbox_client *host, const char *id, bool *ended,
		     const struct stop *stop, struct error *err)
{
	cJSON *tree = NULL;
	int rc = agentcore_look(host, id, &tree, stop, err);

	*ended = rc == 0 && (!tree || strcmp(json_string(tree, "status", ""),
					     "TERMINATED") == 0);
	cJSON_Delete(tree);
	return rc;
}

/* 409, 400: its state is changing, or it has ended. */
int agentcore_remove(struct sandbox_client *host, const char *id,
		     const struct stop *stop, struct error *err)
{
	char token[AGENTCORE_HASH];
	struct agentcore_ask ask = {
		.rest = { .method = "PUT",
			  .what = "stopping the session",
			  .flags = REST_ONCE },
	};
	struct error why = { 0 };
	bool ended = false;
	char *path;
	char *body;
	int rc;

	if (!agentcore_id_ok(id))
		return error_set(err, ERR_USAGE, "'%.100s' is no session id",
				 id);
	path = xasprintf("/sessions/stop?sessionId=%s", id);
	agentcore_token("stop", id, token);
	body = xasprintf("{\"clientToken\":\"%s\"}", token);
	ask.rest.path = path;
	ask.rest.body = str_of(body);
	rc = agentcore_call(agentcore_of(host), &ask, NULL, stop, &why);
	free(body);
	free(path);
	if (rc == 0 || ask.status == 404)
		return rc == 0 ? 0 : 1;
	if (ask.status == 409 || ask.status == 400) {
		if (has_ended(host, id, &ended, stop, err) < 0)
			return -1;
		why.code = ERR_BUSY;
	}
	if (ended)
		return 0;
	*err = why;
	return -1;
}
