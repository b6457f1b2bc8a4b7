/* life.c - a sandbox's states: started, kept, woken, removed. */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "net/retry.h"
#include "providers/daytona/daytona.h"

enum {
	POLL_MS = 100,
	POLL_MAX_MS = 1000,
	STATE_MS = 180000,  /* in one state on the way to "started" */
	WORK_MS = 1800000,  /* in one where an image is built or moved */
	BUSY_MS = 500,      /* between tries while a state changes */
	REMOVE_MS = 120000, /* until it is gone */
	UNASKED_MAX = 4,    /* looks that see no end coming: about 0.4 s */
	CALL_MS = 90000,    /* the server holds a start for 30 s */
};

int daytona_get(struct daytona *d, const char *id, cJSON **tree, int *status,
		const struct stop *stop, struct error *err)
{
	char *path = xasprintf("/sandbox/%s", id);
	struct rest_ask ask = { .method = "GET",
				.path = path,
				.what = "asking for the sandbox",
				.flags = REST_AGAIN | REST_MISSING_OK };
	int rc = daytona_api(d, &ask, tree, status, stop, err);

	if (rc == 0 && *status == 404) {
		cJSON_Delete(*tree);
		*tree = NULL;
	}
	free(path);
	return rc;
}

/* Is the toolbox as safe as the API was? */
static bool safe(const struct daytona *d, const char *url)
{
	return rest_url_ok(str_of(url)) &&
	       (str_starts(str_of(url), "https://") ||
		!str_starts(str_of(d->api.base), "https://"));
}

/* Servers before toolboxProxyUrl have a path of its own for it. */
static char *ask_url(struct sandbox *sb, const struct stop *stop,
		     struct error *err)
{
	char *path = xasprintf("/sandbox/%s/toolbox-proxy-url", sb->id);
	struct rest_ask ask = { .method = "GET",
				.path = path,
				.what = "asking for the toolbox's address",
				.flags = REST_AGAIN };
	cJSON *tree = NULL;
	char *url = NULL;

	if (daytona_api(daytona_of(sb->host), &ask, &tree, NULL, stop, err) ==
	    0)
		url = xstrdup(json_string(tree, "url", ""));
	cJSON_Delete(tree);
	free(path);
	return url;
}

static struct daytona_box *box_of(struct sandbox *sb)
{
	struct daytona_box *b = sb->priv;

	if (!b) {
		b = xcalloc(1, sizeof(*b));
		pthread_mutex_init(&b->lock, NULL);
		b->base = xstrdup("");
		sb->priv = b;
	}
	return b;
}

/* The toolbox's address, from the answer about a started sandbox: it may
 * differ from region to region. */
static int adopt(struct sandbox *sb, const cJSON *answer,
		 const struct stop *stop, struct error *err)
{
	const char *named = json_string(answer, "toolboxProxyUrl", "");
	char *url = *named ? xstrdup(named) : ask_url(sb, stop, err);
	struct daytona_box *b = box_of(sb);
	struct str base;

	if (!url)
		return -1;
	if (!safe(daytona_of(sb->host), url)) {
		error_set(err, ERR_PROTOCOL,
			  "unexpected server response: %.200s is no address "
			  "that the key may be sent to",
			  url);
		free(url);
		return -1;
	}
	base = str_of(url);
	while (str_ends(base, "/"))
		base.len--;
	pthread_mutex_lock(&b->lock);
	free(b->base);
	b->base = xasprintf("%.*s/%s", (int)base.len, base.ptr, sb->id);
	b->stop_s = json_int(answer, "autoStopInterval", 0) * 60;
	b->active = clock_ms();
	pthread_mutex_unlock(&b->lock);
	free(url);
	return 0;
}

/* 409: its state is changing. */
static int start(struct sandbox *sb, cJSON **answer, const struct stop *stop,
		 struct error *err)
{
	char *path = xasprintf("/sandbox/%s/start", sb->id);
	struct rest_ask ask = { .method = "POST",
				.path = path,
				.what = "starting the sandbox",
				.timeout_ms = CALL_MS,
				.flags = REST_AGAIN };
	struct stop within = stop_within(stop, STATE_MS);
	int rc;

	for (;;) {
		struct error why = { 0 };

		rc = daytona_api(daytona_of(sb->host), &ask, answer, NULL,
				 &within, &why);
		if (rc < 0 && why.http_status == 409 &&
		    retry_sleep(&why, BUSY_MS, &within, &why) == 0) {
			continue;
		}
		if (rc < 0)
			*err = why;
		break;
	}
	free(path);
	return rc;
}

enum next { NEXT_READY, NEXT_WAIT, NEXT_START, NEXT_FAIL, NEXT_GONE };

/* Words that we do not know are states on the way. */
static enum next next_of(const char *state)
{
	static const struct {
		const char *word;
		enum next next;
	} table[] = {
		{ "started", NEXT_READY },  { "stopped", NEXT_START },
		{ "archived", NEXT_START }, { "paused", NEXT_START },
		{ "error", NEXT_FAIL },     { "build_failed", NEXT_FAIL },
		{ "destroyed", NEXT_GONE }, { "destroying", NEXT_GONE },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++)
		if (strcmp(state, table[i].word) == 0)
			return table[i].next;
	return NEXT_WAIT;
}

static bool is_work(const char *state)
{
	static const char *const words[] = { "pending_build",
					     "building_snapshot",
					     "pulling_snapshot", "restoring",
					     "archiving" };

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (strcmp(state, words[i]) == 0)
			return true;
	return false;
}

static int check_id(struct sandbox *sb, const cJSON *answer, const char *want,
		    struct error *err)
{
	const char *id = json_string(answer, "id", "");

	if (!daytona_id_ok(id))
		return error_set(err, ERR_PROTOCOL,
				 "unexpected server response: no sandbox id");
	if (sb->id)
		want = sb->id;
	if (want && strcmp(id, want) != 0)
		return error_set(err, ERR_PROTOCOL,
				 "unexpected server response: asked for "
				 "sandbox %s, got %s",
				 want, id);
	if (!sb->id)
		sb->id = xstrdup(id);
	return 0;
}

struct waiting {
	char state[40]; /* the last one seen */
	int64_t until;  /* it may last */
	int64_t pause;  /* ms */
	bool started;   /* a start was asked for */
};

static void note_state(struct waiting *w, const char *state,
		       const struct sandbox_spec *spec)
{
	char line[96];

	if (strcmp(w->state, state) == 0)
		return;
	snprintf(w->state, sizeof(w->state), "%s", state);
	w->until = clock_ms() + (is_work(state) ? WORK_MS : STATE_MS);
	if (!spec || !spec->progress || strcmp(state, "started") == 0)
		return;
	snprintf(line, sizeof(line), "the sandbox is %s", w->state);
	spec->progress(spec->arg, line);
}

/* Another answer about the sandbox, after a pause. */
static int look_again(struct sandbox *sb, struct waiting *w, cJSON **answer,
		      const struct stop *stop, struct error *err)
{
	int status = 0;

	if (clock_ms() > w->until)
		return error_set(err, ERR_TIMEOUT,
				 "the sandbox does not start: it stays \"%s\"",
				 w->state);
	if (stop_sleep(stop, w->pause, err) < 0)
		return -1;
	if (w->pause < POLL_MAX_MS)
		w->pause += w->pause / 4;
	if (daytona_get(daytona_of(sb->host), sb->id, answer, &status, stop,
			err) < 0)
		return -1;
	if (status == 404)
		return error_set(err, ERR_GONE, "the sandbox %s has ended",
				 sb->id);
	return 0;
}

static int failed(const cJSON *answer, struct error *err)
{
	const char *reason = json_string(answer, "errorReason", "");

	return error_set(err, ERR_REMOTE, "the sandbox failed to start: %.300s",
			 *reason ? reason : json_string(answer, "state", ""));
}

int daytona_ready(struct sandbox *sb, cJSON *answer, const char *want,
		  const struct sandbox_spec *spec, const struct stop *stop,
		  struct error *err)
{
	struct waiting w = { .pause = POLL_MS };
	int rc;

	for (;;) {
		enum next next;

		rc = check_id(sb, answer, want, err);
		if (rc < 0)
			break;
		note_state(&w, json_string(answer, "state", "unknown"), spec);
		next = next_of(w.state);
		if (next == NEXT_READY)
			rc = adopt(sb, answer, stop, err);
		else if (next == NEXT_FAIL)
			rc = failed(answer, err);
		else if (next == NEXT_GONE)
			rc = error_set(err, ERR_GONE,
				       "the sandbox %s has ended", sb->id);
		if (rc < 0 || next == NEXT_READY)
			break;
		cJSON_Delete(answer);
		answer = NULL;
		if (next == NEXT_START && !w.started) {
			w.started = true;
			rc = start(sb, &answer, stop, err);
		} else {
			rc = look_again(sb, &w, &answer, stop, err);
		}
		if (rc < 0)
			break;
	}
	cJSON_Delete(answer);
	return rc;
}

/* As all ids are, and the names of those that were given none. */
static bool is_uuid(const char *id)
{
	return strlen(id) == 36 && strspn(id, "0123456789abcdefABCDEF-") == 36;
}

int daytona_attach(struct sandbox *sb, const char *id, const struct stop *stop,
		   struct error *err)
{
	const char *dir = NULL;
	cJSON *answer = NULL;
	int status = 0;

	if (!daytona_id_ok(id))
		return error_set(err, ERR_USAGE, "'%.100s' is no sandbox id",
				 id);
	if (settings_string(sb->host->settings, "daytona", "workdir", &dir,
			    err) < 0 ||
	    daytona_get(daytona_of(sb->host), id, &answer, &status, stop, err) <
		    0)
		return -1;
	if (status == 404)
		return error_set(err, ERR_NOT_FOUND, "no sandbox %s", id);
	/* The server takes a name too; then the id differs. */
	if (!is_uuid(id) && strcmp(json_string(answer, "name", ""), id) == 0)
		id = NULL;
	if (daytona_ready(sb, answer, id, NULL, stop, err) < 0)
		return -1;
	if (dir && !sb->workdir)
		sb->workdir = xstrdup(dir);
	return 0;
}

int daytona_extend(struct sandbox *sb, int64_t lifetime_s,
		   const struct stop *stop, struct error *err)
{
	struct daytona_box *b = box_of(sb);
	long long minutes = (lifetime_s + 59) / 60;
	char *path = xasprintf("/sandbox/%s/autostop/%lld", sb->id, minutes);
	struct rest_ask ask = { .method = "POST",
				.path = path,
				.what = "extending the sandbox's life",
				.flags = REST_AGAIN };
	bool known;
	int rc = 0;

	pthread_mutex_lock(&b->lock);
	known = b->stop_s == minutes * 60;
	pthread_mutex_unlock(&b->lock);
	if (!known)
		rc = daytona_api(daytona_of(sb->host), &ask, NULL, NULL, stop,
				 err);
	if (rc == 0) {
		pthread_mutex_lock(&b->lock);
		b->stop_s = minutes * 60;
		b->active = INT64_MIN / 2;
		pthread_mutex_unlock(&b->lock);
		daytona_keep(sb, stop);
	} else if (err->code == ERR_NOT_FOUND) {
		err->code = ERR_GONE;
	}
	free(path);
	return rc;
}

int daytona_revive(struct sandbox *sb, const struct stop *stop,
		   struct error *err)
{
	cJSON *answer = NULL;
	int status = 0;

	if (daytona_get(daytona_of(sb->host), sb->id, &answer, &status, stop,
			err) < 0)
		return -1;
	if (status == 404)
		return error_set(err, ERR_GONE, "the sandbox %s has ended",
				 sb->id);
	return daytona_ready(sb, answer, NULL, NULL, stop, err);
}

enum end { END_GONE, END_COMING, END_UNASKED };

/* How far its end is; -1. */
static int look_at_end(struct daytona *d, const char *id,
		       const struct stop *stop, struct error *err)
{
	cJSON *answer = NULL;
	int status = 0;
	const char *state;
	int end = END_UNASKED;

	if (daytona_get(d, id, &answer, &status, stop, err) < 0)
		return -1;
	state = json_string(answer, "state", "");
	if (status == 404 || strcmp(state, "destroyed") == 0)
		end = END_GONE;
	else if (strcmp(state, "destroying") == 0)
		end = END_COMING;
	cJSON_Delete(answer);
	return end;
}

/* Until it is gone. ERR_BUSY: nothing happens, so the request has to be sent
 * again (an answer of 200 may come from a proxy). */
static int await_end(struct daytona *d, const char *id, const struct stop *stop,
		     struct error *err)
{
	struct stop within = stop_within(stop, REMOVE_MS);
	int64_t pause = POLL_MS;
	int unasked = 0;

	for (;;) {
		int end = look_at_end(d, id, &within, err);

		if (end < 0 || end == END_GONE)
			return end < 0 ? -1 : 0;
		if (end == END_UNASKED && ++unasked == UNASKED_MAX)
			return error_set(err, ERR_BUSY,
					 "the sandbox %s is not being deleted",
					 id);
		if (stop_sleep(&within, pause, err) < 0)
			return -1;
		if (pause < POLL_MAX_MS)
			pause += pause / 4;
	}
}

/* 409: its state is changing, maybe by an earlier request of ours. */
int daytona_remove(struct sandbox_client *host, const char *id,
		   const struct stop *stop, struct error *err)
{
	struct daytona *d = daytona_of(host);
	struct rest_ask ask = { .method = "DELETE",
				.what = "deleting the sandbox",
				.flags = REST_MISSING_OK };
	struct error why = { 0 };
	char *path;
	int status = 0;
	int rc;

	if (!daytona_id_ok(id))
		return error_set(err, ERR_USAGE, "'%.100s' is no sandbox id",
				 id);
	path = xasprintf("/sandbox/%s", id);
	ask.path = path;
	rc = daytona_api(d, &ask, NULL, &status, stop, &why);
	free(path);
	if (rc == 0 && status == 404)
		return 1;
	if (rc == 0 || why.http_status == 409)
		return await_end(d, id, stop, err);
	*err = why;
	return -1;
}
