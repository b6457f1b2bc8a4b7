/* buf.h - borrowed slices, and owned bytes with a ceiling. */
/* SPDX-License-Identifier: MIT */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct str {
	const char *ptr; /* borrowed bytes, no NUL promised; NULL if empty */
	size_t len;      /* bytes */
};

struct buf {
	char *ptr;  /* owned; NUL-terminated once anything was added */
	size_t len; /* bytes, without the NUL */
	size_t cap; /* bytes allocated */
	size_t max; /* bytes this buffer may ever hold */
	bool over;  /* something was dropped: see buf_check() */
};

#define STR(literal) ((struct str){ "" literal, sizeof(literal) - 1 })
#define BUF_INIT(limit) ((struct buf){ .max = (limit) })

/*
 * All additions keep what fits and set over when something did not. Nothing
 * else fails: out of memory aborts.
 */
void buf_add(struct buf *b, const void *data, size_t len);
void buf_addstr(struct buf *b, struct str s);
void buf_adds(struct buf *b, const char *s);
void buf_addc(struct buf *b, char c);
void buf_addf(struct buf *b, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Makes room for len more bytes and returns where to write them, or NULL when
 * the ceiling forbids it; buf_added() says how many were written. */
char *buf_room(struct buf *b, size_t len);
void buf_added(struct buf *b, size_t len);
/* Drops len bytes from the front. */
void buf_consume(struct buf *b, size_t len);
/* Moves at most len bytes from the front into room: how many. */
int64_t buf_take(struct buf *b, char *room, size_t len);
/* Moves the next of a stream's bytes, up to a line feed, from chunk to the end
 * of line; true when the line is whole, without its line feed. */
bool buf_add_line(struct buf *line, struct str *chunk);
/* Empties, keeps the memory and the ceiling, forgets over. */
void buf_clear(struct buf *b);
/* 0, or -1 with ERR_LIMIT "what is larger than N bytes" when over. */
int buf_check(const struct buf *b, const char *what, struct error *err);
/* Takes out each NUL from byte `from` on: text is also passed as a C string. */
void buf_drop_nul(struct buf *b, size_t from);
/* Hands over the bytes (never NULL, NUL-terminated); the buffer is empty. */
char *buf_detach(struct buf *b);
struct str buf_str(const struct buf *b);
void buf_release(struct buf *b);
/* Zeroes the bytes before freeing them: for secrets. */
void buf_wipe(struct buf *b);

#endif
