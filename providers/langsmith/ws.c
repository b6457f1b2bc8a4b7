/* ws.c - a command over a WebSocket: followed over cuts, killed at its limit.
 */
/* SPDX-License-Identifier: MIT */
#include "net/ws.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/ids.h"
#include "base/mem.h"
#include "base/str.h"
#include "net/retry.h"
#include "providers/langsmith/frame.h"
#include "providers/langsmith/langsmith.h"

/*
 * The command's id is ours. Until the server says that it has started, the
 * same "execute" is sent again after a cut (the server knows the id); then
 * "reconnect" asks for the output from where we are.
 */
enum {
	BODY_MAX = 1 << 20,
	MESSAGE_MAX = 16 << 20,
	OPEN_MS = 30000,
	PING_MS = 15000,
	PONG_MS = 30000,
	PATIENCE_MS = 60000, /* without any message, then we give up */
	PAUSE_MS = 500,      /* after a failure, doubled for the next */
	PAUSE_MAX_MS = 8000,
	OPENS_MAX = 3, /* that fail at first: plain requests then */
	KILL_MS = 2000,
	CLOSE_MS = 500,
	LATER_S = 10,     /* the server's time limit, after ours */
	ABANDONED_S = 60, /* with nobody connected, then it is killed */
	KEPT_S = 600,     /* that the server keeps what it printed */
};

struct ws_command {
	struct sandbox *sb;
	struct str command;
	int64_t timeout_ms;
	struct buf *out; /* standard output; borrowed */
	char id[37];
	struct buf start; /* the first message */
	struct ws *ws;    /* NULL: not connected */
	struct buf message;
	struct langsmith_stream streams[2];
	bool sent; /* the start, at least once */
	bool started;
	bool ended;
	bool timed_out;
	bool killing;
	bool killed;
	unsigned failures; /* in a row */
	unsigned gaps;     /* in a row */
	int64_t last_ms;   /* when a message last came */
	int64_t limit;     /* clock_ms() when its time is over */
};

static int write_start(struct ws_command *r, struct error *err)
{
	r->start.max = BODY_MAX;
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

static void disconnect(struct ws_command *r)
{
	ws_free(r->ws);
	r->ws = NULL;
}

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

/* One try. *answer is released by the caller. */
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
		disconnect(r);
	free(url);
	return rc;
}

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

/* After a connection that failed: 0 to try again, 1 for plain requests, -1. */
static int decide_retry(struct ws_command *r,
			const struct http_response *answer,
			const struct error *why, const struct stop *stop,
			struct error *err)
{
	int status = answer->status;
	struct error gone = { 0 };

	if (stop_check(stop, err) < 0)
		return -1;
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

	if (langsmith_stream_advance(&r->streams[i], f, &part) < 0) {
		if (++r->gaps > 2)
			return error_set(err, ERR_PROTOCOL,
					 "unexpected server response: a part "
					 "of the output is missing");
		disconnect(r); /* the next connection asks from where we are */
		return 0;
	}
	if (part.len)
		r->gaps = 0;
	if (f->stream == EXEC_STDOUT)
		buf_addstr(r->out, part);
	return buf_check(r->out, "the command's output", err);
}

/* 0 to go on or, with r->ended, at the end; 1 for plain requests; -1. */
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
		/* It could not be started: a plain request tells why. */
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

/* Waits for a message and does what it says: 0, 1, -1 as on_frame(). A cut
 * disconnects. */
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
		rc = langsmith_frame_parse(&f, buf_str(&r->message), err);
		if (rc == 0)
			rc = on_frame(r, &f, err);
		langsmith_frame_release(&f);
		return rc;
	}
	if (rc < 0 && (why.code == ERR_CANCELLED || why.code == ERR_TIMEOUT)) {
		*err = why;
		return -1;
	}
	/* Cut, or closed before the end; 1001: the server reloads. */
	if (rc < 0 || ws_code(r->ws) != WS_CODE_AWAY)
		r->failures++;
	disconnect(r);
	if (r->failures > 1)
		return stop_sleep(stop, PAUSE_MS, err);
	return 0;
}

/* Follows the command to its end: 0, 1, -1. ERR_TIMEOUT may be its own. */
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

/* Ends the command whatever has happened. */
static void kill_command(struct ws_command *r)
{
	struct stop stop = stop_cleanup(KILL_MS);
	struct error ignored = { 0 };
	int rc = 0;

	r->last_ms = clock_ms();
	r->failures = 0;
	r->killing = true; /* a command that has not started must not start */
	while (rc == 0 && !r->ended) {
		if (!r->ws)
			r->killed = false;
		rc = ensure_connected(r, &stop, &ignored);
		if (rc == 0 && !r->killed) {
			r->killed = true;
			if (ws_send(r->ws, WS_TEXT, STR("{\"type\":\"kill\"}"),
				    &stop, &ignored) < 0)
				disconnect(r);
		}
		if (rc == 0 && r->ws)
			rc = receive_frame(r, &stop, &ignored);
	}
}

int langsmith_ws_call(struct sandbox *sb, struct str command,
		      int64_t timeout_ms, struct buf *out,
		      const struct stop *stop, struct error *err)
{
	struct ws_command r = { .sb = sb,
				.command = command,
				.timeout_ms = timeout_ms,
				.out = out,
				.last_ms = clock_ms(),
				.limit = clock_ms() + timeout_ms,
				.message = BUF_INIT(MESSAGE_MAX) };
	struct stop closing;
	struct error ignored = { 0 };
	struct error why = { 0 };
	int rc;

	ids_uuid7(r.id);
	rc = write_start(&r, &why);
	if (rc == 0)
		rc = follow_command(&r, stop, &why);
	if (rc == 0 && r.timed_out)
		rc = error_set(&why, ERR_TIMEOUT, "no answer in time");
	else if (rc < 0 && r.sent && !r.ended && why.code != ERR_GONE)
		kill_command(&r);
	closing = stop_within(stop, CLOSE_MS);
	if (r.ws)
		(void)ws_close(r.ws, WS_CODE_NORMAL, "", &closing, &ignored);
	disconnect(&r);
	buf_release(&r.start);
	buf_release(&r.message);
	if (rc < 0)
		*err = why;
	return rc;
}
