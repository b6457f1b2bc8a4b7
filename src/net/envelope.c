/* envelope.c - length-prefixed messages, taken apart as they come. */
/* SPDX-License-Identifier: MIT */
#include "net/envelope.h"

#include "base/str.h"

/* The head is complete: reads how many bytes follow. */
static int measure(struct envelope *e, struct error *err)
{
	const unsigned char *h = e->head;
	size_t most = e->largest ? e->largest : ENVELOPE_LARGEST;

	e->size = (size_t)h[1] << 24 | (size_t)h[2] << 16 | (size_t)h[3] << 8 |
		  h[4];
	if (h[0] & ~e->last)
		return error_set(err, ERR_PROTOCOL,
				 "unexpected server response: a message with "
				 "flags %u",
				 h[0]);
	if (e->size > most)
		return error_set(err, ERR_PROTOCOL,
				 "unexpected server response: a message of "
				 "%zu bytes",
				 e->size);
	e->body.max = most;
	return 0;
}

/* Takes what it can use off *chunk. */
static int take(struct envelope *e, struct str *chunk, struct error *err)
{
	size_t n;

	if (e->ended)
		return error_set(
			err, ERR_PROTOCOL,
			"unexpected server response: data after the end");
	while (chunk->len && e->have < ENVELOPE_HEAD) {
		e->head[e->have++] = (unsigned char)chunk->ptr[0];
		*chunk = str_skip(*chunk, 1);
		if (e->have == ENVELOPE_HEAD && measure(e, err) < 0)
			return -1;
	}
	n = e->have == ENVELOPE_HEAD ? e->size - e->body.len : 0;
	if (n > chunk->len)
		n = chunk->len;
	buf_add(&e->body, chunk->ptr, n);
	*chunk = str_skip(*chunk, n);
	return 0;
}

int envelope_feed(struct envelope *e, struct str chunk,
		  int (*message)(void *arg, struct str bytes, bool last,
				 struct error *err),
		  void *arg, struct error *err)
{
	while (chunk.len) {
		if (take(e, &chunk, err) < 0)
			return -1;
		if (e->have < ENVELOPE_HEAD || e->body.len < e->size)
			continue;
		e->ended = e->head[0] & e->last;
		e->have = 0;
		if (message(arg, buf_str(&e->body), e->ended, err) < 0)
			return -1;
		buf_clear(&e->body);
	}
	return 0;
}

void envelope_release(struct envelope *e)
{
	buf_release(&e->body);
	*e = (struct envelope){ 0 };
}

void envelope_head(struct buf *out, size_t len)
{
	const char head[ENVELOPE_HEAD] = {
		0,
		(char)(len >> 24),
		(char)(len >> 16),
		(char)(len >> 8),
		(char)len,
	};

	buf_add(out, head, sizeof(head));
}

void envelope_add(struct buf *out, struct str bytes)
{
	envelope_head(out, bytes.len);
	buf_addstr(out, bytes);
}
