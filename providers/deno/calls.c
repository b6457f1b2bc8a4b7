/* calls.c - Deno's JSON-RPC messages, and the requests that wait for them. */
/* SPDX-License-Identifier: MIT */
#include "providers/deno/calls.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "base/mem.h"
#include "base/sanitize.h"
#include "base/str.h"

enum {
	EARLY = 64,          /* streams that no reply has named yet */
	EARLY_MAX = 8 << 20, /* bytes of one */
	WORDS_MAX = 300,
};

static int refuse_message(struct error *err, const char *what)
{
	return error_set(err, ERR_PROTOCOL, "unexpected server response: %s",
			 what);
}

static int decode_base64(struct buf *out, const char *text, size_t max,
			 struct error *err)
{
	size_t len = strlen(text);
	size_t most = len / 4 * 3 + 3;
	size_t got = 0;
	char *room;

	out->max = most;
	room = buf_room(out, most);
	buf_added(out, 0);
	if (sodium_base642bin((unsigned char *)room, most, text, len, NULL,
			      &got, NULL, sodium_base64_VARIANT_ORIGINAL))
		return refuse_message(err, "not base64");
	buf_added(out, got);
	if (got > max)
		return error_set(err, ERR_LIMIT,
				 "the answer is larger than %zu bytes", max);
	return 0;
}

/* {"constructorName":"NotFound","message":M,"code":"ENOENT",...} */
static void parse_failure(struct deno_frame *f, const cJSON *error)
{
	const char *name = json_string(error, "constructorName", "");

	f->failed = true;
	f->code = json_string(error, "code", name);
	f->message = json_string(error, "message", "");
}

static int parse_reply(struct deno_frame *f, struct error *err)
{
	const cJSON *result = json_get(f->tree, "result");
	const cJSON *fault = json_get(f->tree, "error");

	f->kind = DENO_REPLY;
	f->id = json_int(f->tree, "id", -1);
	if (f->id < 0)
		return refuse_message(
			err, fault ? json_string(fault, "message", "a refusal")
				   : "a reply without a request");
	if (!result && cJSON_IsObject(fault)) {
		parse_failure(f, fault);
		return 0;
	}
	f->ok = json_get(result, "ok");
	if (!f->ok && cJSON_IsObject(json_get(result, "error")))
		parse_failure(f, json_get(result, "error"));
	else if (!f->ok)
		return refuse_message(err, "a reply without a result");
	return 0;
}

static int parse_stream(struct deno_frame *f, const char *event, size_t max,
			struct error *err)
{
	const cJSON *params = json_get(f->tree, "params");
	const char *data = json_string(params, "data", NULL);

	f->id = json_int(params, "streamId", -1);
	if (f->id < 0)
		return refuse_message(err, "a stream without a number");
	if (strcmp(event, "enqueue") == 0) {
		f->kind = DENO_DATA;
		return data ? decode_base64(&f->data, data, max, err)
			    : refuse_message(err, "a stream without data");
	}
	if (strcmp(event, "end") == 0 || strcmp(event, "error") == 0) {
		f->kind = DENO_END;
		f->failed = event[1] == 'r';
	} else if (strcmp(event, "cancel") == 0) {
		f->kind = DENO_CANCEL;
	}
	return 0;
}

int deno_frame_parse(struct deno_frame *f, struct str text, size_t max,
		     struct error *err)
{
	static const char stream[] = "$sandbox.stream.";
	const char *method;

	*f = (struct deno_frame){ .id = -1, .code = "", .message = "" };
	if (str_is(text, "pong"))
		return 0;
	f->tree = json_parse(text);
	if (!cJSON_IsObject(f->tree))
		return refuse_message(err, "not a message");
	method = json_string(f->tree, "method", NULL);
	if (!method)
		return parse_reply(f, err);
	if (strncmp(method, stream, sizeof(stream) - 1) == 0)
		return parse_stream(f, method + sizeof(stream) - 1, max, err);
	return 0;
}

void deno_frame_release(struct deno_frame *f)
{
	cJSON_Delete(f->tree);
	buf_release(&f->data);
	*f = (struct deno_frame){ 0 };
}

void deno_frame_ask(struct buf *out, int64_t id, const char *method,
		    struct str params)
{
	buf_adds(out, "{\"jsonrpc\":\"2.0\",");
	if (id >= 0)
		buf_addf(out, "\"id\":%" PRId64 ",", id);
	json_member(out, "method", str_of(method));
	buf_adds(out, ",\"params\":");
	buf_addstr(out, params);
	buf_addc(out, '}');
}

struct deno_stream {
	struct deno_stream *next;
	int64_t id;
	struct buf data;
	bool ended;
	bool failed;
};

struct deno_waiting *deno_calls_add(struct deno_calls *c, int64_t id,
				    struct error *err)
{
	struct deno_waiting *w = xcalloc(1, sizeof(*w));

	if (cancel_init(&w->ready, err) < 0) {
		free(w);
		return NULL;
	}
	w->id = id;
	w->sending = -1;
	w->stream = -1;
	w->next = c->list;
	c->list = w;
	return w;
}

static void remove_call(struct deno_calls *c, struct deno_waiting *w)
{
	struct deno_waiting **at = &c->list;

	while (*at != w)
		at = &(*at)->next;
	*at = w->next;
	cancel_release(&w->ready);
	cJSON_Delete(w->ok);
	free(w);
}

static void finish(struct deno_calls *c, struct deno_waiting *w)
{
	w->done = true;
	if (w->abandoned)
		remove_call(c, w);
	else
		cancel_trigger(&w->ready);
}

void deno_calls_leave(struct deno_calls *c, struct deno_waiting *w)
{
	w->out = NULL;
	if (w->done || w->stream >= 0)
		remove_call(c, w);
	else
		w->abandoned = true;
}

static void free_stream(struct deno_stream *s)
{
	buf_release(&s->data);
	free(s);
}

/* Streams are kept only while a reply is to come that may name one. */
static bool is_naming(const struct deno_calls *c)
{
	for (const struct deno_waiting *w = c->list; w; w = w->next)
		if (w->spawn && w->stream < 0 && !w->done)
			return true;
	return false;
}

static void drop_early(struct deno_calls *c)
{
	while (c->early && !is_naming(c)) {
		struct deno_stream *s = c->early;

		c->early = s->next;
		free_stream(s);
	}
}

static void deliver(struct deno_waiting *w, const struct buf *data)
{
	if (!w->out)
		return;
	buf_addstr(w->out, buf_str(data));
	w->out->over = w->out->over || data->over;
	if (w->live)
		cancel_trigger(&w->ready);
}

bool deno_calls_full(const struct deno_calls *c)
{
	for (const struct deno_waiting *w = c->list; w; w = w->next)
		if (w->live && w->out && w->out->len >= DENO_FULL)
			return true;
	return false;
}

static void end_output(struct deno_calls *c, struct deno_waiting *w,
		       bool failed)
{
	if (failed)
		error_set(&w->why, ERR_NETWORK,
			  "the command's output ends early");
	finish(c, w);
}

/* Delivers what came of a stream before the reply that names it. */
static void claim_early(struct deno_calls *c, struct deno_waiting *w)
{
	struct deno_stream **at = &c->early;
	struct deno_stream *s;

	while (*at && (*at)->id != w->stream)
		at = &(*at)->next;
	s = *at;
	if (!s)
		return;
	*at = s->next;
	deliver(w, &s->data);
	if (s->ended)
		end_output(c, w, s->failed);
	free_stream(s);
}

static void set_failure(struct deno_waiting *w, const struct deno_frame *f)
{
	struct buf words = BUF_INIT(WORDS_MAX);

	snprintf(w->code, sizeof(w->code), "%s", f->code);
	if (f->code[0])
		buf_addf(&words, "%.*s: ", DENO_CODE, f->code);
	sanitize_text(str_of(f->message), &words);
	error_set(&w->why, ERR_REMOTE, "%s",
		  words.len ? words.ptr : "refused without a reason");
	buf_release(&words);
}

static void apply_reply(struct deno_calls *c, const struct deno_frame *f)
{
	struct deno_waiting *w = c->list;

	while (w && (w->id != f->id || w->done || w->stream >= 0))
		w = w->next;
	if (!w)
		return;
	if (f->failed) {
		set_failure(w, f);
		finish(c, w);
	} else if (!w->spawn || w->abandoned) {
		w->ok = cJSON_Duplicate(f->ok, true);
		finish(c, w);
	} else {
		w->pid = json_int(f->ok, "pid", -1);
		w->stream = json_int(f->ok, "stdoutStreamId", -1);
		if (w->stream >= 0) {
			claim_early(c, w);
		} else {
			error_set(&w->why, ERR_PROTOCOL,
				  "unexpected server response: no output");
			finish(c, w);
		}
	}
	drop_early(c);
}

static struct deno_stream *early_stream(struct deno_calls *c, int64_t id,
					struct error *err)
{
	struct deno_stream *s;
	int n = 0;

	for (s = c->early; s; s = s->next, n++)
		if (s->id == id)
			return s;
	if (n == EARLY) {
		error_set(err, ERR_PROTOCOL,
			  "unexpected server response: too many streams");
		return NULL;
	}
	s = xcalloc(1, sizeof(*s));
	s->id = id;
	s->data.max = EARLY_MAX;
	s->next = c->early;
	c->early = s;
	return s;
}

/* Data or end of a stream of the server's; dropped when no request wants it. */
static int apply_stream(struct deno_calls *c, const struct deno_frame *f,
			struct error *err)
{
	struct deno_waiting *w = c->list;
	struct deno_stream *s;

	while (w && (w->stream != f->id || w->done))
		w = w->next;
	if (w && f->kind == DENO_END)
		end_output(c, w, f->failed);
	else if (w)
		deliver(w, &f->data);
	if (w || !is_naming(c))
		return 0;
	s = early_stream(c, f->id, err);
	if (!s)
		return -1;
	if (!s->ended)
		buf_addstr(&s->data, buf_str(&f->data));
	s->ended = s->ended || f->kind == DENO_END;
	s->failed = s->failed || f->failed;
	return 0;
}

int deno_calls_apply(struct deno_calls *c, const struct deno_frame *f,
		     struct error *err)
{
	switch (f->kind) {
	case DENO_REPLY:
		apply_reply(c, f);
		return 0;
	case DENO_DATA:
	case DENO_END:
		return apply_stream(c, f, err);
	case DENO_CANCEL:
		for (struct deno_waiting *w = c->list; w; w = w->next)
			w->cancelled = w->cancelled || w->sending == f->id;
		return 0;
	default:
		return 0;
	}
}

void deno_calls_fail(struct deno_calls *c, const struct error *why)
{
	struct deno_waiting *next;

	for (struct deno_waiting *w = c->list; w; w = next) {
		next = w->next;
		if (w->done)
			continue;
		w->why = *why;
		finish(c, w);
	}
	drop_early(c);
}

int deno_calls_wait(struct deno_waiting *w, int64_t idle_ms,
		    const struct stop *stop, struct error *err)
{
	struct stop within = idle_ms ? stop_within(stop, idle_ms) : *stop;
	struct pollfd fds[] = {
		{ .fd = w->ready.fd[0], .events = POLLIN },
		{ .fd = stop_fd(stop), .events = POLLIN },
	};

	for (;;) {
		int n = poll(fds, 2, stop_poll_ms(&within, -1));

		if (n > 0 && fds[0].revents)
			return 0;
		if (stop_check(stop, err) < 0)
			return -1;
		if (clock_ms() >= within.deadline)
			return error_set(err, ERR_NETWORK, "no answer for %d s",
					 (int)(idle_ms / 1000));
		if (n < 0 && errno != EINTR)
			return error_errno(err, "poll");
	}
}
