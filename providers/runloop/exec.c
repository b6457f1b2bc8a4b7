/* exec.c - commands as supervised jobs over Runloop's executions. */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "net/events.h"
#include "providers/runloop/runloop.h"

enum {
	BODY_MAX = 1 << 20,
	LAST_LINES = 50000, /* of an answer's output; the API's own is 100 */
	HOLD_MAX_S = 25,    /* the API holds a request no longer */
	SPARE_S = 2,        /* for the shell to start */
	SLACK_MS = 8000,
	STREAM_MS = 60000, /* of all output, TRIES times */
	TRIES = 4,
};

static void add_body(struct buf *body, const char *command_id,
		     struct str command, int hold_s)
{
	buf_addc(body, '{');
	json_member(body, "command_id", str_of(command_id));
	buf_addc(body, ',');
	json_member(body, "command", command);
	buf_addf(body, ",\"optimistic_timeout\":%d}", hold_s);
}

/* Waits on for an execution that was still running. */
static int await(struct sandbox *sb, const char *execution, cJSON **tree,
		 const struct stop *stop, struct error *err)
{
	char *path = xasprintf("/v1/devboxes/%s/executions/%s/wait_for_status"
			       "?last_n=%d",
			       sb->id, execution, LAST_LINES);
	int left = stop_poll_ms(stop, HOLD_MAX_S * 1000) / 1000;
	char *body = xasprintf("{\"statuses\":[\"completed\"],"
			       "\"timeout_seconds\":%d}",
			       left > 0 ? left : 1);
	struct rest_ask ask = { .method = "POST",
				.path = path,
				.body = str_of(body),
				.what = "waiting for the command",
				.timeout_ms = HOLD_MAX_S * 1000 + SLACK_MS };
	int rc = vendor_api(sb->client->priv, &ask, tree, stop, err);

	free(body);
	free(path);
	return rc;
}

static bool completed(const cJSON *tree)
{
	return strcmp(json_string(tree, "status", ""), "completed") == 0;
}

static int until_completed(struct sandbox *sb, cJSON **tree,
			   const struct stop *stop, struct error *err)
{
	char execution[VENDOR_ID_MAX + 1] = "";
	int rc = 0;

	while (rc == 0 && !completed(*tree)) {
		struct error why = { 0 };
		const char *id = json_string(*tree, "execution_id", NULL);

		if (stop_check(stop, err) < 0)
			return -1;
		/* An empty answer names none, nor has one before it. */
		if (*tree ? !id || !vendor_id_ok(id) : !execution[0])
			return error_set(err, ERR_PROTOCOL,
					 "unexpected server response: no "
					 "execution");
		if (id)
			snprintf(execution, sizeof(execution), "%s", id);
		cJSON_Delete(*tree);
		*tree = NULL;
		rc = await(sb, execution, tree, stop, &why);
		if (rc < 0 && why.http_status == 408)
			rc = 0;
		else if (rc < 0)
			*err = why;
		else if (!*tree)
			rc = error_set(err, ERR_PROTOCOL,
				       "unexpected server response: (empty)");
	}
	return rc;
}

/* All that an ended execution wrote to its standard output, from its event
 * stream: the other answers give only the last lines of it. */
struct stream {
	struct sse sse;
	struct buf *out;
	size_t start; /* of this stream in out */
};

/* {"offset":N,"output":"..."}: what we have already is left out. */
static int on_event(void *arg, struct str event, struct str data,
		    struct error *err)
{
	struct stream *s = arg;
	cJSON *tree = json_parse(data);
	struct str text = str_of(json_string(tree, "output", ""));
	int64_t have = (int64_t)(s->out->len - s->start);
	int64_t at = json_int(tree, "offset", have);
	int rc = 0;

	if (str_is(event, "error")) {
		/* 408: it was silent for too long. */
		rc = error_set(err,
			       json_int(tree, "code", 0) == 408 ? ERR_NETWORK
								: ERR_REMOTE,
			       "%.200s",
			       json_string(tree, "message", "(no message)"));
	} else if (!tree || at < 0 || at > have) {
		rc = error_set(err, ERR_PROTOCOL,
			       "unexpected server response: a part of the "
			       "output is missing");
	} else if (at + (int64_t)text.len > have) {
		buf_addstr(s->out, str_skip(text, (size_t)(have - at)));
		rc = buf_check(s->out, "the answer", err);
	}
	cJSON_Delete(tree);
	return rc;
}

static int on_data(void *arg, struct str chunk, struct error *err)
{
	struct stream *s = arg;

	return sse_feed(&s->sse, chunk, on_event, s, err);
}

static int read_once(struct sandbox *sb, const char *execution,
		     struct stream *s, const struct stop *stop,
		     struct error *err)
{
	static const char *const headers[] = { "Accept: text/event-stream",
					       NULL };
	char *path = xasprintf("/v1/devboxes/%s/executions/%s/"
			       "stream_stdout_updates?offset=%zu",
			       sb->id, execution, s->out->len - s->start);
	struct rest_ask ask = { .method = "GET",
				.path = path,
				.what = "reading the output",
				.timeout_ms = STREAM_MS,
				.data = on_data,
				.arg = s,
				.headers = headers };
	int rc;

	sse_init(&s->sse);
	rc = vendor_api(sb->client->priv, &ask, NULL, stop, err);
	sse_release(&s->sse);
	free(path);
	return rc;
}

static int read_output(struct sandbox *sb, const char *execution,
		       struct buf *out, const struct stop *stop,
		       struct error *err)
{
	struct stream s = { .out = out, .start = out->len };

	for (int i = 1;; i++) {
		struct error why = { 0 };

		if (read_once(sb, execution, &s, stop, &why) == 0)
			return 0;
		if (why.code != ERR_NETWORK || i == TRIES) {
			*err = why;
			return -1;
		}
		if (stop_check(stop, err) < 0)
			return -1;
	}
}

static int take_output(struct sandbox *sb, const cJSON *tree, struct buf *out,
		       const struct stop *stop, struct error *err)
{
	const char *execution = json_string(tree, "execution_id", "");

	if (strcmp(json_string(tree, "devbox_id", sb->id), sb->id) != 0)
		return error_set(err, ERR_PROTOCOL,
				 "unexpected server response: belongs to "
				 "another devbox");
	if (json_bool(tree, "stdout_truncated", false)) {
		if (!vendor_id_ok(execution))
			return error_set(err, ERR_PROTOCOL,
					 "unexpected server response: no "
					 "execution");
		return read_output(sb, execution, out, stop, err);
	}
	buf_adds(out, json_string(tree, "stdout", ""));
	return buf_check(out, "the answer", err);
}

/* struct supervisor.call: one execution, its output at the end. */
int runloop_call(void *arg, struct str command, int64_t wait_ms,
		 struct buf *out, const struct stop *stop, struct error *err)
{
	struct sandbox *sb = arg;
	int64_t hold = (wait_ms + 999) / 1000 + SPARE_S;
	int hold_s = hold < HOLD_MAX_S ? (int)hold : HOLD_MAX_S;
	char request[VENDOR_HEADER];
	const char *const headers[] = { request, NULL };
	struct buf body = BUF_INIT(BODY_MAX);
	char *path = xasprintf("/v1/devboxes/%s/execute?last_n=%d", sb->id,
			       LAST_LINES);
	struct rest_ask ask = { .method = "POST",
				.path = path,
				.what = "running the command",
				.timeout_ms = hold_s * 1000 + SLACK_MS,
				.headers = headers };
	cJSON *tree = NULL;
	int rc;

	runloop_request_id(request);
	add_body(&body, request + strlen("x-request-id: "), command, hold_s);
	ask.body = buf_str(&body);
	rc = buf_check(&body, "the command", err);
	if (rc == 0)
		rc = vendor_api(sb->client->priv, &ask, &tree, stop, err);
	if (rc == 0)
		rc = until_completed(sb, &tree, stop, err);
	if (rc == 0)
		rc = take_output(sb, tree, out, stop, err);
	else
		rc = vendor_exec_failed(sb, err->http_status, false, stop, err);
	cJSON_Delete(tree);
	buf_release(&body);
	free(path);
	return rc;
}
