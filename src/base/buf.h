/* buf.h - borrowed byte slices, and owned buffers with a size limit. */
/* SPDX-License-Identifier: MIT */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct str {
	/* borrowed bytes, not always NUL-terminated; NULL if empty */
	const char *ptr;
	size_t len; /* bytes */
};

struct buf {
	char *ptr;  /* owned; NUL-terminated unless NULL */
	size_t len; /* bytes, without the NUL */
	size_t cap; /* bytes allocated */
	size_t max; /* limit of len in bytes */
	bool over;  /* bytes were dropped because of max: see buf_check() */
};

#define STR(literal) ((struct str){ "" literal, sizeof(literal) - 1 })
#define BUF_INIT(limit) ((struct buf){ .max = (limit) })

/*
 * The buf_add functions append as many bytes as fit below max, and set over if
 * there were more. They have no other error: dcode aborts when out of memory.
 */
void buf_add(struct buf *b, const void *data, size_t len);
void buf_addstr(struct buf *b, struct str s);
void buf_adds(struct buf *b, const char *s);
void buf_addc(struct buf *b, char c);
void buf_addf(struct buf *b, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Reserves len more bytes and returns where to write them, or NULL if max does
 * not allow it. buf_added() then adds the len bytes that were written. */
char *buf_room(struct buf *b, size_t len);
void buf_added(struct buf *b, size_t len);
/* Removes len bytes from the front. */
void buf_consume(struct buf *b, size_t len);
/* Moves up to len bytes from the front into room and returns their number. */
int64_t buf_take(struct buf *b, char *room, size_t len);
/* Moves bytes from the front of chunk to the end of line, up to a line feed.
 * True if the line is complete; the line feed is removed and not added. */
bool buf_add_line(struct buf *line, struct str *chunk);
/* Empties the buffer. Keeps its memory and max, and clears over. */
void buf_clear(struct buf *b);
/* If over is set, returns -1 with ERR_LIMIT "what is larger than N bytes"; else
 * 0. */
int buf_check(const struct buf *b, const char *what, struct error *err);
/* Removes each NUL from byte `from` on. For text that is also used as a C
 * string, which a NUL would end. */
void buf_drop_nul(struct buf *b, size_t from);
/* Returns the bytes (never NULL, NUL-terminated; the caller frees them) and
 * leaves the buffer empty. */
char *buf_detach(struct buf *b);
struct str buf_str(const struct buf *b);
void buf_release(struct buf *b);
/* Like buf_release(), but zeroes the bytes first: for secrets. */
void buf_wipe(struct buf *b);

#endif
