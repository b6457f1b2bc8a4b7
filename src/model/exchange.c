/* exchange.c - one request to a model: its stream and its cost. */
/* SPDX-License-Identifier: MIT */
/* The first half has the callbacks of http_do(): bytes become events, the wire
 * adds them to the draft, and exchange_end() decides the outcome. The second
 * half, struct account, links the requests of one conversation to the meter,
 * which counts their cost: account_reserve() before each request,
 * account_settle() after it. */
#include "model/exchange.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/ids.h"
#include "base/json.h"
#include "base/str.h"
#include "model/failure.h"
#include "model/message.h"
#include "net/retry.h"

enum {
	/* how long to wait for the end of the transfer after the vendor's end
	 * mark */
	END_MS = 250,
};

void exchange_init(struct exchange *x, const struct wire *wire,
		   const struct model_choice *choice,
		   const struct model_sink *sink, int64_t quiet_ms)
{
	*x = (struct exchange){
		.wire = wire,
		.choice = choice,
		.lead = BUF_INIT(SSE_MAX_EVENT),
		.response = { .retry_after_ms = -1 },
		.progress_at = clock_ms(),
		.quiet_ms = quiet_ms,
	};
	draft_init(&x->draft, sink);
	x->draft.choice = choice;
	sse_init(&x->sse);
}

void exchange_release(struct exchange *x)
{
	draft_release(&x->draft);
	sse_release(&x->sse);
	event_stream_release(&x->frames);
	buf_release(&x->lead);
	http_response_release(&x->response);
}

static int on_event(void *arg, struct str event, struct str data,
		    struct error *err)
{
	struct exchange *x = arg;

	x->events++;
	/* ignore data after the vendor's end mark */
	if (!data.len || x->draft.done)
		return 0;
	return x->wire->event(&x->draft, event, data, err);
}

/* Handles a frame of AWS's stream. A frame that is not an event reports an
 * error: it is converted to an event "exception" with the same JSON as other
 * vendors' errors. */
static int on_frame(void *arg, const struct event_message *m, struct error *err)
{
	struct exchange *x = arg;
	struct str name = m->exception.len ? m->exception : m->code;
	struct buf data = BUF_INIT(SSE_MAX_EVENT);
	cJSON *tree;
	const char *words;
	int rc;

	if (str_is(m->kind, "event"))
		return on_event(x, m->event, m->payload, err);
	tree = json_parse(m->payload);
	words = json_string(tree, "message", NULL);
	buf_adds(&data, "{\"error\":{");
	json_member(&data, "type", name);
	buf_addc(&data, ',');
	json_member(&data, "message", words ? str_of(words) : m->text);
	buf_adds(&data, "}}");
	rc = on_event(x, STR("exception"), buf_str(&data), err);
	cJSON_Delete(tree);
	buf_release(&data);
	return rc;
}

/* True if part of an event was received: the rest may arrive slowly. Part of a
 * comment does not count: comments are heartbeats. */
static bool within_event(const struct exchange *x)
{
	const struct sse *s = &x->sse;

	return x->frames.frame.len || (s->line.len && s->line.ptr[0] != ':');
}

/* -1 with err if only heartbeats have arrived for quiet_ms. */
static int check_quiet(struct exchange *x, struct error *err)
{
	int64_t now = clock_ms();

	if (x->progress != x->draft.progress || within_event(x)) {
		x->progress = x->draft.progress;
		x->progress_at = now;
	}
	if (now - x->progress_at < x->quiet_ms || x->draft.done)
		return 0;
	return error_set(err, ERR_NETWORK,
			 "the stream stalled: only heartbeats for %lld seconds",
			 (long long)(now - x->progress_at) / 1000);
}

static bool has_frames(const struct exchange *x)
{
	return str_starts(str_of(x->response.content_type),
			  "application/vnd.amazon.eventstream");
}

static int feed_stream(struct exchange *x, struct str chunk, struct error *err)
{
	if (x->wire->aws)
		return has_frames(x) ? event_stream_feed(&x->frames, chunk,
							 on_frame, x, err)
				     : 0;
	return sse_feed(&x->sse, chunk, on_event, x, err);
}

void exchange_sent(void *arg)
{
	struct exchange *x = arg;
	const struct model_sink *sink = x->draft.sink;

	x->sent = true;
	if (sink && sink->sent)
		sink->sent(sink->arg);
}

void exchange_header(void *arg, struct str line)
{
	struct exchange *x = arg;
	size_t colon = str_find(line, ':');
	struct str value = str_trim(str_skip(line, colon + 1));
	struct str name = { line.ptr, colon };

	if (str_is_nocase(name, "x-amzn-errortype"))
		snprintf(x->error_type, sizeof(x->error_type), "%.*s",
			 (int)value.len, value.ptr ? value.ptr : "");
	else if (str_is_nocase(name, "date"))
		snprintf(x->date, sizeof(x->date), "%.*s", (int)value.len,
			 value.ptr ? value.ptr : "");
}

/* http_request.idle: called when all received data was passed to the sink. The
 * sink may now write it out. */
int64_t exchange_idle(void *arg)
{
	struct exchange *x = arg;
	const struct model_sink *sink = x->draft.sink;

	if (sink && sink->flush && x->draft.bytes != x->flushed)
		sink->flush(sink->arg);
	x->flushed = x->draft.bytes;
	if (sink && sink->keep)
		sink->keep(sink->arg);
	return x->draft.done ? END_MS : -1;
}

int64_t exchange_again(void *arg)
{
	struct exchange *x = arg;
	const struct model_sink *sink = x->draft.sink;

	return sink && sink->keep_in && !x->draft.done
		       ? sink->keep_in(sink->arg)
		       : -1;
}

int exchange_data(void *arg, struct str chunk, struct error *err)
{
	struct exchange *x = arg;

	if (!x->events)
		buf_addstr(&x->lead, chunk);
	if (feed_stream(x, chunk, err) < 0 || check_quiet(x, err) < 0) {
		x->refused = true;
		return -1;
	}
	return 0;
}

/* Handles the end of the stream. A last event may lack the empty line after it.
 * If there was no event at all, the server did not stream: its whole answer is
 * one event. */
static int last_event(struct exchange *x, struct error *err)
{
	struct str lead;

	if (x->wire->aws)
		return 0;
	if (feed_stream(x, STR("\n\n"), err) < 0)
		return -1;
	lead = str_trim(buf_str(&x->lead));
	if (x->events || !lead.len || lead.ptr[0] != '{')
		return 0;
	return on_event(x, (struct str){ 0 }, lead, err);
}

/* True if name is that of an SSE field. cut: the beginning of such a name
 * counts too. */
static bool is_field(struct str name, bool cut)
{
	static const char *const fields[] = { "event", "data", "id", "retry" };

	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		struct str field = str_of(fields[i]);

		if (cut && name.len < field.len)
			field.len = name.len;
		if (str_eq(field, name))
			return true;
	}
	return false;
}

/* Index of the first CR or LF, or s.len. */
static size_t line_end(struct str s)
{
	size_t lf = str_find(s, '\n');
	size_t cr = str_find(s, '\r');

	return lf < cr ? lf : cr;
}

/* True if lead is the beginning of an event stream without a complete event:
 * comments, empty lines and fields. The last line may be incomplete. */
static bool is_stream(struct str lead)
{
	if (str_starts(lead, "\xEF\xBB\xBF"))
		lead = str_skip(lead, 3);
	while (lead.len) {
		size_t end = line_end(lead);
		struct str line = { lead.ptr, end };
		size_t colon = str_find(line, ':');

		if (line.len && line.ptr[0] != ':' &&
		    !is_field((struct str){ line.ptr, colon },
			      end == lead.len && colon == line.len))
			return false;
		lead = str_skip(lead, end + 1);
	}
	return true;
}

/* Makes the error for an answer that is not an event stream. A retry would not
 * help. */
static int refuse_no_stream(struct exchange *x, struct error *err)
{
	struct str type = str_of(x->response.content_type);

	if (failure_is_page(type, buf_str(&x->lead)))
		return failure_of_page(x->choice, x->response.status,
				       buf_str(&x->lead), err);
	(void)error_set(
		err, ERR_PROTOCOL,
		"%s: expected an event stream from the server (HTTP %d%s%s)",
		x->choice->provider, x->response.status,
		x->response.content_type[0] ? ", " : "",
		x->response.content_type);
	return error_hint(err, "Check the provider's address: %.200s",
			  x->choice->base_url);
}

/* Makes the error for an answer that ended early. A retry may help if it was an
 * event stream. */
static int refuse_cut(struct exchange *x, struct error *err)
{
	int status = x->response.status;

	x->again =
		(x->events || (x->wire->aws ? has_frames(x)
					    : is_stream(buf_str(&x->lead)))) &&
		status < 300 && status != 204;
	if (!x->again)
		return refuse_no_stream(x, err);
	return error_set(err, ERR_NETWORK,
			 "%s: the stream ended before the answer was complete",
			 x->choice->provider);
}

static int finish_exchange(struct exchange *x, int rc, struct error *err)
{
	if (rc == 0 && x->response.status >= 400)
		return failure_of_status(x->choice, &x->response, &x->again,
					 err);
	if (rc == 0 && !x->draft.done && last_event(x, err) < 0) {
		if (err->code == ERR_PROTOCOL)
			return refuse_cut(x, err);
		x->refused = true;
		rc = -1;
	}
	/* The answer is complete even if the connection broke afterwards. */
	if (x->wire->complete(&x->draft) && (rc == 0 || x->draft.done))
		return 0;
	if (rc == 0)
		return refuse_cut(x, err);
	if (x->refused)
		x->again = !x->draft.fatal;
	else
		x->again = retry_worthy(rc, &x->response, err);
	if (err->http_status >= 300 && err->http_status < 400)
		(void)error_hint(
			err, "Check the provider's address: %.120s%s%.120s",
			x->choice->base_url, x->choice->url_from ? ", " : "",
			x->choice->url_from ? x->choice->url_from : "");
	if (err->code == ERR_UNREACHABLE && err->exact != CASE_PROXY)
		(void)error_hint(err,
				 "Check %.120s and this machine's network, "
				 "then send the message again.",
				 x->choice->url_from ? x->choice->url_from
						     : "the address");
	if (err->code == ERR_UNREACHABLE)
		(void)error_wrap(err, "cannot reach %.200s%s%.200s%s",
				 x->choice->base_url,
				 x->choice->url_from ? " (" : "",
				 x->choice->url_from ? x->choice->url_from : "",
				 x->choice->url_from ? ")" : "");
	if (err->code == ERR_CANCELLED || err->code == ERR_TIMEOUT)
		x->again = false;
	else
		(void)error_wrap(err, "%s", x->choice->provider);
	return -1;
}

int exchange_end(struct exchange *x, int rc, struct error *err)
{
	rc = finish_exchange(x, rc, err);
	/* the likely cause: the user thinks that the key goes elsewhere */
	if (rc < 0 && x->choice->url_unused &&
	    (err->code == ERR_UNREACHABLE || err->code == ERR_AUTH ||
	     err->code == ERR_NOT_FOUND))
		(void)error_hint(err, "%s", x->choice->url_unused);
	if (rc < 0 && !err->hint[0] &&
	    (err->code == ERR_NETWORK || err->code == ERR_UNREACHABLE))
		(void)error_hint(
			err,
			"Check the network and send the message again. `dcode "
			"models test %.40s:%.60s` checks the connection.",
			x->choice->provider, x->choice->model);
	return rc;
}

enum {
	/* digits; no JSON parser rounds a number of that length */
	LIMIT_DIGITS = 15,
	LIMIT_WISHED = 32000, /* tokens, if the user sets no limit */
	ROOM_AFTER_THINKING = 8192,
};

/* Returns a random number. It is written into the head where the output limit
 * belongs, so that this place can be found. It must not occur elsewhere in the
 * head, not even in a repository's file that is part of the system prompt. */
static int64_t make_mark(void)
{
	char random[LIMIT_DIGITS + 1];
	int64_t mark = 9;

	ids_random(random, LIMIT_DIGITS);
	for (int i = 1; i < LIMIT_DIGITS; i++)
		mark = mark * 10 + (unsigned char)random[i] % 10;
	return mark;
}

void account_begin(struct account *a, struct meter_model *meter,
		   struct params_options *options)
{
	a->meter = meter;
	if (meter && meter_limits(meter))
		options->mark = make_mark();
}

/* Finds the place of the output limit in the head by its mark, and computes the
 * limits of an answer. */
int account_find_limit(struct account *a, const struct params_options *options,
		       const cJSON *params, struct buf *head, struct error *err)
{
	int64_t most = a->meter ? meter_most_output(a->meter) : 0;
	int64_t thinking =
		json_int(json_get(params, "thinking"), "budget_tokens", 0);
	char mark[LIMIT_DIGITS + 1];
	size_t at;

	a->least = METER_LEAST;
	if (thinking > 0 && thinking < INT32_MAX)
		a->least += thinking;
	a->limit = LIMIT_WISHED;
	if (a->limit < a->least)
		a->limit = a->least + ROOM_AFTER_THINKING;
	if (most > 0 && most < a->limit)
		a->limit = most;
	if (options->limit > 0)
		a->limit = options->limit;
	if (!options->mark)
		return 0;
	snprintf(mark, sizeof(mark), "%" PRId64, options->mark);
	at = str_search(buf_str(head), str_of(mark));
	if (at == head->len)
		return error_set(
			err, ERR_CONFIG,
			"--max-usd cannot be enforced: dcode cannot set an "
			"output limit with this model's parameters");
	a->limit_at = at;
	return 0;
}

/* Overwrites the mark with the limit. Spaces, which JSON allows, fill the
 * rest. */
static void write_limit(struct account *a, struct buf *head)
{
	char text[LIMIT_DIGITS + 1];

	if (!a->limit_at)
		return;
	snprintf(text, sizeof(text), "%-*" PRId64, LIMIT_DIGITS,
		 a->call.output);
	memcpy(head->ptr + a->limit_at, text, LIMIT_DIGITS);
}

static bool is_sent(const struct history *h, const struct part *p)
{
	if (p->kind != PART_MEDIA || !p->type || h->hides)
		return false;
	return !(h->lacks & (media_is_pdf(p->type) ? MODEL_TAKES_PDF
						   : MODEL_TAKES_IMAGES));
}

void account_add(struct account *a, const struct model_choice *choice,
		 const struct history *h, const struct message *m,
		 size_t growth)
{
	int64_t window = a->meter ? meter_window(a->meter) : 0;
	struct account_media added = { 0 };

	for (size_t i = 0; a->meter && i < m->n; i++) {
		const struct part *p = &m->parts[i];
		int64_t most;

		if (!is_sent(h, p))
			continue;
		most = media_max_tokens(choice->wire, choice->model,
					(struct str){ p->bytes, p->n_bytes });
		added.tokens += window && most > window ? window : most;
		added.bytes += (int64_t)p->n_bytes / 3 * 4;
	}
	if (added.bytes > (int64_t)growth)
		/* some files were left out of the history: count their tokens
		 * in addition to all bytes */
		added.bytes = 0;
	a->media.bytes += added.bytes;
	a->media.tokens += added.tokens;
}

void account_forget(struct account *a)
{
	a->tokens = 0;
	/* unknown, as some files may be gone: count all bytes as tokens */
	a->media.bytes = 0;
}

/* Returns the most input tokens that a request can have. The vendor counted
 * those of the last request, and the history only grows at its end. What was
 * added counts one token per byte, and files count as much as the vendor
 * documents. */
static int64_t most_input(const struct account *a, size_t bytes)
{
	if (a->tokens && bytes >= a->bytes)
		return a->tokens + (int64_t)(bytes - a->bytes) -
		       (a->media.bytes - a->media_then.bytes) +
		       (a->media.tokens - a->media_then.tokens);
	return (int64_t)bytes - a->media.bytes + a->media.tokens;
}

int account_reserve(struct account *a, struct buf *head, size_t bytes,
		    struct stop *stop, struct error *err)
{
	int64_t ms;

	if (!a->meter)
		return 0;
	a->call = (struct meter_call){ .input = most_input(a, bytes),
				       .least = a->least };
	if (a->limit_at)
		a->call.output = a->limit;
	if (meter_reserve(a->meter, &a->call, err) < 0)
		return -1;
	write_limit(a, head);
	a->call_bytes = bytes;
	ms = meter_model_time_left(a->meter);
	if (ms != INT64_MAX)
		*stop = stop_within(stop, ms);
	return 0;
}

static enum meter_end find_end(const struct exchange *x, int rc,
			       const struct error *why)
{
	int status = x->response.status;

	if (rc == 0)
		return METER_DONE;
	if (status >= 300 || (!status && why->code == ERR_UNREACHABLE) ||
	    (!status && !x->sent))
		return METER_REFUSED;
	return METER_CUT;
}

/* Returns how many bytes of the answer were received, including thinking and
 * signatures. */
static int64_t count_arrived(const struct draft *d)
{
	size_t n = d->thought.len;

	for (size_t i = 0; i < d->n; i++)
		n += d->parts[i].text.len + d->parts[i].extra.len;
	return (int64_t)n;
}

void account_note(struct account *a, const struct exchange *x)
{
	a->call.arrived = count_arrived(&x->draft);
	if (a->meter)
		meter_note(a->meter, &a->call, &x->draft.usage);
}

void account_settle(struct account *a, const struct exchange *x, int rc,
		    const struct error *why)
{
	const struct usage *u = &x->draft.usage;
	int64_t input = u->input + u->cache_read + u->cache_write;

	if (!a->meter)
		return;
	a->call.arrived = count_arrived(&x->draft);
	meter_settle(a->meter, &a->call, find_end(x, rc, why), u);
	if (rc == 0 && input > 0) {
		a->tokens = input;
		a->bytes = a->call_bytes;
		a->media_then = a->media;
	}
}
