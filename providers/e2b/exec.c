/* exec.c - commands and shells in E2B's sandboxes. */
/* SPDX-License-Identifier: MIT */
/* Each is one process of envd, whose output is a stream of events. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "base/ids.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/sanitize.h"
#include "base/str.h"
#include "net/grpc.h"
#include "providers/e2b/e2b.h"
#include "providers/kit/rest.h"
#include "providers/kit/vendor.h"
#include "sandbox/shell.h"

enum {
	BODY_MAX = 4 << 20,
	/* added to the time for which the server may hold a request */
	SLACK_MS = 8000,
	USER_MAX = 256,
	/* The first versions of envd that have a feature; 400 means 0.4.0. */
	STDIN_SINCE = 300,   /* the field "stdin" */
	USER_OPTIONAL = 400, /* has a default user, so none need be named */
	/* Constants for a shell: */
	SHELL_TAG = 16,
	SHELL_BODY_MAX = 16 << 10,
	SHELL_MS = INT32_MAX,
	SHELL_IDLE_MS = 120000, /* envd sends something every 50 s */
	SHELL_END_MS = 5000,
};

int e2b_envd_version(struct sandbox *sb)
{
	struct e2b_box *b = (struct e2b_box *)vendor_box(sb);
	int version;

	pthread_mutex_lock(&b->kit.lock);
	version = b->version;
	pthread_mutex_unlock(&b->kit.lock);
	return version;
}

const char *e2b_envd_user(struct sandbox *sb)
{
	const struct e2b *e = sb->client->priv;
	int version = e2b_envd_version(sb);

	return e->user || !version || version >= USER_OPTIONAL ? e->user
							       : "user";
}

/* Parser of the event stream that answers process.Process/Start. Initialise
 * with { .out = ... }. */
struct e2b_events {
	struct envelope stream;
	struct buf *out;         /* borrowed: receives standard output */
	struct shell_link *link; /* or prints what its terminal shows */
	int64_t started;         /* clock_ms() when the id came; 0: not yet */
	bool printed;            /* the terminal has shown something */
	bool exited; /* it has ended, and all its output has arrived */
	int exit_code;
	char code[32]; /* the error's name at the stream's end, or "" */
	char message[200];
};

static int add_base64(struct buf *out, const char *text, struct error *err)
{
	size_t len = strlen(text);
	size_t most = len / 4 * 3 + 3;
	size_t got = 0;
	char *room = buf_room(out, most);

	if (!room)
		return error_set(err, ERR_LIMIT,
				 "the answer is larger than %zu bytes",
				 out->max);
	buf_added(out, 0);
	if (sodium_base642bin((unsigned char *)room, most, text, len, NULL,
			      &got, NULL, sodium_base64_VARIANT_ORIGINAL))
		return error_set(err, ERR_PROTOCOL,
				 "unexpected server response: not base64");
	buf_added(out, got);
	return 0;
}

static int on_event(struct e2b_events *e, const cJSON *event, struct error *err)
{
	const cJSON *end = json_get(event, "end");
	const char *text = json_string(json_get(event, "data"),
				       e->link ? "pty" : "stdout", NULL);
	int rc = text ? add_base64(e->out, text, err) : 0;

	if (json_get(event, "start"))
		e->started = clock_ms();
	if (end) {
		e->exited = true;
		e->exit_code = (int)json_int(end, "exitCode", 0);
	}
	if (rc == 0 && text && e->link) {
		rc = shell_print(e->link, buf_str(e->out), err);
		buf_clear(e->out);
		e->printed = true;
	}
	return rc;
}

/* Reads the last message of the stream, which may hold an error. */
static void on_last(struct e2b_events *e, const cJSON *tree)
{
	const cJSON *error = json_get(tree, "error");
	struct buf words = BUF_INIT(sizeof(e->message) - 1);

	if (!error)
		return;
	snprintf(e->code, sizeof(e->code), "%s",
		 json_string(error, "code", "unknown"));
	sanitize_text(str_of(json_string(error, "message", "")), &words);
	snprintf(e->message, sizeof(e->message), "%s",
		 words.ptr ? words.ptr : "");
	buf_release(&words);
}

static int on_message(void *arg, struct str json, bool is_last,
		      struct error *err)
{
	struct e2b_events *e = arg;
	cJSON *tree = json_parse(json);
	int rc = 0;

	if (!tree)
		return error_set(err, ERR_PROTOCOL,
				 "unexpected server response: a message that "
				 "is not JSON");
	if (is_last)
		on_last(e, tree);
	else
		rc = on_event(e, json_get(tree, "event"), err);
	cJSON_Delete(tree);
	return rc;
}

/* Parses bytes of the answer. ERR_PROTOCOL if they are not an event stream,
 * ERR_LIMIT if out is full. */
static int feed_events(struct e2b_events *e, struct str chunk,
		       struct error *err)
{
	e->stream.last = ENVELOPE_CONNECT_LAST;
	return envelope_feed(&e->stream, chunk, on_message, e, err);
}

/* Call at the end of the answer. Returns 0 if it was complete and without an
 * error. */
static int end_events(const struct e2b_events *e, struct error *err)
{
	if (!e->stream.ended)
		return error_set(err, ERR_NETWORK,
				 "the answer ends in the middle");
	if (e->code[0])
		return error_set(err, ERR_REMOTE, "%s: %s", e->code,
				 e->message);
	if (!e->exited)
		return error_set(err, ERR_PROTOCOL,
				 "unexpected server response: the command did "
				 "not end");
	return 0;
}

static void release_events(struct e2b_events *e)
{
	envelope_release(&e->stream);
}

static int compose_request(struct sandbox *sb, struct str command,
			   struct buf *out, struct error *err)
{
	struct buf json = BUF_INIT(BODY_MAX);
	int version = e2b_envd_version(sb);
	int rc;

	buf_adds(&json, "{\"process\":{\"cmd\":\"/bin/sh\",\"args\":[\"-c\",");
	shell_argument_add(&json, command);
	buf_adds(&json, "],\"cwd\":\"/\"}");
	if (!version || version >= STDIN_SINCE)
		buf_adds(&json, ",\"stdin\":false");
	buf_addc(&json, '}');
	envelope_add(out, buf_str(&json));
	rc = buf_check(&json, "the command", err);
	buf_release(&json);
	return rc < 0 ? -1 : buf_check(out, "the command", err);
}

/* Returns "Authorization: Basic BASE64(user:)", owned by the caller, or
 * NULL. */
static char *user_header(struct sandbox *sb)
{
	const char *user = e2b_envd_user(sb);
	char *text;
	char *header;
	char code[512];

	if (!user || strlen(user) > USER_MAX)
		return NULL;
	text = xasprintf("%s:", user);
	sodium_bin2base64(code, sizeof(code), (const unsigned char *)text,
			  strlen(text), sodium_base64_VARIANT_ORIGINAL);
	header = xasprintf("Authorization: Basic %s", code);
	free(text);
	return header;
}

static int on_data(void *arg, struct str chunk, struct error *err)
{
	return feed_events(arg, chunk, err);
}

/* True for names of errors that a retry may avoid, at once or when the sandbox
 * runs again. */
static bool is_passing(const char *code)
{
	static const char *const names[] = {
		"unavailable", "unauthenticated", "not_found",
		"aborted",     "canceled",        "deadline_exceeded",
		"internal",    "unknown",         "resource_exhausted",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strcmp(names[i], code) == 0)
			return true;
	return false;
}

static bool may_be_gone(const char *code)
{
	return !strcmp(code, "unavailable") ||
	       !strcmp(code, "unauthenticated") || !strcmp(code, "not_found");
}

int e2b_run_script(void *arg, struct str command, int64_t wait_ms,
		   struct buf *out, const struct stop *stop, struct error *err)
{
	struct sandbox *sb = arg;
	struct buf body = BUF_INIT(BODY_MAX + ENVELOPE_HEAD);
	struct e2b_events events = { .out = out };
	struct http_response res = { .retry_after_ms = -1 };
	char *user = user_header(sb);
	char *limit = xasprintf("Connect-Timeout-Ms: %lld",
				(long long)wait_ms + SLACK_MS);
	const char *const headers[] = { "Connect-Protocol-Version: 1",
					"Keepalive-Ping-Interval: 50", limit,
					user, NULL };
	struct http_request ask = {
		.method = "POST",
		.path = "/process.Process/Start",
		.type = "application/connect+json",
		.what = "running the command",
		.data = on_data,
		.arg = &events,
		.headers = headers,
		.timeout_ms = wait_ms + SLACK_MS,
	};
	int rc;

	vendor_touch(sb, stop);
	rc = compose_request(sb, command, &body, err);
	ask.body = buf_str(&body);
	if (rc == 0) {
		rc = rest_call(vendor_server(sb), &ask, &res, stop, err);
		if (rc == 0)
			rc = end_events(&events, err);
		if (rc < 0 && err->code != ERR_CANCELLED &&
		    err->code != ERR_LIMIT && is_passing(events.code))
			err->code = ERR_NETWORK;
		if (rc < 0)
			rc = vendor_exec_failed(sb, res.status,
						may_be_gone(events.code), stop,
						err);
	}
	release_events(&events);
	http_response_release(&res);
	buf_release(&body);
	free(limit);
	free(user);
	return rc;
}

/* A shell: a process with a terminal, which envd keeps when the stream of its
 * output is cut. What it prints until it is connected again is lost. (Pty of
 * SDK 2.51.0, read 2026-11-26.) */

struct e2b_shell {
	struct sandbox *sb;
	const struct exec_request *req;
	char *tag;  /* owned: names the process */
	char *user; /* owned: a header, or NULL */
	struct stop stop;
};

static void add_tag(const struct e2b_shell *s, struct buf *json)
{
	buf_addf(json, "{\"process\":{\"tag\":\"%s\"}", s->tag);
}

static void add_pty(struct buf *json, const struct exec_terminal *size)
{
	buf_addf(json, ",\"pty\":{\"size\":{\"cols\":%u,\"rows\":%u}}",
		 size->columns, size->rows);
}

static void add_shell(const struct e2b_shell *s,
		      const struct exec_terminal *size, struct buf *json)
{
	cJSON *envs = cJSON_CreateObject();

	for (const char *const *e = s->req->env; e && *e; e++) {
		struct str rest = str_of(*e);
		struct str name = { 0 };
		char *key;

		(void)str_split(&rest, '=', &name);
		key = xstrndup(name.ptr, name.len);
		cJSON_AddStringToObject(envs, key, rest.ptr);
		free(key);
	}
	buf_adds(json, "{\"process\":{\"cmd\":\"/bin/sh\",\"args\":[\"-c\",");
	shell_argument_add(json, s->req->command);
	buf_adds(json, "],\"envs\":");
	json_print(json, envs);
	buf_addc(json, ',');
	json_member(json, "cwd", str_of(s->sb->workdir));
	buf_addf(json, "},\"tag\":\"%s\"", s->tag);
	add_pty(json, size);
	buf_addc(json, '}');
	cJSON_Delete(envs);
}

/* Starts the shell, or connects to it again, and prints what it shows. Returns
 * at the end of the stream. */
static int stream_shell(struct e2b_shell *s, const char *path,
			struct str message, struct e2b_events *events,
			struct error *err)
{
	struct buf body = BUF_INIT(BODY_MAX + ENVELOPE_HEAD);
	struct http_response res = { .retry_after_ms = -1 };
	const char *const headers[] = { "Connect-Protocol-Version: 1",
					"Keepalive-Ping-Interval: 50", s->user,
					NULL };
	struct http_request ask = { .method = "POST",
				    .path = path,
				    .type = "application/connect+json",
				    .what = "running the shell",
				    .data = on_data,
				    .arg = events,
				    .headers = headers,
				    .timeout_ms = SHELL_MS,
				    .idle_ms = SHELL_IDLE_MS };
	int rc;

	envelope_add(&body, message);
	ask.body = buf_str(&body);
	rc = rest_call(vendor_server(s->sb), &ask, &res, &s->stop, err);
	if (rc == 0)
		rc = end_events(events, err);
	release_events(events);
	http_response_release(&res);
	buf_release(&body);
	return rc;
}

/* A plain request about the shell. Releases json. */
static int ask_shell(const struct e2b_shell *s, const char *method,
		     struct buf *json, const struct stop *stop,
		     struct error *err)
{
	const char *const headers[] = { "Connect-Protocol-Version: 1", s->user,
					NULL };
	struct http_request ask = { .method = "POST",
				    .path = method,
				    .what = "using the shell",
				    .headers = headers,
				    .body = buf_str(json) };
	cJSON *ignored = NULL;
	int rc = rest_json(vendor_server(s->sb), &ask, &ignored, NULL, stop,
			   err);

	cJSON_Delete(ignored);
	buf_release(json);
	return rc;
}

/* Implements shell_way.send. */
static int send_keys(void *arg, struct str keys, const struct stop *stop,
		     struct error *err)
{
	struct buf json = BUF_INIT(SHELL_BODY_MAX);

	vendor_touch(((struct e2b_shell *)arg)->sb, stop);
	add_tag(arg, &json);
	buf_adds(&json, ",\"input\":{\"pty\":\"");
	json_base64(&json, keys);
	buf_adds(&json, "\"}}");
	return ask_shell(arg, "/process.Process/SendInput", &json, stop, err);
}

/* Implements shell_way.resize. */
static int resize_shell(void *arg, const struct exec_terminal *size,
			const struct stop *stop, struct error *err)
{
	struct buf json = BUF_INIT(SHELL_BODY_MAX);

	add_tag(arg, &json);
	add_pty(&json, size);
	buf_addc(&json, '}');
	return ask_shell(arg, "/process.Process/Update", &json, stop, err);
}

static void kill_shell(struct e2b_shell *s)
{
	struct stop stop = stop_cleanup(SHELL_END_MS);
	struct buf json = BUF_INIT(SHELL_BODY_MAX);
	struct error ignored = { 0 };

	add_tag(s, &json);
	buf_adds(&json, ",\"signal\":\"SIGNAL_SIGKILL\"}");
	(void)ask_shell(s, "/process.Process/SendSignal", &json, &stop,
			&ignored);
}

/* Implements shell_way.run. */
static int run_shell(void *arg, struct shell_link *link,
		     const struct exec_terminal *size, struct exec_result *res,
		     struct error *err)
{
	struct e2b_shell *s = arg;
	struct buf json = BUF_INIT(BODY_MAX);
	struct buf out = BUF_INIT(BODY_MAX);
	struct shell_retry retry = { 0 };
	bool began = false;
	int rc;

	s->stop = stop_on(&link->over);
	s->stop.held = clock_ms() + SHELL_MS; /* a shell may be silent */
	add_shell(s, size, &json);
	do {
		struct e2b_events events = { .out = &out, .link = link };

		rc = stream_shell(s,
				  began ? "/process.Process/Connect"
					: "/process.Process/Start",
				  buf_str(&json), &events, err);
		if (rc == 0)
			res->exit_code = events.exit_code;
		if (events.code[0]) /* such as not_found */
			break;
		if (!began && events.started) {
			began = true;
			buf_clear(&json);
			add_tag(s, &json);
			buf_addc(&json, '}');
		}
		retry.connected = events.started;
		if (events.printed)
			retry.since = 0;
	} while (rc < 0 && began && shell_retry(&retry, link, err));
	if (rc < 0)
		kill_shell(s);
	buf_release(&json);
	buf_release(&out);
	return rc;
}

int e2b_shell(struct sandbox *sb, const struct exec_request *req,
	      struct exec_result *res, const struct stop *stop,
	      struct error *err)
{
	char name[SHELL_TAG + 1];
	struct e2b_shell s = { .sb = sb, .req = req, .user = user_header(sb) };
	const struct shell_way way = { .run = run_shell,
				       .send = send_keys,
				       .resize = resize_shell,
				       .arg = &s };
	int rc;

	ids_random(name, SHELL_TAG);
	s.tag = xasprintf("dcode-shell-%s", name);
	rc = shell_run_way(&way, req, res, stop, err);
	free(s.tag);
	free(s.user);
	return rc;
}
