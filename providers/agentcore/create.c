/* create.c - sessions: started once, listed, looked up, stopped. */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "providers/agentcore/agentcore.h"
#include "sandbox/quote.h"

enum {
	START_BODY_MAX = 4096,
	LIST_BODY_MAX = 64 << 10,
	PAGES_MAX = 1000,
	NAME_MAX_BYTES = 100,
	LABEL = 14, /* "dcode-" and 8 characters */
	MKDIR_MS = 30000,
};

/* Appends "LABEL-OWNER", a session's name. */
static void add_name(struct buf *out, const char *label, const char *owner)
{
	out->max = NAME_MAX_BYTES;
	buf_adds(out, label);
	if (owner && *owner)
		buf_addf(out, "-%s", owner);
}

/* Length of the label that a session's name begins with; 0: not ours. */
static size_t label_length(const char *name)
{
	if (strncmp(name, "dcode-", 6) != 0 ||
	    strspn(name + 6, "abcdefghijklmnopqrstuvwxyz234567") < 8 ||
	    (name[LABEL] && name[LABEL] != '-'))
		return 0;
	return LABEL;
}

static bool has_status(const cJSON *session, const char *status)
{
	return strcmp(json_string(session, "status", ""), status) == 0;
}

/* info borrows from session and label. False when it has no usable id. */
static bool parse_info(const cJSON *session, char label[LABEL + 1],
		       struct sandbox_info *info)
{
	const char *name = json_string(session, "name", "");
	int64_t lifetime = json_int(session, "sessionTimeoutSeconds", 0);
	size_t len = label_length(name);

	snprintf(label, LABEL + 1, "%.*s", (int)len, name);
	*info = (struct sandbox_info){
		.id = json_string(session, "sessionId", ""),
		.label = label,
		.owner = len && name[len] ? name + len + 1 : "",
		.image = json_string(session, "codeInterpreterIdentifier", ""),
		.created = json_time(session, "createdAt"),
	};
	if (has_status(session, "READY"))
		info->state = STATE_RUNNING;
	else if (has_status(session, "TERMINATED"))
		info->state = STATE_GONE;
	if (info->state == STATE_RUNNING && info->created && lifetime > 0 &&
	    lifetime <= AGENTCORE_LIFETIME_MAX_S)
		info->ends = info->created + lifetime;
	return agentcore_id_ok(info->id);
}

/* *next: where the page begins, and where the next one does; owned. */
static int get_page(struct sandbox_client *host, char **next, cJSON **page,
		    const struct stop *stop, struct error *err)
{
	struct buf body = BUF_INIT(LIST_BODY_MAX);
	struct agentcore_ask ask = {
		.rest = { .method = "POST",
			  .path = "/sessions/list",
			  .what = "listing the sessions",
			  .flags = REST_AGAIN },
	};
	int rc;

	buf_adds(&body, "{\"maxResults\":100,\"status\":\"READY\"");
	if (*next) {
		buf_addc(&body, ',');
		json_member(&body, "nextToken", str_of(*next));
	}
	buf_addc(&body, '}');
	ask.rest.body = buf_str(&body);
	free(*next);
	*next = NULL;
	rc = agentcore_call(agentcore_of(host), &ask, page, stop, err);
	if (rc == 0 && !cJSON_IsArray(json_get(*page, "items")))
		rc = error_set(err, ERR_PROTOCOL,
			       "unexpected server response: no list");
	if (rc == 0)
		*next = xstrdup(json_string(*page, "nextToken", NULL));
	buf_release(&body);
	return rc;
}

/* The API has no filter by name. */
int agentcore_list(struct sandbox_client *host, const char *owner,
		   const struct info_sink *sink, const struct stop *stop,
		   struct error *err)
{
	struct sandbox_info info;
	char label[LABEL + 1];
	char *next = NULL;
	int rc = 0;

	for (int pages = 0; rc == 0 && (pages == 0 || next); pages++) {
		cJSON *page = NULL;
		const cJSON *item;

		rc = get_page(host, &next, &page, stop, err);
		cJSON_ArrayForEach (item, json_get(page, "items"))
			if (parse_info(item, label, &info) && label[0] &&
			    (!owner || strcmp(info.owner, owner) == 0))
				info_emit(sink, &info);
		cJSON_Delete(page);
		if (rc == 0 && pages == PAGES_MAX)
			rc = error_set(err, ERR_LIMIT, "the list does not end");
	}
	free(next);
	return rc;
}

/* *session is the caller's; NULL when there is none of that id. */
static int get_session(struct sandbox_client *host, const char *id,
		       cJSON **session, const struct stop *stop,
		       struct error *err)
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
	int rc = agentcore_call(agentcore_of(host), &ask, session, stop, &why);

	free(path);
	if (rc < 0 && ask.status == 404)
		return 0;
	if (rc < 0) {
		*err = why;
		return -1;
	}
	got = json_string(*session, "sessionId", "");
	if (strcmp(got, id) == 0)
		return 0;
	error_set(err, ERR_PROTOCOL,
		  "unexpected server response: asked for session %s, got "
		  "%.60s",
		  id, *got ? got : "nothing");
	cJSON_Delete(*session);
	*session = NULL;
	return -1;
}

static int check_id(const char *id, struct error *err)
{
	if (agentcore_id_ok(id))
		return 0;
	return error_set(err, ERR_USAGE, "not a session id: '%.100s'", id);
}

int agentcore_info(struct sandbox_client *host, const char *id,
		   const struct info_sink *sink, const struct stop *stop,
		   struct error *err)
{
	struct sandbox_info info;
	char label[LABEL + 1];
	cJSON *session = NULL;

	if (check_id(id, err) < 0 ||
	    get_session(host, id, &session, stop, err) < 0)
		return -1;
	if (!session)
		return error_set(err, ERR_NOT_FOUND,
				 "the session %s does not exist", id);
	if (parse_info(session, label, &info))
		info_emit(sink, &info);
	cJSON_Delete(session);
	return 0;
}

int agentcore_check_alive(struct sandbox *sb, const struct stop *stop,
			  struct error *err)
{
	cJSON *session = NULL;
	int rc = get_session(sb->host, sb->id, &session, stop, err);

	if (rc == 0 && !has_status(session, "READY"))
		rc = error_set(err, ERR_GONE, "the session %s has ended",
			       sb->id);
	cJSON_Delete(session);
	return rc;
}

/* One clientToken for a label: a repeated request makes no second session. */
static void add_request(struct buf *body, const struct sandbox_spec *spec)
{
	struct buf name = { 0 };
	char token[AGENTCORE_HASH];
	int64_t seconds = spec->lifetime_s;

	if (seconds > AGENTCORE_LIFETIME_MAX_S)
		seconds = AGENTCORE_LIFETIME_MAX_S;
	add_name(&name, spec->label, spec->owner);
	agentcore_token("start", name.ptr, token);
	buf_addc(body, '{');
	json_member(body, "name", buf_str(&name));
	buf_addf(body, ",\"sessionTimeoutSeconds\":%lld,", (long long)seconds);
	json_member(body, "clientToken", str_of(token));
	buf_addc(body, '}');
	buf_release(&name);
}

/* The vendor promises one session for a clientToken; a second one would cost
 * money until its end, so after a repetition they are listed. */
static int start_session(struct sandbox *sb, const struct sandbox_spec *spec,
			 const struct stop *stop, struct error *err)
{
	struct agentcore *a = agentcore_of(sb->host);
	const struct duplicate_query all = { spec->label, agentcore_list,
					     spec->owner };
	bool again = create_log_add(&a->tried, spec->label);
	struct buf body = BUF_INIT(START_BODY_MAX);
	struct agentcore_ask ask = {
		.rest = { .method = "PUT",
			  .path = "/sessions/start",
			  .what = "starting the session",
			  .flags = REST_ONCE },
	};
	struct error ignored = { 0 };
	cJSON *tree = NULL;
	const char *id;
	int rc;

	add_request(&body, spec);
	ask.rest.body = buf_str(&body);
	rc = agentcore_call(a, &ask, &tree, stop, err);
	id = json_string(tree, "sessionId", "");
	if (rc == 0 && !agentcore_id_ok(id))
		rc = error_set(err, ERR_PROTOCOL,
			       "unexpected server response: no session id");
	if (rc == 0)
		sb->id = xstrdup(id);
	if (rc == 0 && (again || ask.tries > 1))
		(void)duplicate_create_resolve(sb->host, &all, &sb->id, stop,
					       &ignored);
	/* Without a key nothing was sent. */
	if (rc < 0 && !ask.tries)
		err->nothing_made = true;
	cJSON_Delete(tree);
	buf_release(&body);
	return rc;
}

/* Makes the directory when it is not the one that is always there. */
static int make_workdir(struct sandbox *sb, const char *dir,
			const struct stop *stop, struct error *err)
{
	struct buf command = BUF_INIT(16 << 10);
	struct buf out = BUF_INIT(4096);
	int rc;

	if (!dir || strcmp(dir, sb->host->provider->workdir) == 0)
		return 0;
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

int agentcore_create(struct sandbox *sb, const struct sandbox_spec *spec,
		     const struct stop *stop, struct error *err)
{
	const char *dir = NULL;
	int rc = settings_directory(sb->host->settings, "agentcore", "workdir",
				    &dir, err);

	if (rc == 0 && spec->lifetime_s <= 0)
		rc = error_set(err, ERR_CONFIG,
			       "the lifetime must be above zero");
	if (rc < 0) {
		err->nothing_made = true;
		return -1;
	}
	agentcore_box(sb);
	if (start_session(sb, spec, stop, err) < 0)
		return -1;
	return make_workdir(sb, dir, stop, err);
}

int agentcore_attach(struct sandbox *sb, const char *id,
		     const struct stop *stop, struct error *err)
{
	cJSON *session = NULL;
	const char *dir = NULL;
	int rc;

	if (check_id(id, err) < 0 ||
	    settings_directory(sb->host->settings, "agentcore", "workdir", &dir,
			       err) < 0)
		return -1;
	agentcore_box(sb);
	rc = get_session(sb->host, id, &session, stop, err);
	if (rc == 0 && !has_status(session, "READY")) {
		rc = error_set(err, ERR_NOT_FOUND, "the session %s %s", id,
			       session ? "has ended" : "does not exist");
		error_hint(err, "A session ends after its lifetime and cannot "
				"be started again.");
	}
	cJSON_Delete(session);
	if (rc < 0)
		return -1;
	sb->id = xstrdup(id);
	return make_workdir(sb, dir, stop, err);
}

/* 0 when it has ended or is unknown, which the API says in several ways; else
 * -1 with why, or with the reason that this cannot be told. */
static int check_ended(struct sandbox_client *host, const char *id,
		       const struct error *why, const struct stop *stop,
		       struct error *err)
{
	cJSON *session = NULL;
	int rc = get_session(host, id, &session, stop, err);

	if (rc == 0 && session && !has_status(session, "TERMINATED")) {
		*err = *why;
		err->code = ERR_BUSY;
		rc = -1;
	}
	cJSON_Delete(session);
	return rc;
}

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
	char *path;
	char *body;
	int rc;

	if (check_id(id, err) < 0)
		return -1;
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
	/* Its state is changing, or it has ended. */
	if (ask.status == 409 || ask.status == 400)
		return check_ended(host, id, &why, stop, err);
	*err = why;
	return -1;
}
