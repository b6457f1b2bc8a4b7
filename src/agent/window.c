/* window.c - estimates how full the model's context window is. */
/* SPDX-License-Identifier: MIT */
/*
 * How a model splits text into tokens is unknown. The number is estimated from
 * the last requests, as bytes per 1,000 tokens. window.h says in which
 * direction estimates may be wrong.
 */
#include "agent/window.h"

enum { /* bytes per 1,000 tokens, unless a comment gives another unit */
       USUAL = 4000,
       /* used before the first report: few bytes per token, to be safe */
       UNSEEN = 2000,
       FEWEST = 1000,
       MOST = 12000, /* if the vendor reports more, the report is wrong */
       /* maximum for the bytes that were added since the last report */
       ADDED_MOST = 2500,
       SHORT_PROMPT = 4000, /* bytes */
       /* divisor: 1/50 of the window is reserved for estimation errors */
       MARGIN = 50,
       /* tokens; if a server reports a larger window, the report is wrong */
       LARGEST = 10 << 20,
};

/* Sets most and limit. answer: tokens reserved for the answer; reduced to a
 * third of the window if it is more. at: see window_init(). */
static void set_limits(struct window *w, int64_t answer, int64_t at)
{
	int64_t room = w->size / 3;

	w->most = w->size - (answer < room ? answer : room) - w->size / MARGIN;
	w->limit = at > 100 ? at : w->size * at / 100;
	if (w->limit > w->most)
		w->limit = w->most;
}

void window_init(struct window *w, const struct model_facts *facts, int64_t at)
{
	*w = (struct window){
		.size = facts ? facts->context : 0,
		.assumed = facts && facts->assumed && at <= 100,
		.at = at,
	};
	if (at > 100 && w->size > (int64_t)at * 100 / WINDOW_AT)
		w->size = (int64_t)at * 100 / WINDOW_AT;
	if (facts && w->size > 0)
		set_limits(w,
			   facts->max_output > 0 ? facts->max_output
						 : w->size / 8,
			   at);
}

/* Returns the sum of all input tokens, or 0 if a number is not plausible. */
static int64_t sum_input(const struct usage *u)
{
	const int64_t parts[] = { u->input, u->cache_read, u->cache_write };
	int64_t sum = 0;

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		if (parts[i] > INT64_MAX / 4)
			return 0;
		sum += parts[i];
	}
	return sum;
}

bool window_learn(struct window *w, int64_t size, int64_t max_output,
		  size_t head)
{
	struct window next = *w;

	if ((!w->assumed && !w->learned) || size < WINDOW_LEAST ||
	    size > LARGEST || w->reported > size)
		return false;
	next.size = size;
	next.assumed = false;
	next.learned = true;
	set_limits(&next, max_output > 0 ? max_output : size / 8, w->at);
	if (window_about(&next, head) > next.most)
		return false;
	*w = next;
	return true;
}

void window_report(struct window *w, const struct usage *usage, size_t bytes)
{
	int64_t tokens = sum_input(usage);
	int64_t each;

	if (tokens <= 0 || !bytes)
		return;
	each = (int64_t)bytes * 1000 / tokens;
	if (each > MOST || each < FEWEST)
		return; /* not plausible: ignore the report */
	w->reported = tokens;
	w->reported_bytes = bytes;
	w->last = each;
	if (!w->least || w->last < w->least)
		w->least = w->last;
}

void window_forget(struct window *w)
{
	w->reported = 0;
	w->reported_bytes = 0;
}

/* True if the head and a short prompt fit into the window. Otherwise the window
 * cannot be that small: the vendor must have refused the request for another
 * reason. */
static bool has_room(const struct window *w, size_t head)
{
	return window_about(w, head + SHORT_PROMPT) <= w->most;
}

void window_refused(struct window *w, size_t bytes, size_t head)
{
	struct window next = *w;
	int64_t tokens = window_about(w, bytes);
	int64_t each = w->size ? (int64_t)bytes * 1000 / w->size : 0;

	if (!w->last && each >= FEWEST && each <= MOST)
		next.last = next.least = each;
	else if (!w->size || tokens < w->size)
		next.size = tokens;
	if (next.size != w->size)
		set_limits(&next, next.size / 8, WINDOW_AT);
	next.assumed = next.learned = false;
	window_forget(&next);
	if (has_room(&next, head))
		*w = next;
}

int64_t window_at_most(const struct window *w, size_t bytes)
{
	int64_t each = w->least ? w->least / 2 : UNSEEN;
	int64_t added;

	if (!w->reported || bytes < w->reported_bytes) {
		each = w->least ? w->least * 3 / 4 : UNSEEN;
		return (int64_t)bytes * 1000 / (each < 1 ? 1 : each);
	}
	added = (int64_t)(bytes - w->reported_bytes) * 1000;
	if (each < FEWEST)
		each = FEWEST;
	if (each > ADDED_MOST)
		each = ADDED_MOST;
	return w->reported + added / each;
}

bool window_is_full(const struct window *w, size_t bytes)
{
	if (w->size <= 0)
		return false;
	return (w->assumed ? w->reported : window_at_most(w, bytes)) > w->limit;
}

int64_t window_about(const struct window *w, size_t bytes)
{
	int64_t each = w->last ? w->last : USUAL;

	if (w->reported && bytes >= w->reported_bytes)
		return w->reported +
		       (int64_t)(bytes - w->reported_bytes) * 1000 / each;
	return (int64_t)bytes * 1000 / (each < 1 ? 1 : each);
}

size_t window_bytes(const struct window *w, int64_t tokens)
{
	return (size_t)(tokens * (w->last ? w->last : USUAL) / 1000);
}

size_t window_safe_bytes(const struct window *w, int64_t tokens)
{
	return (size_t)(tokens * (w->least ? w->least / 2 : UNSEEN) / 1000);
}
