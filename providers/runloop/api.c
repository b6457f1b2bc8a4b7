/* api.c - requests to Runloop's API, and a devbox's way to running. */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/ids.h"
#include "base/mem.h"
#include "base/str.h"
#include "net/retry.h"
#include "providers/runloop/runloop.h"

enum {
	HOLD_S = 30, /* the longest that the API holds wait_for_status */
	SLACK_MS = 10000,
	READY_MS = 600000,
	PAUSE_MS = 500, /* after a failure, and between two looks */
	FAILURES_MAX = 20,
};

struct runloop *runloop_of(const struct sandbox_client *host)
{
	return host->priv;
}

bool runloop_id_ok(const char *id)
{
	size_t len = strlen(id);

	return len && len <= RUNLOOP_ID_MAX &&
	       strspn(id, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
			  "0123456789-_") == len;
}

static int parse(const struct rest_ask *ask, const struct http_response *res,
		 cJSON **tree, struct error *err)
{
	if (!str_trim(buf_str(&res->body)).len)
		return 0;
	*tree = json_parse(buf_str(&res->body));
	if (*tree)
		return 0;
	error_set(err, ERR_PROTOCOL, "%s: the answer is no JSON", ask->what);
	err->http_status = res->status;
	return -1;
}

int runloop_api(struct runloop *r, const struct rest_ask *ask, cJSON **tree,
		int *status, const struct stop *stop, struct error *err)
{
	char header[64] = "x-request-id: ";
	const char *const id[] = { header, NULL };
	struct http_response res = { 0 };
	struct rest_ask own = *ask;
	cJSON *answer = NULL;
	int rc;

	ids_uuid7(header + strlen(header));
	if (!own.headers && strcmp(own.method, "GET") != 0)
		own.headers = id;
	rc = rest_call(&r->api, &own, &res, stop, err);
	if (status)
		*status = res.status;
	if (rc == 0)
		rc = parse(ask, &res, &answer, err);
	if (rc < 0 && err->code == ERR_AUTH && !err->hint[0])
		error_hint(err, "Is RUNLOOP_API_KEY a key of this account? See "
				"https://platform.runloop.ai (Settings, API "
				"Keys)");
	http_response_release(&res);
	if (tree)
		*tree = answer;
	else
		cJSON_Delete(answer);
	return rc;
}

/* Takes the status out of an answer that must be about id. */
static int take_status(const cJSON *tree, const char *id,
		       char status[RUNLOOP_STATUS], struct error *err)
{
	const char *got = json_string(tree, "id", "nothing");
	const char *word = json_string(tree, "status", "");

	if (strcmp(got, id) != 0)
		return error_set(err, ERR_PROTOCOL,
				 "unexpected server response: asked for "
				 "devbox %s, got %.100s",
				 id, got);
	if (!*word || strlen(word) >= RUNLOOP_STATUS)
		return error_set(err, ERR_PROTOCOL,
				 "unexpected server response: no status");
	snprintf(status, RUNLOOP_STATUS, "%s", word);
	return 0;
}

int runloop_status(struct runloop *r, const char *id,
		   char status[RUNLOOP_STATUS], const struct stop *stop,
		   struct error *err)
{
	char *path = xasprintf("/v1/devboxes/%s", id);
	struct rest_ask ask = { .method = "GET",
				.path = path,
				.what = "asking for the devbox",
				.flags = REST_AGAIN | REST_MISSING_OK };
	cJSON *tree = NULL;
	int code = 0;
	int rc = runloop_api(r, &ask, &tree, &code, stop, err);

	status[0] = '\0';
	if (rc == 0 && code != 404)
		rc = take_status(tree, id, status, err);
	cJSON_Delete(tree);
	free(path);
	return rc;
}

/* One that changes its status. */
struct changing {
	struct runloop *r;
	const char *id;
	char *status; /* RUNLOOP_STATUS bytes: the last one known */
	const struct runloop_progress *progress; /* or NULL */
};

/* One long poll: 1 with the new status, 0 when it is still another. */
static int poll_once(const struct changing *c, const char *wanted,
		     const struct stop *stop, struct error *err)
{
	int left = stop_poll_ms(stop, HOLD_S * 1000) / 1000;
	int hold = left > 0 ? left : 1;
	char *path = xasprintf("/v1/devboxes/%s/wait_for_status", c->id);
	char *body = xasprintf("{\"statuses\":[%s],\"timeout_seconds\":%d}",
			       wanted, hold);
	struct rest_ask ask = { .method = "POST",
				.path = path,
				.body = str_of(body),
				.what = "waiting for the devbox",
				.timeout_ms = hold * 1000 + SLACK_MS };
	cJSON *tree = NULL;
	struct error why = { 0 };
	int code = 0;
	int rc = runloop_api(c->r, &ask, &tree, &code, stop, &why);

	if (rc == 0)
		rc = take_status(tree, c->id, c->status, err) < 0 ? -1 : 1;
	else if (code == 408)
		rc = 0;
	else
		*err = why;
	cJSON_Delete(tree);
	free(body);
	free(path);
	return rc;
}

static void tell(const struct runloop_progress *p, const char *status,
		 int64_t began)
{
	char line[96];

	if (!p || !p->line)
		return;
	snprintf(line, sizeof(line), "the devbox is %s (%lld s)", status,
		 (long long)((clock_ms() - began) / 1000));
	p->line(p->arg, line);
}

/* Until the status is one of the wanted. */
static int await(const struct changing *c, const char *wanted,
		 const struct stop *stop, struct error *err)
{
	int64_t began = clock_ms();
	int failures = 0;

	for (;;) {
		struct error why = { 0 };
		int rc = poll_once(c, wanted, stop, &why);

		if (rc > 0)
			return 0;
		if (stop_check(stop, err) < 0)
			return -1;
		if (rc < 0 &&
		    (!retry_is_transient(&why) || ++failures > FAILURES_MAX)) {
			*err = why;
			return -1;
		}
		if (rc < 0 && retry_sleep(&why, PAUSE_MS, stop, err) < 0)
			return -1;
		tell(c->progress, c->status, began);
	}
}

/* 400: it is not suspended any more, as the next look will tell. */
static int resume(struct runloop *r, const char *id, const struct stop *stop,
		  struct error *err)
{
	char *path = xasprintf("/v1/devboxes/%s/resume", id);
	struct rest_ask ask = { .method = "POST",
				.path = path,
				.type = "application/json",
				.what = "resuming the devbox",
				.flags = REST_AGAIN };
	struct error why = { 0 };
	int code = 0;
	int rc = runloop_api(r, &ask, NULL, &code, stop, &why);

	free(path);
	if (rc == 0 || code == 400 || code == 409)
		return stop_sleep(stop, rc == 0 ? 0 : PAUSE_MS, err);
	*err = why;
	return -1;
}

static bool ended(const char *status)
{
	return !*status || !strcmp(status, "failure") ||
	       !strcmp(status, "shutdown");
}

static int bring(const struct changing *c, const struct stop *stop,
		 struct error *err)
{
	static const char ready[] = "\"running\",\"failure\",\"shutdown\"";
	static const char asleep[] = "\"suspended\",\"failure\",\"shutdown\"";
	char *now = c->status;
	int rc;

	while (strcmp(now, "running") != 0) {
		if (ended(now))
			return error_set(err, ERR_GONE,
					 "the devbox %s has ended (%s)", c->id,
					 *now ? now : "it is not known");
		if (strcmp(now, "suspending") == 0) {
			rc = await(c, asleep, stop, err);
		} else if (strcmp(now, "suspended") == 0) {
			rc = resume(c->r, c->id, stop, err);
			if (rc == 0)
				rc = runloop_status(c->r, c->id, now, stop,
						    err);
		} else {
			rc = await(c, ready, stop, err);
		}
		if (rc < 0)
			return -1;
	}
	return 0;
}

int runloop_run(struct runloop *r, const char *id,
		const char status[RUNLOOP_STATUS],
		const struct runloop_progress *progress,
		const struct stop *stop, struct error *err)
{
	struct stop within = stop_within(stop, READY_MS);
	char now[RUNLOOP_STATUS];
	struct changing c = { r, id, now, progress };
	int rc;

	snprintf(now, sizeof(now), "%s", status);
	rc = bring(&c, &within, err);
	if (rc < 0 && err->code == ERR_TIMEOUT && clock_ms() < stop->deadline)
		error_set(err, ERR_TIMEOUT,
			  "the devbox %s is %s, not running, after %d s", id,
			  now, READY_MS / 1000);
	return rc;
}

int runloop_revive(struct sandbox *sb, const struct stop *stop,
		   struct error *err)
{
	struct runloop *r = runloop_of(sb->host);
	char status[RUNLOOP_STATUS];

	if (runloop_status(r, sb->id, status, stop, err) < 0)
		return -1;
	return runloop_run(r, sb->id, status, NULL, stop, err);
}

static int shut_down(struct runloop *r, const char *id, int *code,
		     char status[RUNLOOP_STATUS], const struct stop *stop,
		     struct error *err)
{
	cJSON *tree = NULL;
	char *path = xasprintf("/v1/devboxes/%s/shutdown", id);
	struct rest_ask ask = { .method = "POST",
				.path = path,
				.what = "shutting down the devbox",
				.flags = REST_MISSING_OK };
	int rc = runloop_api(r, &ask, &tree, code, stop, err);

	status[0] = '\0';
	if (rc == 0 && *code != 404)
		rc = take_status(tree, id, status, err);
	cJSON_Delete(tree);
	free(path);
	return rc;
}

/* Refused while a snapshot is made (409), or when it has ended already (400):
 * its status tells. */
int runloop_remove(struct sandbox_client *host, const char *id,
		   const struct stop *stop, struct error *err)
{
	struct runloop *r = runloop_of(host);
	char status[RUNLOOP_STATUS];
	struct error why = { 0 };
	int code = 0;

	if (!runloop_id_ok(id))
		return error_set(err, ERR_USAGE, "'%.100s' is no devbox id",
				 id);
	if (shut_down(r, id, &code, status, stop, &why) == 0) {
		if (code == 404)
			return 1;
		if (ended(status))
			return 0;
		return error_set(err, ERR_BUSY,
				 "the devbox %s is %s, not shut down", id,
				 status);
	}
	if ((code == 400 || code == 409) &&
	    runloop_status(r, id, status, stop, err) < 0)
		return -1;
	if ((code == 400 || code == 409) && ended(status))
		return 0;
	*err = why;
	if (code == 409)
		err->code = ERR_BUSY;
	return -1;
}
