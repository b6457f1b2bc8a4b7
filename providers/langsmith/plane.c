/* plane.c - commands and files on a LangSmith sandbox's data plane. */
/* SPDX-License-Identifier: MIT */
/*
 * Commands are supervised jobs (run_script). Short ones use a plain request. A
 * long one is followed over a WebSocket, which also works through proxies that
 * cut silent requests. parse_frame() parses a message of the WebSocket, and
 * advance_stream() finds which of its output is new.
 *
 * dcode chooses the command's id. If the connection breaks before the server
 * says that the command has started, the same "execute" is sent again; the
 * server recognises the id. If it breaks later, "reconnect" requests the output
 * from the current offset.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/ids.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "net/retry.h"
#include "net/ws.h"
#include "providers/langsmith/langsmith.h"
#include "sandbox/sandbox.h"
#include "sandbox/supervise/supervise.h"

enum {
	BODY_MAX = 1 << 20,
	COMMAND_MAX = 120000, /* bytes of an argument; Linux allows 128 KiB */
	ANSWER_MAX = 1 << 20, /* bytes of a job's answer */
	/* added to the time for which the server may hold a request */
	SLACK_MS = 8000,
	LONG_MS = 2000,
	/* Constants for the WebSocket: */
	START_MAX = 1 << 20,
	MESSAGE_MAX = 16 << 20,
	OPEN_MS = 30000,
	PING_MS = 15000,
	PONG_MS = 30000,
	PATIENCE_MS = 60000, /* ms without any message, then dcode gives up */
	PAUSE_MS = 500,      /* pause after a failure; each is twice as long */
	PAUSE_MAX_MS = 8000,
	/* first connections that fail before plain requests are used */
	OPENS_MAX = 3,
	KILL_MS = 2000,
	CLOSE_MS = 500,
	/* how much later than dcode's time limit the server's is */
	LATER_S = 10,
	/* s without a connection, then the server kills the command */
	ABANDONED_S = 60,
	KEPT_S = 600, /* how long the server stores the output, in s */
};

enum langsmith_kind {
	LANGSMITH_OTHER, /* unknown kind, ignored */
	LANGSMITH_STARTED,
	LANGSMITH_OUTPUT,
	LANGSMITH_EXIT,
	LANGSMITH_TIMEOUT, /* the server killed the command */
	/* the server does not know the command, or not any more */
	LANGSMITH_UNKNOWN,
	LANGSMITH_FAILED,
};

struct langsmith_frame {
	cJSON *tree; /* owned; the fields below point into it */
	enum langsmith_kind kind;
	enum exec_stream stream;
	struct str data; /* UTF-8 */
	int64_t offset;  /* position of data in the stream; -1: not given */
	int exit_code;
	const char *message;
};

static enum langsmith_kind kind_of_error(const char *type)
{
	if (strcmp(type, "CommandTimeout") == 0)
		return LANGSMITH_TIMEOUT;
	if (strcmp(type, "SessionExpired") == 0 ||
	    strcmp(type, "CommandNotFound") == 0)
		return LANGSMITH_UNKNOWN;
	return LANGSMITH_FAILED;
}

static int parse_stream_output(struct langsmith_frame *f,
			       enum exec_stream stream, struct error *err)
{
	const char *data = json_string(f->tree, "data", NULL);

	f->kind = LANGSMITH_OUTPUT;
	f->stream = stream;
	f->offset = json_int(f->tree, "offset", -1);
	if (!data || f->offset < -1 || f->offset > INT64_MAX / 2)
		return error_set(err, ERR_PROTOCOL,
				 "unexpected server response: no output");
	f->data = str_of(data);
	return 0;
}

static int parse_exit(struct langsmith_frame *f, struct error *err)
{
	const cJSON *code = json_get(f->tree, "exit_code");
	int64_t n = json_int(f->tree, "exit_code", -1);

	if (!cJSON_IsNumber(code) || n < -64 || n > 255)
		return error_set(err, ERR_PROTOCOL,
				 "unexpected server response: no exit code");
	f->kind = LANGSMITH_EXIT;
	f->exit_code = (int)(n < 0 ? 128 - n : n);
	return 0;
}

/*
 * Parses one message, which may be any bytes. ERR_PROTOCOL if it is not a
 * message of this protocol. The caller releases f, even on failure.
 */
static int parse_frame(struct langsmith_frame *f, struct str text,
		       struct error *err)
{
	const char *type;

	*f = (struct langsmith_frame){ .offset = -1, .message = "" };
	f->tree = json_parse(text);
	type = json_string(f->tree, "type", NULL);
	if (!type)
		return error_set(err, ERR_PROTOCOL,
				 "unexpected server response: no message");
	if (strcmp(type, "started") == 0)
		f->kind = LANGSMITH_STARTED;
	else if (strcmp(type, "stdout") == 0)
		return parse_stream_output(f, EXEC_STDOUT, err);
	else if (strcmp(type, "stderr") == 0)
		return parse_stream_output(f, EXEC_STDERR, err);
	else if (strcmp(type, "exit") == 0)
		return parse_exit(f, err);
	if (strcmp(type, "error") == 0) {
		f->kind = kind_of_error(json_string(f->tree, "error_type", ""));
		f->message = json_string(f->tree, "error", "");
	}
	return 0;
}

static void release_frame(struct langsmith_frame *f)
{
	cJSON_Delete(f->tree);
	*f = (struct langsmith_frame){ 0 };
}

/* Position in one output stream. Zero-initialise. */
struct langsmith_stream {
	int64_t at; /* bytes delivered so far, as the server counts them */
	/* invalid UTF-8 made dcode's count of bytes differ from the server's */
	bool replaced;
};

/*
 * Sets *part to the data of the frame that was not delivered before, and
 * advances s. Returns -1 without changing s if bytes in front of the frame are
 * missing: the caller then requests them again.
 */
static int advance_stream(struct langsmith_stream *s,
			  const struct langsmith_frame *f, struct str *part)
{
	int64_t len = (int64_t)f->data.len;
	int64_t skip = f->offset < 0 ? 0 : s->at - f->offset;

	/* U+FFFD replaced a byte, so dcode's count differs from the
	 * server's. */
	if (s->replaced)
		skip = 0;
	if (skip < 0)
		return -1;
	*part = str_skip(f->data, skip < len ? (size_t)skip : f->data.len);
	if (s->replaced && f->offset >= 0)
		s->at = f->offset + len;
	else
		s->at += (int64_t)part->len;
	if (str_search(*part, STR("\xEF\xBF\xBD")) < part->len)
		s->replaced = true;
	return 0;
}

struct ws_command {
	struct sandbox *sb;
	struct str command;
	int64_t timeout_ms;
	struct buf *out; /* borrowed: receives standard output; NULL: dropped */
	char id[37];
	struct buf start; /* the first message */
	struct ws *ws;    /* NULL: not connected */
	struct buf message;
	struct langsmith_stream streams[2];
	bool sent; /* the first message was sent at least once */
	bool started;
	bool ended;
	bool timed_out;
	bool killing;
	bool killed;
	unsigned failures; /* connections in a row that failed */
	/* frames in a row in front of which bytes are missing */
	unsigned gaps;
	int64_t last_ms; /* clock_ms() of the last message */
	int64_t limit;   /* clock_ms() when the command's time limit passes */
};

/* Writes the first message, "execute". */
static int write_start(struct ws_command *r, struct error *err)
{
	r->start.max = START_MAX;
	buf_adds(&r->start, "{\"type\":\"execute\",");
	json_member(&r->start, "command", r->command);
	buf_addf(&r->start,
		 ",\"timeout_seconds\":%lld,\"shell\":\"/bin/sh\","
		 "\"idle_timeout_seconds\":%d,\"kill_on_disconnect\":false,"
		 "\"ttl_seconds\":%d,\"close_stdin\":true,"
		 "\"command_id\":\"%s\"",
		 (long long)(r->timeout_ms + 999) / 1000 + LATER_S, ABANDONED_S,
		 KEPT_S, r->id);
	buf_addc(&r->start, '}');
	return buf_check(&r->start, "the command", err);
}

static void close_ws(struct ws_command *r)
{
	ws_free(r->ws);
	r->ws = NULL;
}

/* Sends the first message of a connection: "execute", or "reconnect". */
static int send_first(struct ws_command *r, const struct stop *stop,
		      struct error *err)
{
	char text[192];

	if (!r->started && !r->killing) {
		r->sent = true;
		return ws_send(r->ws, WS_TEXT, buf_str(&r->start), stop, err);
	}
	snprintf(text, sizeof(text),
		 "{\"type\":\"reconnect\",\"command_id\":\"%s\","
		 "\"stdout_offset\":%lld,\"stderr_offset\":%lld}",
		 r->id, (long long)r->streams[0].at,
		 (long long)r->streams[1].at);
	return ws_send(r->ws, WS_TEXT, str_of(text), stop, err);
}

/* Tries to connect once. The caller releases *answer. */
static int connect_once(struct ws_command *r, struct http_response *answer,
			const struct stop *stop, struct error *err)
{
	const struct rest *plane = vendor_server(r->sb);
	struct ws_request ask = { .message_max = MESSAGE_MAX,
				  .open_ms = OPEN_MS,
				  .ping_ms = PING_MS,
				  .pong_ms = PONG_MS,
				  .answer = answer };
	char *url = xasprintf("%s/execute/ws", plane->base);
	int rc;

	ask.url = url;
	ask.headers = (const char *const *)plane->headers;
	rc = ws_open(&r->ws, r->sb->client->http, &ask, stop, err);
	if (rc == 0)
		rc = send_first(r, stop, err);
	if (rc < 0)
		close_ws(r);
	free(url);
	return rc;
}

/* True if the status means that the server has no WebSocket. */
static bool refuses_ws(int status)
{
	return status >= 200 && status < 500 && status != 401 &&
	       status != 403 && status != 408 && status != 409 &&
	       status != 425 && status != 429;
}

static void set_no_ws(struct ws_command *r)
{
	struct langsmith_box *b = (struct langsmith_box *)vendor_box(r->sb);

	pthread_mutex_lock(&b->kit.lock);
	b->no_ws = true;
	pthread_mutex_unlock(&b->kit.lock);
}

static int64_t pause_of(const struct ws_command *r,
			const struct http_response *answer)
{
	if (answer->retry_after_ms == 0)
		return 0;
	return r->failures > 4 ? PAUSE_MAX_MS
			       : (int64_t)PAUSE_MS << (r->failures - 1);
}

/*
 * Call after a failed connection. 0: try again. 1: use plain requests. -1:
 * fail.
 */
static int decide_retry(struct ws_command *r,
			const struct http_response *answer,
			const struct error *why, const struct stop *stop,
			struct error *err)
{
	int status = answer->status;
	struct error gone = { 0 };

	if (stop_check(stop, err) < 0)
		return -1;
	/* Nothing was sent, so plain requests cannot run the command twice. */
	if (!r->sent && refuses_ws(status)) {
		set_no_ws(r);
		return 1;
	}
	r->failures++;
	if (!r->sent && r->failures >= OPENS_MAX)
		return 1;
	if (status == 401 || status == 403 ||
	    clock_ms() - r->last_ms > PATIENCE_MS ||
	    (!status && why->code != ERR_NETWORK && why->code != ERR_TIMEOUT &&
	     why->code != ERR_PROTOCOL)) {
		*err = *why;
		return -1;
	}
	if (status >= 400 && vendor_ensure_running(r->sb, stop, &gone) < 0 &&
	    gone.code == ERR_GONE) {
		*err = gone;
		return -1;
	}
	return retry_sleep(why, pause_of(r, answer), stop, err);
}

static int ensure_connected(struct ws_command *r, const struct stop *stop,
			    struct error *err)
{
	int rc = 0;

	while (rc == 0 && !r->ws) {
		struct http_response answer = { .retry_after_ms = -1 };
		struct error why = { 0 };

		if (connect_once(r, &answer, stop, &why) < 0)
			rc = decide_retry(r, &answer, &why, stop, err);
		http_response_release(&answer);
	}
	return rc;
}

static int on_output(struct ws_command *r, const struct langsmith_frame *f,
		     struct error *err)
{
	int i = f->stream == EXEC_STDERR;
	struct str part;

	if (advance_stream(&r->streams[i], f, &part) < 0) {
		if (++r->gaps > 2)
			return error_set(err, ERR_PROTOCOL,
					 "unexpected server response: a part "
					 "of the output is missing");
		/* bytes are missing: the next connection requests them */
		close_ws(r);
		return 0;
	}
	if (part.len)
		r->gaps = 0;
	if (!r->out)
		return 0;
	if (f->stream == EXEC_STDOUT)
		buf_addstr(r->out, part);
	return buf_check(r->out, "the command's output", err);
}

/*
 * Handles a frame. Returns 0 to continue (with r->ended the command has ended),
 * 1 if plain requests must be used, -1 on failure.
 */
static int on_frame(struct ws_command *r, const struct langsmith_frame *f,
		    struct error *err)
{
	switch (f->kind) {
	case LANGSMITH_STARTED:
		r->started = true;
		return 0;
	case LANGSMITH_OUTPUT:
		r->started = true;
		return on_output(r, f, err);
	case LANGSMITH_EXIT:
		r->ended = true;
		return 0;
	case LANGSMITH_TIMEOUT:
		r->ended = true;
		r->timed_out = true;
		return 0;
	case LANGSMITH_UNKNOWN:
	case LANGSMITH_FAILED:
		r->ended = true;
		/*
		 * The command could not be started: a plain request will tell
		 * why.
		 */
		if (!r->started && !r->failures && !r->killing)
			return 1;
		if (f->kind == LANGSMITH_UNKNOWN)
			return error_set(err, ERR_REMOTE,
					 "the command's output was lost in the "
					 "sandbox");
		return error_set(err, ERR_REMOTE, "%.300s", f->message);
	default:
		return 0;
	}
}

/*
 * Waits for a message and handles it. Closes a connection that broke. Returns
 * what on_frame() does.
 */
static int receive_frame(struct ws_command *r, const struct stop *stop,
			 struct error *err)
{
	struct langsmith_frame f = { 0 };
	struct error why = { 0 };
	enum ws_kind kind;
	int rc;

	rc = ws_receive(r->ws, &r->message, &kind, stop, &why);
	if (rc > 0) {
		r->last_ms = clock_ms();
		r->failures = 0;
		rc = parse_frame(&f, buf_str(&r->message), err);
		if (rc == 0)
			rc = on_frame(r, &f, err);
		release_frame(&f);
		return rc;
	}
	if (rc < 0 && (why.code == ERR_CANCELLED || why.code == ERR_TIMEOUT)) {
		*err = why;
		return -1;
	}
	/*
	 * A broken connection counts as a failure, but not with code 1001,
	 * which means that the server restarts.
	 */
	if (rc < 0 || ws_code(r->ws) != WS_CODE_AWAY)
		r->failures++;
	close_ws(r);
	if (r->failures > 1)
		return stop_sleep(stop, PAUSE_MS, err);
	return 0;
}

/*
 * Follows the command until it ends. Returns what on_frame() does. ERR_TIMEOUT
 * may mean that the command's own limit has passed.
 */
static int follow_command(struct ws_command *r, const struct stop *stop,
			  struct error *err)
{
	struct stop within = *stop;
	int rc = 0;

	if (r->limit < within.deadline)
		within.deadline = r->limit;
	while (rc == 0 && !r->ended) {
		if (clock_ms() - r->last_ms > PATIENCE_MS && r->failures)
			return error_set(err, ERR_NETWORK, "no answer for %d s",
					 PATIENCE_MS / 1000);
		rc = ensure_connected(r, &within, err);
		if (rc)
			break;
		rc = receive_frame(r, &within, err);
	}
	return rc;
}

/* Kills the command. Also called if it is unknown whether the command has
 * started. */
static void kill_command(struct ws_command *r, const struct stop *stop)
{
	struct error ignored = { 0 };
	int rc = 0;

	r->last_ms = clock_ms();
	r->failures = 0;
	/* a command that has not started yet must not start now */
	r->killing = true;
	while (rc == 0 && !r->ended) {
		if (!r->ws)
			r->killed = false;
		rc = ensure_connected(r, stop, &ignored);
		if (rc == 0 && !r->killed) {
			r->killed = true;
			if (ws_send(r->ws, WS_TEXT, STR("{\"type\":\"kill\"}"),
				    stop, &ignored) < 0)
				close_ws(r);
		}
		if (rc == 0 && r->ws)
			rc = receive_frame(r, stop, &ignored);
	}
}

/* Closes the connection and frees r. */
static void end_command(struct ws_command *r, const struct stop *stop)
{
	struct stop closing = stop_within(stop, CLOSE_MS);
	struct error ignored = { 0 };

	if (r->ws)
		(void)ws_close(r->ws, WS_CODE_NORMAL, "", &closing, &ignored);
	close_ws(r);
	buf_release(&r->start);
	buf_release(&r->message);
	free(r);
}

struct ws_job { /* supervisor.arg points to it */
	struct sandbox *sb;
	bool try_ws; /* a WebSocket may still be tried */
	int64_t began;
	/* a cancelled command that must still be killed, or NULL */
	struct ws_command *left;
};

/* Implements supervisor.ends: kills the command in left. */
static void end_left(void *arg)
{
	struct ws_job *job = arg;
	struct stop stop = stop_cleanup(KILL_MS);

	if (!job->left)
		return;
	kill_command(job->left, &stop);
	end_command(job->left, &stop);
	job->left = NULL;
}

/*
 * Runs the command over a WebSocket and appends its standard output, as UTF-8,
 * to out. Returns 1 if no WebSocket is possible; then nothing was started.
 * ERR_TIMEOUT if the command did not end in time. A cancelled command is stored
 * in job->left, for end_left().
 */
static int call_by_ws(struct ws_job *job, struct str command,
		      int64_t timeout_ms, struct buf *out,
		      const struct stop *stop, struct error *err)
{
	struct stop cancelled = stop_on(stop->cancel);
	struct ws_command *r = xcalloc(1, sizeof(*r));
	struct error why = { 0 };
	bool lost;
	int rc;

	*r = (struct ws_command){ .sb = job->sb,
				  .command = command,
				  .timeout_ms = timeout_ms,
				  .out = out,
				  .last_ms = clock_ms(),
				  .limit = clock_ms() + timeout_ms,
				  .message = BUF_INIT(MESSAGE_MAX) };
	ids_uuid7(r->id);
	rc = write_start(r, &why);
	if (rc == 0)
		rc = follow_command(r, stop, &why);
	lost = rc < 0 && r->sent && !r->ended && why.code != ERR_GONE;
	if (rc == 0 && r->timed_out)
		rc = error_set(&why, ERR_TIMEOUT, "no answer in time");
	if (lost && why.code != ERR_CANCELLED) {
		struct stop limit = stop_within(&cancelled, KILL_MS);

		kill_command(r, &limit);
	}
	if (lost && !r->ended && stop_check(&cancelled, err) < 0) {
		r->out = NULL;
		job->left = r;
		return -1;
	}
	end_command(r, stop);
	if (rc < 0)
		*err = why;
	return rc;
}

/* Appends the output from {"stdout":...,"stderr":...,"exit_code":n}. */
static int parse_output(struct str body, struct buf *out, struct error *err)
{
	cJSON *tree = json_parse(body);
	const char *text = json_string(tree, "stdout", NULL);
	int rc = 0;

	if (!text)
		rc = error_set(err, ERR_PROTOCOL,
			       "unexpected server response: no output");
	else
		buf_adds(out, text);
	cJSON_Delete(tree);
	return rc;
}

/*
 * Runs the command with a plain request, which returns the output at the end.
 * Both kinds of requests change bytes that are not UTF-8. The supervisor's
 * answers are ASCII, so they arrive unchanged.
 */
static int call_by_request(struct sandbox *sb, struct str command,
			   int64_t wait_ms, struct buf *out,
			   const struct stop *stop, struct error *err)
{
	struct buf body = BUF_INIT(BODY_MAX);
	struct http_response res = { .retry_after_ms = -1 };
	struct http_request ask = {
		.method = "POST",
		.path = "/execute",
		.what = "running the command",
		.timeout_ms = wait_ms + SLACK_MS,
	};
	int rc;

	buf_addc(&body, '{');
	json_member(&body, "command", command);
	buf_addf(&body, ",\"timeout\":%lld,\"shell\":\"/bin/sh\"}",
		 (long long)(wait_ms + SLACK_MS) / 1000);
	ask.body = buf_str(&body);
	res.body.max = (size_t)4 * ANSWER_MAX;
	rc = buf_check(&body, "the command", err);
	if (rc == 0) {
		rc = rest_call(vendor_server(sb), &ask, &res, stop, err);
		rc = rc < 0 ? vendor_exec_failed(sb, res.status, false, stop,
						 err)
			    : parse_output(buf_str(&res.body), out, err);
	}
	http_response_release(&res);
	buf_release(&body);
	return rc;
}

static bool has_ws(struct sandbox *sb)
{
	struct langsmith_box *b = (struct langsmith_box *)vendor_box(sb);
	bool has;

	pthread_mutex_lock(&b->kit.lock);
	has = !b->no_ws;
	pthread_mutex_unlock(&b->kit.lock);
	return has;
}

/*
 * Implements supervisor.call. A WebSocket serves a single command and needs a
 * connection of its own. So a short command uses a plain request on the
 * existing connection. If a WebSocket breaks, plain requests are used from then
 * on.
 */
static int run_script(void *arg, struct str command, int64_t wait_ms,
		      struct buf *out, const struct stop *stop,
		      struct error *err)
{
	struct ws_job *job = arg;
	int rc = 1;

	if (job->try_ws && clock_ms() - job->began >= LONG_MS &&
	    wait_ms >= LONG_MS && has_ws(job->sb)) {
		job->try_ws = false;
		rc = call_by_ws(job, command, wait_ms + SLACK_MS, out, stop,
				err);
	}
	return rc <= 0 ? rc
		       : call_by_request(job->sb, command, wait_ms, out, stop,
					 err);
}

int langsmith_execute(struct sandbox *sb, const struct exec_request *req,
		      struct exec_result *res, const struct stop *stop,
		      struct error *err)
{
	struct ws_job job = { .sb = sb, .try_ws = true, .began = clock_ms() };
	const struct supervisor s = { .call = run_script,
				      .arg = &job,
				      .arg_size = sizeof(job),
				      .ends = end_left,
				      .max_command = COMMAND_MAX,
				      .max_answer = ANSWER_MAX,
				      .first_ms = LONG_MS };

	if (settings_bool(sb->client->settings, "langsmith", "websocket",
			  &job.try_ws, err) < 0)
		return -1;
	/* dcode's own helpers are short: use plain requests. */
	job.try_ws = job.try_ws && !req->plain;
	return supervise_execute(sb, req, res, &s, stop, err);
}

static void fill_get(struct sandbox *sb, const char *file,
		     struct file_request *req)
{
	(void)sb;
	buf_adds(&req->path, "/download?path=");
	rest_encode(&req->path, str_of(file));
}

/* The server ignores the file name in the form: the path is in the query. */
static void fill_put(struct sandbox *sb, const char *file,
		     struct file_request *req)
{
	(void)sb;
	buf_adds(&req->path, "/upload?path=");
	rest_encode(&req->path, str_of(file));
	req->file_field = "file";
	req->file_name = "file";
}

static bool has_words(const struct http_response *res, const char *word)
{
	struct str body = buf_str(&res->body);

	return str_search(body, str_of(word)) < body.len;
}

/* 404 may also mean that the file does not exist, if the sandbox does. */
static enum file_retry classify_failure(const struct http_response *res)
{
	if (res->status == 502 || res->status == 503 ||
	    ((res->status == 400 || res->status == 409) &&
	     has_words(res, "NotReady")))
		return FILE_RETRY_STARTED;
	if (res->status == 404 && !has_words(res, "FileNotFound"))
		return FILE_RETRY_UNSURE;
	return FILE_RETRY_NEVER;
}

const struct http_files langsmith_files = {
	.call = vendor_send,
	.get = fill_get,
	.put = fill_put,
	.classify = classify_failure,
};
