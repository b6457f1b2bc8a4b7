/* shell.c - shells in Daytona's sandboxes. */
/* SPDX-License-Identifier: MIT */
/*
 * A shell is a session of the toolbox, which runs the user's own shell (bash,
 * if there is one) in a terminal, and stays when the WebSocket is cut. Source:
 * Process and PtyHandle of the JavaScript SDK 0.218.0, read 2026-11-28. Begin
 * reading at run_shell().
 */
#include "sandbox/shell.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/ids.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "net/ws.h"
#include "providers/daytona/daytona.h"
#include "providers/kit/rest.h"
#include "providers/kit/vendor.h"

enum {
	SHELL_NAME = 16,
	SHELL_BODY_MAX = 64 << 10,
	SHELL_MESSAGE_MAX = 4 << 20,
	SHELL_OPEN_MS = 15000,
	SHELL_PING_MS = 20000,
	SHELL_END_MS = 5000,
};

/* Asks for the message with the exit status. */
#define SHELL_PROTOCOL "X-Daytona-Pty-Exit-Control"

struct daytona_shell {
	struct sandbox *sb;
	const struct exec_request *req;
	char *path;               /* owned: of the session */
	struct cancel_chain wake; /* triggered by keys; outer: link->over */
	pthread_mutex_t lock;
	/* guarded by lock: */
	bool wakes;      /* wake is initialised */
	struct buf keys; /* not yet sent */
	/* of run_shell()'s thread: */
	bool exited;
	int exit_code;
};

/* A request about the session. */
static int ask_shell(const struct daytona_shell *s, const char *method,
		     const char *more, cJSON *body, const struct stop *stop,
		     struct error *err)
{
	struct buf json = BUF_INIT(SHELL_BODY_MAX);
	char *path = xasprintf("%s%s", s->path, more);
	struct http_request ask = { .method = method,
				    .path = path,
				    .what = "using the shell" };
	cJSON *ignored = NULL;
	int rc;

	if (body)
		json_print(&json, body);
	ask.body = buf_str(&json);
	rc = rest_json(vendor_server(s->sb), &ask, &ignored, NULL, stop, err);
	cJSON_Delete(ignored);
	cJSON_Delete(body);
	buf_release(&json);
	free(path);
	return rc;
}

static cJSON *size_object(const struct exec_terminal *size)
{
	cJSON *object = cJSON_CreateObject();

	cJSON_AddNumberToObject(object, "cols", size->columns);
	cJSON_AddNumberToObject(object, "rows", size->rows);
	return object;
}

static int create_shell(const struct daytona_shell *s,
			const struct exec_terminal *size,
			const struct stop *stop, struct error *err)
{
	cJSON *body = size_object(size);
	cJSON *envs = cJSON_AddObjectToObject(body, "envs");
	struct buf json = BUF_INIT(SHELL_BODY_MAX);
	struct http_request ask = { .method = "POST",
				    .path = "/process/pty",
				    .what = "making a terminal" };
	cJSON *ignored = NULL;
	int rc;

	cJSON_AddStringToObject(body, "id", strrchr(s->path, '/') + 1);
	cJSON_AddStringToObject(body, "cwd", s->sb->workdir);
	for (const char *const *e = s->req->env; e && *e; e++) {
		size_t len = str_find(str_of(*e), '=');
		char *name = xstrndup(*e, len);

		cJSON_AddStringToObject(envs, name, *e + len + 1);
		free(name);
	}
	json_print(&json, body);
	ask.body = buf_str(&json);
	rc = rest_json(vendor_server(s->sb), &ask, &ignored, NULL, stop, err);
	cJSON_Delete(ignored);
	cJSON_Delete(body);
	buf_release(&json);
	return rc;
}

/* Implements shell_way.send. */
static int send_keys(void *arg, struct str keys, const struct stop *stop,
		     struct error *err)
{
	struct daytona_shell *s = arg;
	int rc = -1;

	vendor_touch(s->sb, stop);
	pthread_mutex_lock(&s->lock);
	if (s->keys.len + keys.len <= s->keys.max) {
		buf_addstr(&s->keys, keys);
		if (s->wakes)
			cancel_trigger(&s->wake.cancel);
		rc = 0;
	}
	pthread_mutex_unlock(&s->lock);
	return rc == 0 ? 0
		       : error_set(err, ERR_LIMIT,
				   "the connection is too slow for the keys");
}

/* Implements shell_way.resize. */
static int resize_shell(void *arg, const struct exec_terminal *size,
			const struct stop *stop, struct error *err)
{
	return ask_shell(arg, "POST", "/resize", size_object(size), stop, err);
}

/* Sends what send_keys() has queued. After a failure it stays in the queue, for
 * the next connection. */
static int flush_keys(struct daytona_shell *s, struct ws *ws,
		      const struct stop *stop, struct error *err)
{
	const struct cancel queued = { { s->wake.own, -1 } };
	struct buf keys = BUF_INIT(SHELL_BODY_MAX);
	int rc = 0;

	pthread_mutex_lock(&s->lock);
	cancel_reset(&queued);
	buf_addstr(&keys, buf_str(&s->keys));
	pthread_mutex_unlock(&s->lock);
	if (keys.len)
		rc = ws_send(ws, WS_BINARY, buf_str(&keys), stop, err);
	if (rc == 0) {
		pthread_mutex_lock(&s->lock);
		buf_consume(&s->keys, keys.len);
		pthread_mutex_unlock(&s->lock);
	}
	buf_release(&keys);
	return rc;
}

/* Reads {"type":"control","status":"exited","exitCode":3}. False: the message
 * is output. */
static bool read_control(struct daytona_shell *s, struct str text)
{
	cJSON *tree = str_starts(text, "{") ? json_parse(text) : NULL;
	bool is_control =
		str_is(str_of(json_string(tree, "type", "")), "control");

	if (is_control &&
	    str_is(str_of(json_string(tree, "status", "")), "exited")) {
		s->exited = true;
		s->exit_code = (int)json_int(tree, "exitCode", -1);
	}
	cJSON_Delete(tree);
	return is_control;
}

/* Copies keys and output until the shell or the connection ends. */
static int follow_shell(struct daytona_shell *s, struct ws *ws,
			struct shell_link *link, struct shell_retry *retry,
			struct error *err)
{
	struct stop over = stop_on(&link->over);
	struct stop wake = stop_on(&s->wake.cancel);
	struct buf message = BUF_INIT(SHELL_MESSAGE_MAX);
	int rc = 0;

	while (rc == 0 && !s->exited) {
		enum ws_kind kind;

		rc = flush_keys(s, ws, &over, err);
		if (rc < 0)
			break;
		rc = ws_receive(ws, &message, &kind, &wake, err);
		if (rc == 0) {
			rc = error_set(err, ERR_NETWORK,
				       "the terminal was closed");
			break;
		}
		if (rc < 0 && err->code == ERR_CANCELLED)
			rc = stop_check(&over, err);
		else if (rc > 0) {
			rc = 0;
			if (kind == WS_TEXT &&
			    read_control(s, buf_str(&message)))
				continue;
			retry->since = 0;
			rc = shell_print(link, buf_str(&message), err);
		}
	}
	buf_release(&message);
	return rc;
}

/* Connects to the session once. */
static int connect_shell(struct daytona_shell *s, struct shell_link *link,
			 struct shell_retry *retry, struct error *err)
{
	const struct rest *toolbox = vendor_server(s->sb);
	struct http_response answer = { .retry_after_ms = -1 };
	char *url = xasprintf("%s%s/connect", toolbox->base, s->path);
	const struct ws_request ask = {
		.url = url,
		.headers = (const char *const *)toolbox->headers,
		.protocols = SHELL_PROTOCOL,
		.message_max = SHELL_MESSAGE_MAX,
		.open_ms = SHELL_OPEN_MS,
		.ping_ms = SHELL_PING_MS,
		.answer = &answer
	};
	struct stop stop = stop_on(&link->over);
	struct ws *ws = NULL;
	int rc = ws_open(&ws, s->sb->client->http, &ask, &stop, err);

	if (rc < 0 && answer.status == 404)
		error_set(err, ERR_GONE,
			  "the shell ended while the connection was lost");
	if (rc == 0) {
		retry->connected = clock_ms();
		rc = follow_shell(s, ws, link, retry, err);
	}
	ws_free(ws);
	http_response_release(&answer);
	free(url);
	return rc;
}

/* Implements shell_way.run. */
static int run_shell(void *arg, struct shell_link *link,
		     const struct exec_terminal *size, struct exec_result *res,
		     struct error *err)
{
	struct daytona_shell *s = arg;
	struct shell_retry retry = { 0 };
	struct stop stop = stop_on(&link->over);
	struct stop ends;
	struct error ignored = { 0 };
	int rc;

	if (cancel_chain_init(&s->wake, &link->over, err) < 0)
		return -1;
	pthread_mutex_lock(&s->lock);
	s->wakes = true;
	pthread_mutex_unlock(&s->lock);
	rc = create_shell(s, size, &stop, err);
	if (rc == 0) {
		do {
			rc = connect_shell(s, link, &retry, err);
		} while (rc < 0 && shell_retry(&retry, link, err));
	}
	res->exit_code = s->exit_code;
	if (rc < 0) { /* it may also exist if only the answer was lost */
		ends = stop_cleanup(SHELL_END_MS);
		(void)ask_shell(s, "DELETE", "", NULL, &ends, &ignored);
	}
	return rc;
}

int daytona_shell(struct sandbox *sb, const struct exec_request *req,
		  struct exec_result *res, const struct stop *stop,
		  struct error *err)
{
	char name[SHELL_NAME + 1];
	struct daytona_shell s = { .sb = sb,
				   .req = req,
				   .lock = PTHREAD_MUTEX_INITIALIZER,
				   .keys = BUF_INIT(SHELL_BODY_MAX),
				   .exit_code = -1 };
	const struct shell_way way = { .run = run_shell,
				       .send = send_keys,
				       .resize = resize_shell,
				       .arg = &s };
	int rc;

	ids_random(name, SHELL_NAME);
	s.path = xasprintf("/process/pty/dcode-%s", name);
	rc = shell_run_way(&way, req, res, stop, err);
	if (s.wakes)
		cancel_chain_release(&s.wake);
	pthread_mutex_destroy(&s.lock);
	buf_release(&s.keys);
	free(s.path);
	return rc;
}
