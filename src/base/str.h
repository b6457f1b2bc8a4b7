/* str.h - operations on borrowed slices; none of them allocates. */
/* SPDX-License-Identifier: MIT */
#ifndef BASE_STR_H
#define BASE_STR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

struct str str_of(const char *s); /* NULL gives an empty slice */
bool str_eq(struct str a, struct str b);
bool str_is(struct str a, const char *b);
bool str_is_nocase(struct str a, const char *b); /* ASCII only */
/* Orders an array of char *; for qsort() and bsearch(). */
int str_compare(const void *a, const void *b);
bool str_starts(struct str s, const char *prefix);
bool str_ends(struct str s, const char *suffix);
/* Removes ASCII white space from both ends. */
struct str str_trim(struct str s);
/* Returns s from byte n on; empty if n is past the end. */
struct str str_skip(struct str s, size_t n);
/* Returns the index of the first c, or s.len. */
size_t str_find(struct str s, char c);
/* Returns the index of the first needle, or s.len. An empty needle is found at
 * 0. */
size_t str_search(struct str s, struct str needle);
/* Moves the bytes up to the next sep from the front of *rest to *item, and
 * skips sep. False at the end. "a,,b" gives three items, "" none. */
bool str_split(struct str *rest, char sep, struct str *item);
/* Returns the number of lines; the last one need not have a line end. */
size_t str_count_lines(struct str s);
/* Parses a decimal number with an optional sign. False for any other text, and
 * on overflow. */
bool str_to_int(struct str s, int64_t *value);
/* Parses a size in bytes: "1048576", "512m", "2gb". The units b, k, m, g, t, in
 * any case, are powers of 1024. False on bad syntax, overflow or a negative
 * number. */
bool str_to_size(struct str s, int64_t *bytes);
/* Formats as "12 bytes", "1.5 kB", "20.3 MB", with powers of ten. */
void str_format_size(int64_t bytes, char room[32]);
/* Returns the number of code points. An invalid byte counts as one. */
size_t str_chars(struct str s);
/* Returns how many bytes the first n code points have. */
size_t str_char_offset(struct str s, size_t n);
/* True if s is valid UTF-8 (RFC 3629: no surrogates, no overlong forms). */
bool str_is_utf8(struct str s);
/* True if s is one or more printable ASCII characters without white space. */
bool str_is_visible(struct str s);
/* Returns the length of the longest valid UTF-8 prefix that does not split a
 * character. */
size_t str_utf8_prefix(struct str s);

/* Appends a line in a form that can be reviewed: control characters except tabs
 * become "^[", invalid UTF-8 bytes "<FF>", and characters that hide or reorder
 * text "<U+202E>". */
void visible_line(struct str line, struct buf *out);

/* Removes a word from the front of rest. Blanks, quotes and backslashes have
 * the same effect as in a shell, but nothing is expanded. A quote need not be
 * closed. Returns the word (owned), or NULL at the end. */
char *words_take(struct str *rest);

/* Appends text percent-encoded, except for letters, digits, "-._~" and the
 * characters in keep. */
void percent_encode(struct buf *out, struct str text, const char *keep);
/* Appends the decoded value of a query or a form: "+" becomes a space. An
 * invalid "%XX" is copied unchanged. */
void percent_decode(struct buf *out, struct str text);

/* Returns how many letters must be added, removed, replaced or swapped with a
 * neighbour to turn a into b, ignoring case. If one of them is longer than 63
 * bytes, returns the length of the longer one. */
size_t nearest_distance(struct str a, struct str b);
/* Returns the least distance at which a name is too different from word to be
 * suggested for it: 3, or less for a short word. */
size_t nearest_limit(struct str word);
/* Returns the name closest to word, the first of several; NULL if there are no
 * names. */
const char *nearest_name(struct str word, const char *const *names, size_t n);

#endif
