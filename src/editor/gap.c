/* gap.c - a text that is edited at one place: a gap buffer. */
/* SPDX-License-Identifier: MIT */
#include "editor/gap.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum { GAP_MIN = 1024 };

size_t gap_len(const struct gap *g)
{
	return g->cap - (g->end - g->start);
}

unsigned char gap_byte(const struct gap *g, size_t at)
{
	return (unsigned char)
		g->bytes[at < g->start ? at : at + g->end - g->start];
}

static void move_gap(struct gap *g, size_t at)
{
	size_t n;

	if (at < g->start) {
		n = g->start - at;
		memmove(g->bytes + g->end - n, g->bytes + at, n);
		g->start -= n;
		g->end -= n;
	} else if (at > g->start) {
		n = at - g->start;
		memmove(g->bytes + g->start, g->bytes + g->end, n);
		g->start += n;
		g->end += n;
	}
}

static void grow_gap(struct gap *g, size_t need)
{
	size_t tail = g->cap - g->end;
	size_t cap;

	if (g->end - g->start >= need)
		return;
	cap = g->cap + need + g->cap / 2 + GAP_MIN;
	g->bytes = xrealloc(g->bytes, cap, 1);
	memmove(g->bytes + cap - tail, g->bytes + g->end, tail);
	g->end = cap - tail;
	g->cap = cap;
}

void gap_replace(struct gap *g, size_t at, size_t len, struct str text)
{
	if (len || text.len)
		move_gap(g, at);
	g->end += len;
	if (!text.len)
		return;
	grow_gap(g, text.len);
	memcpy(g->bytes + g->start, text.ptr, text.len);
	g->start += text.len;
}

struct str gap_view(struct gap *g, size_t from, size_t to)
{
	if (from >= to)
		return (struct str){ 0 };
	if (from < g->start && to > g->start)
		move_gap(g, g->start - from < to - g->start ? from : to);
	if (from >= g->start)
		return (struct str){ g->bytes + g->end + from - g->start,
				     to - from };
	return (struct str){ g->bytes + from, to - from };
}

size_t gap_after_last(struct gap *g, size_t from, size_t to, char c)
{
	struct str s = gap_view(g, from, to);
	const char *at = s.len ? memrchr(s.ptr, c, s.len) : NULL;

	return at ? from + (size_t)(at - s.ptr) + 1 : from;
}

size_t gap_find(struct gap *g, size_t from, size_t to, char c)
{
	struct str s = gap_view(g, from, to);
	const char *at = s.len ? memchr(s.ptr, c, s.len) : NULL;

	return at ? from + (size_t)(at - s.ptr) : to;
}

void gap_release(struct gap *g)
{
	free(g->bytes);
	*g = (struct gap){ 0 };
}
