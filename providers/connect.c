/* connect.c - the envelopes of a Connect stream, taken apart as they come. */
/* SPDX-License-Identifier: MIT */
#include "providers/connect.h"

#include "base/str.h"

enum { FLAG_LAST = 2 };

/* The head is complete: is there anything to wait for? */
static int measure(struct connect *c, struct error *err)
{
	const unsigned char *h = c->head;

	c->size = (size_t)h[1] << 24 | (size_t)h[2] << 16 | (size_t)h[3] << 8 |
		  h[4];
	if (h[0] & ~FLAG_LAST)
		return error_set(err, ERR_PROTOCOL,
				 "unexpected server response: a message with "
				 "flags %u",
				 h[0]);
	if (c->size > CONNECT_LARGEST)
		return error_set(err, ERR_PROTOCOL,
				 "unexpected server response: a message of "
				 "%zu bytes",
				 c->size);
	c->body.max = CONNECT_LARGEST;
	return 0;
}

/* Takes what it can use off *chunk. */
static int take(struct connect *c, struct str *chunk, struct error *err)
{
	size_t n;

	if (c->ended)
		return error_set(err, ERR_PROTOCOL,
				 "unexpected server response: more after the "
				 "end");
	while (chunk->len && c->have < CONNECT_HEAD) {
		c->head[c->have++] = (unsigned char)chunk->ptr[0];
		*chunk = str_skip(*chunk, 1);
		if (c->have == CONNECT_HEAD && measure(c, err) < 0)
			return -1;
	}
	n = c->have == CONNECT_HEAD ? c->size - c->body.len : 0;
	if (n > chunk->len)
		n = chunk->len;
	buf_add(&c->body, chunk->ptr, n);
	*chunk = str_skip(*chunk, n);
	return 0;
}

int connect_feed(struct connect *c, struct str chunk,
		 int (*message)(void *arg, struct str json, bool last,
				struct error *err),
		 void *arg, struct error *err)
{
	while (chunk.len) {
		if (take(c, &chunk, err) < 0)
			return -1;
		if (c->have < CONNECT_HEAD || c->body.len < c->size)
			continue;
		c->ended = c->head[0] & FLAG_LAST;
		c->have = 0;
		if (message(arg, buf_str(&c->body), c->ended, err) < 0)
			return -1;
		buf_clear(&c->body);
	}
	return 0;
}

void connect_release(struct connect *c)
{
	buf_release(&c->body);
	*c = (struct connect){ 0 };
}

void connect_envelope(struct buf *out, struct str json)
{
	const char head[CONNECT_HEAD] = {
		0,
		(char)(json.len >> 24),
		(char)(json.len >> 16),
		(char)(json.len >> 8),
		(char)json.len,
	};

	buf_add(out, head, sizeof(head));
	buf_addstr(out, json);
}
