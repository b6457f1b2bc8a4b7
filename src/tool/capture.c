/* capture.c - keeps the head and the tail of a long output. */
/* SPDX-License-Identifier: MIT */
#include "tool/capture.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"

void capture_init(struct capture *c, size_t half)
{
	*c = (struct capture){ .head = BUF_INIT(half), .half = half };
}

void capture_release(struct capture *c)
{
	buf_release(&c->head);
	free(c->ring);
	c->ring = NULL;
	c->at = 0;
	c->past = 0;
}

void capture_add(struct capture *c, struct str chunk)
{
	size_t room = c->half - c->head.len;
	size_t len = chunk.len < room ? chunk.len : room;

	buf_add(&c->head, chunk.ptr, len);
	chunk = str_skip(chunk, len);
	if (!chunk.len)
		return;
	if (!c->ring)
		c->ring = xcalloc(c->half, 1);
	c->past += (int64_t)chunk.len;
	if (chunk.len > c->half)
		chunk = str_skip(chunk, chunk.len - c->half);
	while (chunk.len) {
		len = c->half - c->at;
		if (len > chunk.len)
			len = chunk.len;
		memcpy(c->ring + c->at, chunk.ptr, len);
		c->at = (c->at + len) % c->half;
		chunk = str_skip(chunk, len);
	}
}

/* The ring's bytes in order: two slices. */
static void unroll(const struct capture *c, struct str *first,
		   struct str *second)
{
	bool full = c->past >= (int64_t)c->half;

	*first = (struct str){ 0 };
	if (full)
		*first = (struct str){ c->ring + c->at, c->half - c->at };
	*second = (struct str){ c->ring, c->at };
	if (!first->len) {
		*first = *second;
		*second = (struct str){ 0 };
	}
}

/* Off the rest of a sequence whose beginning was dropped. */
static struct str skip_partial(struct str s)
{
	for (int i = 0; i < 3 && s.len; i++) {
		if (((unsigned char)s.ptr[0] & 0xC0) != 0x80)
			break;
		s = str_skip(s, 1);
	}
	return s;
}

/* Without a copy where out is empty: it may be megabytes. */
static void move_head(struct capture *c, size_t len, struct buf *out)
{
	size_t max = out->max;

	if (out->len || !len || max < c->head.len) {
		buf_add(out, c->head.ptr, len);
		return;
	}
	buf_release(out);
	*out = c->head;
	out->max = max;
	out->len = len;
	out->ptr[len] = '\0';
	c->head = BUF_INIT(c->half);
}

void capture_shrink(struct capture *c, size_t half)
{
	struct capture small;
	struct str first = { 0 };
	struct str second = { 0 };

	if ((int64_t)c->head.len + c->past <= (int64_t)(2 * half))
		return;
	capture_init(&small, half);
	if (c->past)
		unroll(c, &first, &second);
	capture_add(&small, buf_str(&c->head));
	capture_add(&small, first);
	capture_add(&small, second);
	small.past += c->past - (int64_t)(first.len + second.len);
	capture_release(c);
	*c = small;
}

bool capture_finish(struct capture *c, struct buf *out)
{
	int64_t total = (int64_t)c->head.len + c->past;
	bool cut = c->past > (int64_t)c->half;
	struct str head = buf_str(&c->head);
	struct str first = { 0 };
	struct str second = { 0 };

	if (c->past)
		unroll(c, &first, &second);
	if (cut) {
		head.len = str_utf8_prefix(head);
		first = skip_partial(first);
		total -= (int64_t)(head.len + first.len + second.len);
	}
	move_head(c, head.len, out);
	if (cut)
		buf_addf(out,
			 "\n\n... [%" PRId64 " bytes of output were dropped "
			 "here] ...\n\n",
			 total);
	buf_addstr(out, first);
	buf_addstr(out, second);
	capture_release(c);
	return cut;
}
