/* account.c - the requests of one conversation, as the meter sees them. */
/* SPDX-License-Identifier: MIT */
#include "model/account.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/ids.h"
#include "base/json.h"
#include "base/str.h"
#include "model/media.h"

enum {
	LIMIT_DIGITS = 15,    /* a JSON number that no reader rounds */
	LIMIT_WISHED = 32000, /* tokens, where the user names no limit */
	ROOM_AFTER_THINKING = 8192,
};

/* Digits that nothing else in the request has: a file of the repository that is
 * part of the system prompt cannot know them. */
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
		return error_set(err, ERR_CONFIG,
				 "--max-usd: this model's parameters leave no "
				 "place for an output limit");
	a->limit_at = at;
	return 0;
}

/* Spaces after a number are no part of it. */
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
		added.bytes = 0; /* not all of them went along */
	a->media.bytes += added.bytes;
	a->media.tokens += added.tokens;
}

void account_forget(struct account *a)
{
	a->tokens = 0;
	a->media.bytes = 0; /* nobody knows which of them are left */
}

/* The history only grows at its end: what was added since the last answer has
 * at most a token for each byte, and files what the vendor says. */
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

/* All that the answer has, hidden thinking too. */
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
