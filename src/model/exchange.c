/* exchange.c - one request to a model and the stream that answers it. */
/* SPDX-License-Identifier: MIT */
#include "model/exchange.h"

#include <stdio.h>

#include "base/json.h"
#include "base/str.h"
#include "model/failure.h"
#include "net/retry.h"

enum {
	END_MS = 250, /* after the vendor's end mark, for the transfer's own */
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
	/* after the vendor's end mark nothing counts any more */
	if (!data.len || x->draft.done)
		return 0;
	return x->wire->event(&x->draft, event, data, err);
}

/* A frame of AWS's stream that is no event says what went wrong. */
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

/* An event that arrives slowly is no silence; comments are. */
static bool within_event(const struct exchange *x)
{
	const struct sse *s = &x->sse;

	return x->frames.frame.len || (s->line.len && s->line.ptr[0] != ':');
}

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

/* What came out of the stream since the last time is there to be shown. */
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

/* A last event without the empty line after it; then, a server that did not
 * stream at all: its whole answer is one event, if it is one. */
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

/* The name that a line begins with; cut: it may be its beginning only. */
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

/* Comments, empty lines and fields, the last line cut anywhere: a stream that
 * ended before its first event. */
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

/* Something came, but no stream: asking again brings the same. */
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

int exchange_end(struct exchange *x, int rc, struct error *err)
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
	/* a connection that breaks after the end mark took nothing away */
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
