/* str.h - operations on borrowed slices; none of them allocates. */
/* SPDX-License-Identifier: MIT */
#ifndef BASE_STR_H
#define BASE_STR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

struct str str_of(const char *s); /* NULL gives the empty slice */
bool str_eq(struct str a, struct str b);
bool str_is(struct str a, const char *b);
bool str_is_nocase(struct str a, const char *b); /* ASCII only */
bool str_starts(struct str s, const char *prefix);
bool str_ends(struct str s, const char *suffix);
/* ASCII white space off both ends. */
struct str str_trim(struct str s);
/* From byte n on; the empty slice when n is past the end. */
struct str str_skip(struct str s, size_t n);
/* Index of the first c, or s.len. */
size_t str_find(struct str s, char c);
/* Index of the first needle, or s.len; an empty needle is found at 0. */
size_t str_search(struct str s, struct str needle);
/* Takes the bytes up to the next sep off the front of *rest; false at the
 * end. "a,,b" gives three slices, "" none. */
bool str_split(struct str *rest, char sep, struct str *item);
/* Decimal, optional sign, nothing else; false on garbage or overflow. */
bool str_to_int(struct str s, int64_t *value);
/* "1048576", "512m", "2gb": bytes, b, k, m, g, t in any case being powers of
 * 1024; false on garbage, overflow or a negative number. */
bool str_to_size(struct str s, int64_t *bytes);
/* "12 bytes", "1.5 kB", "20.3 MB": powers of ten. */
void str_format_size(int64_t bytes, char room[32]);
/* Number of code points; a byte of a broken sequence counts as one. */
size_t str_chars(struct str s);
/* Bytes taken by the first n code points. */
size_t str_char_offset(struct str s, size_t n);
/* Well-formed UTF-8 throughout (RFC 3629: no surrogates, no overlongs). */
bool str_is_utf8(struct str s);
/* One or more printable ASCII characters, none of them white space. */
bool str_is_visible(struct str s);
/* The longest prefix that is well-formed UTF-8. */
size_t str_utf8_prefix(struct str s);

/* Appends a line as it may be printed and reviewed: controls but tabs become
 * "^[", bytes that are no UTF-8 "<FF>", and the characters that terminals hide
 * or reorder text with "<U+202E>". */
void visible_line(struct str line, struct buf *out);

/* Takes a word off the front of rest. Blanks, quotes and backslashes are as in
 * a shell, but that nothing is expanded; a quote may stay open. Owned, or NULL
 * at the end. */
char *words_take(struct str *rest);

/* Appends text, percent-encoded but for letters, digits, "-._~" and the
 * characters of keep. */
void percent_encode(struct buf *out, struct str text, const char *keep);
/* Appends the bytes that a value of a query or form stands for: "+" is a space.
 * What is no "%XX" stays as it is. */
void percent_decode(struct buf *out, struct str text);

/* How many letters have to be added, dropped, replaced or swapped with their
 * neighbour to make b of a; case is ignored. Words beyond 63 bytes differ by
 * their length. */
size_t nearest_distance(struct str a, struct str b);
/* The name with the least distance to word, the first of several; NULL when
 * there are none. */
const char *nearest_name(struct str word, const char *const *names, size_t n);

#endif
