/* model_ask.c - one streamed answer, from any vendor. */
/* SPDX-License-Identifier: MIT */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "model/exchange.h"
#include "model/model_state.h"
#include "model/server.h"
#include "model/wires/bedrock_account.h"
#include "model/wires/vertex_account.h"
#include "net/retry.h"

enum {
	CONNECT_MS = 30000,
	THINKING_MS = 16000, /* before silence is worth a word */
	QUIET_FACTOR = 5,    /* times idle_ms: nothing but heartbeats */
	MAX_ERROR_BODY = 256 << 10,
};

static void weigh_media(struct model *m, const struct part *p)
{
	m->media.bytes += (p->n_bytes + 2) / 3 * 4;
	m->media.weight += model_media_weight(m, p);
}

void model_push(struct model *m, const struct message *message)
{
	const struct history *h = &m->history;
	struct message sent = { 0 };
	size_t len = h->bytes.len;

	if (message->role == ROLE_USER) {
		m->prompt_media = m->media;
		m->prompt = (struct history_point){
			len, h->block_end, h->last, { 0 }
		};
		if (len >= sizeof(m->prompt.end))
			memcpy(m->prompt.end, h->bytes.ptr + len - 2, 2);
	}
	for (size_t i = 0; i < message->n; i++)
		if (message->parts[i].kind == PART_MEDIA && !h->hides)
			weigh_media(m, &message->parts[i]);
	call_ids_add(&m->call_ids, message);
	if (m->tools && tool_set_translate(m->tools, message, &sent)) {
		wire_push(m->wire, &m->history, m->origin, &sent);
		message_release(&sent);
	} else {
		wire_push(m->wire, &m->history, m->origin, message);
	}
	account_add(&m->account, &m->choice, h, message, h->bytes.len - len);
}

const char *model_origin(const struct model *m)
{
	return m->origin;
}

void model_forget_prompt(struct model *m)
{
	const struct history_point *p = &m->prompt;
	struct history *h = &m->history;

	h->bytes.len = p->len;
	h->block_end = p->block_end;
	h->last = p->last;
	m->media = m->prompt_media;
	if (p->len >= sizeof(p->end))
		memcpy(h->bytes.ptr + p->len - 2, p->end, 2);
	if (m->marked > p->block_end)
		m->marked = p->block_end;
	account_forget(&m->account);
}

void model_reply_release(struct model_reply *r)
{
	message_release(&r->message);
	*r = (struct model_reply){ 0 };
}

static struct str slice(const struct buf *b, size_t from, size_t to)
{
	return (struct str){ b->ptr + from, to - from };
}

enum { MAX_SEGMENTS = 12 };

/* The request as pieces: head, history with cache marks in between, tail. A
 * second mark stands where the last one stood, for the vendor looks back over
 * 20 blocks only to find what it has cached. */
static size_t segments(const struct model *m, struct str out[MAX_SEGMENTS])
{
	const struct history *h = &m->history;
	const struct wire_option *o = m->wire->options;
	size_t marks[2] = { m->marked, h->block_end };
	size_t at = 0;
	size_t n = 0;

	out[n++] = buf_str(&m->head);
	for (size_t i = 0; m->wire->mark && i < 2; i++) {
		if (marks[i] <= at)
			continue;
		out[n++] = slice(&h->bytes, at, marks[i]);
		out[n++] = str_of(m->wire->mark);
		at = marks[i];
	}
	if (h->bytes.len > at)
		out[n++] = slice(&h->bytes, at, h->bytes.len);
	out[n++] = str_of(m->wire->tail);
	for (unsigned bit = 1; o && o->name && n + 1 < MAX_SEGMENTS;
	     o++, bit <<= 1)
		if (o->at_first != ((m->options.turned & bit) != 0))
			out[n++] = str_of(o->member);
	out[n++] = STR("}");
	return n;
}

void model_dial(struct model *m, const struct stop *stop)
{
	http_dial(m->http, m->url, stop);
}

/* The same request as one piece, with the headers that sign it. */
static int send_signed(struct model *m, struct http_request *req,
		       struct exchange *x, const struct stop *stop,
		       struct error *err)
{
	struct signed_request s = { .url = m->url,
				    .headers = req->headers,
				    .body = BUF_INIT(MAX_HISTORY) };
	struct str body;
	int rc;

	for (size_t i = 0; i < req->n_segments; i++)
		buf_addstr(&s.body, req->segments[i]);
	body = buf_str(&s.body);
	rc = bedrock_account_sign(m->aws, m->http, &s, stop, err);
	if (rc == 0) {
		req->segments = &body;
		req->n_segments = 1;
		req->headers = s.lines;
		rc = http_do(m->http, req, &x->response, stop, err);
	}
	signed_request_release(&s);
	return rc;
}

/* The request with a token of gcloud's. */
static int send_with_token(struct model *m, struct http_request *req,
			   struct exchange *x, const struct stop *stop,
			   struct error *err)
{
	char *token = vertex_account_header(m->choice.vertex, stop, err);
	const char *lines[MAX_HEADERS + 2];
	size_t n = 0;
	int rc;

	if (!token)
		return -1;
	for (; req->headers[n]; n++)
		lines[n] = req->headers[n];
	lines[n++] = token;
	lines[n] = NULL;
	req->headers = lines;
	rc = http_do(m->http, req, &x->response, stop, err);
	mem_wipe(token);
	return rc;
}

static int send_as(struct model *m, struct http_request *req,
		   struct exchange *x, const struct stop *stop,
		   struct error *err)
{
	if (m->aws && !m->choice.api_key)
		return send_signed(m, req, x, stop, err);
	if (m->choice.vertex && !m->choice.api_key)
		return send_with_token(m, req, x, stop, err);
	return http_do(m->http, req, &x->response, stop, err);
}

static int reserve(struct model *m, const struct http_request *req,
		   struct stop *stop, struct error *err)
{
	size_t bytes = 0;

	for (size_t i = 0; i < req->n_segments; i++)
		bytes += req->segments[i].len;
	return account_reserve(&m->account, &m->head, bytes, stop, err);
}

/* One request, one answer or none. */
static int send_request(struct model *m, struct exchange *x,
			const struct stop *stop, struct error *err)
{
	struct str pieces[MAX_SEGMENTS];
	struct http_request req = {
		.method = "POST",
		.url = m->url,
		.headers = (const char *const *)m->headers,
		.segments = pieces,
		.n_segments = segments(m, pieces),
		.data = exchange_data,
		.sent = exchange_sent,
		.idle = exchange_idle,
		.again = exchange_again,
		.header = exchange_header,
		.arg = x,
		.connect_ms = CONNECT_MS,
		.idle_ms = m->choice.idle_ms,
		.flags = HTTP_PROBE, /* retries are events */
	};
	struct stop thinking = *stop;
	int rc;

	thinking.held = clock_ms() + THINKING_MS;
	x->response.body.max = MAX_ERROR_BODY;
	if (reserve(m, &req, &thinking, err) < 0)
		return -1;
	m->running = x;
	rc = send_as(m, &req, x, &thinking, err);
	m->running = NULL;
	rc = exchange_end(x, rc, err);
	account_settle(&m->account, x, rc, err);
	return rc;
}

void model_note_cost(struct model *m)
{
	if (m->running)
		account_note(&m->account, m->running);
}

/* A server that minds an option says so by name. */
static bool flip_option(struct model *m, const struct exchange *x,
			const struct model_sink *sink)
{
	const struct wire_option *o = m->wire->options;
	struct str body = buf_str(&x->response.body);
	char why[256];

	if (x->response.status != 400 && x->response.status != 422)
		return false;
	for (unsigned bit = 1; o && o->name; o++, bit <<= 1) {
		if ((m->options.decided & bit) ||
		    str_search(body, str_of(o->complaint)) == body.len)
			continue;
		m->options.decided |= bit;
		m->options.turned |= bit;
		snprintf(why, sizeof(why), "%s: %s", m->choice.provider,
			 o->why ? o->why : "");
		if (o->why && sink && sink->restart)
			sink->restart(sink->arg, why);
		return true;
	}
	return false;
}

/* A key of AWS's that has ended, and a token of Google's that is refused, is
 * replaced, once in a turn. */
static bool renew_key(struct model *m, const struct exchange *x)
{
	bool aws = m->aws && !strncmp(x->error_type, "ExpiredToken", 12);
	bool google = m->choice.vertex && x->response.status == 401;

	if (m->renewed || !(aws || google))
		return false;
	m->renewed = true;
	return aws ? bedrock_account_renew(m->aws)
		   : vertex_account_renew(m->choice.vertex);
}

/* This machine's clock is wrong, says AWS: once in a turn. */
static bool correct_clock(struct model *m, const struct exchange *x)
{
	if (!m->aws || m->choice.api_key || m->corrected ||
	    x->response.status != 403)
		return false;
	m->corrected = true;
	return bedrock_clock_correct(x->error_type, x->date,
				     buf_str(&x->response.body));
}

static void say_notes(struct model *m, const struct model_sink *sink)
{
	char *line;

	if (!m->tools || !sink || !sink->notice)
		return;
	while ((line = tool_set_take_note(m->tools))) {
		sink->notice(sink->arg, line);
		free(line);
	}
}

/* One tool of a server's would stop every turn: it is left out. */
static bool leave_out_tools(struct model *m, const struct exchange *x,
			    const struct model_sink *sink,
			    const struct error *why)
{
	struct error ignored = { 0 };
	int status = x->response.status;

	if (!m->tools || (status != 400 && status != 422) ||
	    !tool_set_refuse(m->tools, buf_str(&x->response.body),
			     why->message) ||
	    model_rewrite_head(m, &ignored) < 0)
		return false;
	say_notes(m, sink);
	return true;
}

struct tries { /* of one answer */
	struct retry usual;
	struct retry busy; /* while the server is: by time */
	int64_t since;     /* the first such refusal, clock_ms(); 0: none */
};

/* Too many requests, or overloaded, before the stream or within it. */
static bool is_busy(const struct exchange *x)
{
	int status =
		x->response.status < 400 ? x->draft.status : x->response.status;

	return status == 429 || status == 529;
}

static void announce_retry(const struct model *m, const struct tries *t,
			   const struct model_sink *sink, struct retry *r,
			   const struct http_response *res,
			   const struct error *err)
{
	long long s = (long long)retry_next_ms(r, res) / 1000;
	char why[sizeof(err->message) + 96];
	char wait[32] = "";

	if (!sink || !sink->restart)
		return;
	if (sink->waits)
		sink->waits(sink->arg, retry_next_ms(r, res));
	if (s > 0)
		snprintf(wait, sizeof(wait), " in %lld s", s);
	if (r == &t->busy)
		snprintf(why, sizeof(why),
			 "%s; trying again%s (waited %lld of %lld s)",
			 err->message, wait,
			 (long long)(clock_ms() - t->since) / 1000,
			 (long long)m->choice.busy_ms / 1000);
	else
		snprintf(why, sizeof(why), "%s; trying again%s (%d of %d)",
			 err->message, wait, r->attempt + 1, r->max);
	sink->restart(sink->arg, why);
}

static int hint_later(struct error *err, int64_t wish)
{
	return error_hint(
		err,
		"The server asks for a wait of %lld %s. Send the message again "
		"then, or choose another model (-M).",
		(long long)(wish < 120000 ? (wish + 999) / 1000 : wish / 60000),
		wish < 120000 ? "seconds" : "minutes");
}

/* Whether the next try of a busy server comes within the time for it. */
static bool has_time(const struct model *m, struct tries *t,
		     const struct http_response *res, struct error *err)
{
	int64_t wish = retry_wish(res);
	int64_t left;

	if (!t->since)
		t->since = clock_ms();
	left = t->since + m->choice.busy_ms - clock_ms();
	if (left > 0 && wish > left) {
		(void)hint_later(err, wish);
		return false;
	}
	if (left <= 0) {
		(void)error_add(err, " (waited %lld s)",
				(long long)(clock_ms() - t->since) / 1000);
		(void)error_hint(
			err, "Send the message again later, choose another "
			     "model (-M), or raise busy_seconds in [retries].");
		return false;
	}
	/* the last try is at the end of the time */
	if (retry_next_ms(&t->busy, res) > left)
		t->busy.wait_ms = left;
	return true;
}

/* A wait that --timeout would cut is not begun. */
static bool ends_before(const struct stop *stop, int64_t ms, int64_t wish,
			struct error *err)
{
	if (wish < 0 || stop->deadline == INT64_MAX ||
	    stop->deadline - clock_ms() > ms)
		return false;
	err->code = ERR_TIMEOUT;
	snprintf(err->reason, sizeof(err->reason), MODEL_NO_TIME);
	(void)error_add(err,
			" (the server asks to wait %lld s, longer than there "
			"is time)",
			(long long)(wish + 999) / 1000);
	return true;
}

/* Whether to try once more, after the wait for it. */
static bool wait_for_retry(struct model *m, const struct model_sink *sink,
			   struct tries *t, const struct exchange *x,
			   const struct stop *stop, struct error *err)
{
	const struct http_response *res = &x->response;
	bool busy = m->choice.busy_ms > 0 && is_busy(x);
	struct retry *r = busy ? &t->busy : &t->usual;
	struct stop until = *stop;

	if (!x->again || (busy && !has_time(m, t, res, err)))
		return false;
	if (!retry_possible(r, res)) {
		if (r->attempt < r->max)
			(void)hint_later(err, retry_wish(res));
		return false;
	}
	if (ends_before(stop, retry_next_ms(r, res), retry_wish(res), err))
		return false;
	if (m->account.meter) { /* the sandbox costs meanwhile */
		int64_t ms = meter_model_time_left(m->account.meter);

		if (ms != INT64_MAX)
			until = stop_within(stop, ms);
	}
	announce_retry(m, t, sink, r, res, err);
	return retry_wait(r, res, &until, err);
}

int model_stream(struct model *m, const struct model_sink *sink,
		 struct model_reply *reply, const struct stop *stop,
		 struct error *err)
{
	struct tries tries = {
		.usual = { .max = m->choice.max_retries,
			   .base_ms = m->choice.backoff_ms },
		.busy = { .max = INT_MAX,
			  .base_ms = m->choice.backoff_ms,
			  .most_ms = m->choice.busy_ms,
			  .patient = true },
	};
	int64_t quiet_ms = m->choice.idle_ms * QUIET_FACTOR;

	m->renewed = m->corrected = false;
	say_notes(m, sink);
	if (buf_check(&m->history.bytes, "the conversation", err) < 0)
		return -1;
	for (;;) {
		struct error failed = { 0 };
		struct exchange x;
		bool again;
		int rc;

		exchange_init(&x, m->wire, &m->choice, sink, quiet_ms);
		rc = send_request(m, &x, stop, &failed);
		if (rc == 0) {
			m->marked = m->history.block_end;
			draft_finish(&x.draft, reply, &m->call_ids,
				     m->wire->replay);
			if (m->tools)
				tool_set_restore(m->tools, &reply->message);
			reply->message.origin = xstrdup(m->origin);
			exchange_release(&x);
			return 0;
		}
		if (renew_key(m, &x) || correct_clock(m, &x) ||
		    flip_option(m, &x, sink) ||
		    leave_out_tools(m, &x, sink, &failed)) {
			exchange_release(&x);
			continue;
		}
		*err = failed;
		again = wait_for_retry(m, sink, &tries, &x, stop, err);
		exchange_release(&x);
		if (!again && strcmp(err->reason, MODEL_UNKNOWN) == 0)
			server_suggest(m, stop, err);
		if (!again)
			return -1;
	}
}
