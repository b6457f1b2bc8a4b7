/* buf.c - borrowed byte slices, and owned buffers with a size limit. */
/* SPDX-License-Identifier: MIT */
#include "base/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum { SMALLEST = 64 };

static void grow_storage(struct buf *b, size_t need)
{
	size_t cap = b->cap ? b->cap : SMALLEST;

	if (need <= b->cap)
		return;
	while (cap < need)
		cap += cap / 2;
	b->ptr = xrealloc(b->ptr, cap, 1);
	b->cap = cap;
}

char *buf_room(struct buf *b, size_t len)
{
	if (len > b->max || b->len > b->max - len) {
		b->over = true;
		return NULL;
	}
	grow_storage(b, b->len + len + 1);
	return b->ptr + b->len;
}

void buf_added(struct buf *b, size_t len)
{
	b->len += len;
	b->ptr[b->len] = '\0';
}

void buf_add(struct buf *b, const void *data, size_t len)
{
	char *room;

	if (b->len >= b->max && len) {
		b->over = true;
		return;
	}
	if (len > b->max - b->len) {
		len = b->max - b->len;
		b->over = true;
	}
	grow_storage(b, b->len + len + 1);
	room = b->ptr + b->len;
	if (len)
		memcpy(room, data, len);
	buf_added(b, len);
}

void buf_addstr(struct buf *b, struct str s)
{
	buf_add(b, s.ptr, s.len);
}

void buf_adds(struct buf *b, const char *s)
{
	buf_add(b, s, strlen(s));
}

void buf_addc(struct buf *b, char c)
{
	if (b->len < b->max && b->len + 1 < b->cap) {
		b->ptr[b->len] = c;
		buf_added(b, 1);
	} else {
		buf_add(b, &c, 1);
	}
}

void buf_addf(struct buf *b, const char *fmt, ...)
{
	char small[256];
	va_list ap;
	va_list again;
	int len;

	va_start(ap, fmt);
	va_copy(again, ap);
	len = vsnprintf(small, sizeof(small), fmt, ap);
	if (len >= 0 && (size_t)len < sizeof(small)) {
		buf_add(b, small, (size_t)len);
	} else if (len >= 0) {
		char *text = xcalloc((size_t)len + 1, 1);

		vsnprintf(text, (size_t)len + 1, fmt, again);
		buf_add(b, text, (size_t)len);
		free(text);
	}
	va_end(again);
	va_end(ap);
}

void buf_consume(struct buf *b, size_t len)
{
	if (!len)
		return;
	b->len -= len;
	memmove(b->ptr, b->ptr + len, b->len);
	b->ptr[b->len] = '\0';
}

int64_t buf_take(struct buf *b, char *room, size_t len)
{
	if (len > b->len)
		len = b->len;
	if (len)
		memcpy(room, b->ptr, len);
	buf_consume(b, len);
	return (int64_t)len;
}

bool buf_add_line(struct buf *line, struct str *chunk)
{
	const char *end =
		chunk->len ? memchr(chunk->ptr, '\n', chunk->len) : NULL;
	size_t n = end ? (size_t)(end - chunk->ptr) : chunk->len;
	size_t used = n + (end != NULL);

	buf_add(line, chunk->ptr, n);
	*chunk = (struct str){ chunk->ptr + used, chunk->len - used };
	return end;
}

void buf_clear(struct buf *b)
{
	b->len = 0;
	b->over = false;
	if (b->ptr)
		b->ptr[0] = '\0';
}

int buf_check(const struct buf *b, const char *what, struct error *err)
{
	if (!b->over)
		return 0;
	return error_set(err, ERR_LIMIT, "%s is larger than %zu bytes", what,
			 b->max);
}

void buf_drop_nul(struct buf *b, size_t from)
{
	char *end = b->len > from ? memchr(b->ptr + from, '\0', b->len - from)
				  : NULL;

	if (!end)
		return;
	for (const char *p = end; p < b->ptr + b->len; p++)
		if (*p)
			*end++ = *p;
	b->len = (size_t)(end - b->ptr);
	*end = '\0';
}

char *buf_detach(struct buf *b)
{
	char *ptr = b->ptr ? b->ptr : xcalloc(1, 1);

	*b = BUF_INIT(b->max);
	return ptr;
}

struct str buf_str(const struct buf *b)
{
	return (struct str){ b->ptr, b->len };
}

void buf_release(struct buf *b)
{
	free(b->ptr);
	*b = BUF_INIT(b->max);
}

void buf_wipe(struct buf *b)
{
	if (b->ptr)
		explicit_bzero(b->ptr, b->cap);
	buf_release(b);
}
