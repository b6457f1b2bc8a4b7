/* str.c - text: searching, cutting, numbers, similar words, invisible
 * characters. */
/* SPDX-License-Identifier: MIT */
/*
 * All functions work on borrowed text, which need not end with NUL. Functions
 * that count characters assume UTF-8 and count an invalid byte as one
 * character.
 */
#include "base/str.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static char to_lower(char c);

struct str str_of(const char *s)
{
	return (struct str){ s, s ? strlen(s) : 0 };
}

bool str_eq(struct str a, struct str b)
{
	return a.len == b.len && (!a.len || !memcmp(a.ptr, b.ptr, a.len));
}

bool str_is(struct str a, const char *b)
{
	size_t i;

	if (!b)
		return !a.len;
	/* The first bytes differ as a rule: quicker than strlen(). */
	for (i = 0; i < a.len; i++)
		if (!b[i] || b[i] != a.ptr[i])
			return false;
	return !b[i];
}

bool str_is_nocase(struct str a, const char *b)
{
	return a.len == strlen(b) && (!a.len || !strncasecmp(a.ptr, b, a.len));
}

int str_compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

bool str_starts(struct str s, const char *prefix)
{
	size_t len = strlen(prefix);

	return s.len >= len && (!len || !memcmp(s.ptr, prefix, len));
}

bool str_ends(struct str s, const char *suffix)
{
	size_t len = strlen(suffix);

	return s.len >= len &&
	       (!len || !memcmp(s.ptr + s.len - len, suffix, len));
}

static bool is_space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

struct str str_trim(struct str s)
{
	while (s.len && is_space(s.ptr[0]))
		s = str_skip(s, 1);
	while (s.len && is_space(s.ptr[s.len - 1]))
		s.len--;
	return s;
}

struct str str_skip(struct str s, size_t n)
{
	if (n >= s.len)
		return (struct str){ 0 };
	return (struct str){ s.ptr + n, s.len - n };
}

size_t str_find(struct str s, char c)
{
	const char *at = s.len ? memchr(s.ptr, c, s.len) : NULL;

	return at ? (size_t)(at - s.ptr) : s.len;
}

size_t str_search(struct str s, struct str needle)
{
	const char *at;

	if (!needle.len)
		return 0;
	if (!s.len)
		return 0;
	at = memmem(s.ptr, s.len, needle.ptr, needle.len);
	return at ? (size_t)(at - s.ptr) : s.len;
}

bool str_split(struct str *rest, char sep, struct str *item)
{
	size_t at;

	if (!rest->ptr)
		return false;
	at = str_find(*rest, sep);
	*item = (struct str){ rest->ptr, at };
	if (at == rest->len)
		*rest = (struct str){ 0 };
	else
		*rest = (struct str){ rest->ptr + at + 1, rest->len - at - 1 };
	return item->len || rest->ptr || at;
}

size_t str_count_lines(struct str s)
{
	struct str line;
	size_t n = 0;

	while (str_split(&s, '\n', &line))
		n++;
	return n;
}

bool str_to_int(struct str s, int64_t *value)
{
	bool negative = str_starts(s, "-");
	uint64_t limit = (uint64_t)INT64_MAX + (negative ? 1 : 0);
	uint64_t sum = 0;

	if (negative || str_starts(s, "+"))
		s = str_skip(s, 1);
	if (!s.len)
		return false;
	for (size_t i = 0; i < s.len; i++) {
		uint64_t digit = (uint64_t)(unsigned char)s.ptr[i] - '0';

		if (digit > 9 || sum > (limit - digit) / 10)
			return false;
		sum = sum * 10 + digit;
	}
	*value = negative ? (int64_t)(0 - sum) : (int64_t)sum;
	return true;
}

bool str_to_size(struct str s, int64_t *bytes)
{
	static const char units[] = "kmgt";
	int64_t n;
	int shift = 0;

	if (s.len && (s.ptr[s.len - 1] | 32) == 'b')
		s.len--;
	for (int i = 0; s.len && units[i]; i++)
		if ((s.ptr[s.len - 1] | 32) == units[i])
			shift = 10 * (i + 1);
	if (shift)
		s.len--;
	if (!str_to_int(s, &n) || n < 0 || n > INT64_MAX >> shift)
		return false;
	*bytes = n << shift;
	return true;
}

/* Returns the length of the UTF-8 sequence at the front, or 0 if it is not
 * valid (RFC 3629 §4). */
static size_t sequence_length(const unsigned char *p, size_t len)
{
	unsigned char low = 0x80;
	unsigned char high = 0xBF;
	size_t more;

	if (p[0] < 0x80)
		return 1;
	if (p[0] < 0xC2 || p[0] > 0xF4)
		return 0;
	more = p[0] < 0xE0 ? 1 : p[0] < 0xF0 ? 2 : 3;
	if (more >= len)
		return 0;
	/* E0 and F0: overlong forms. ED: surrogates. F4: above U+10FFFF. */
	if (p[0] == 0xE0)
		low = 0xA0;
	if (p[0] == 0xED)
		high = 0x9F;
	if (p[0] == 0xF0)
		low = 0x90;
	if (p[0] == 0xF4)
		high = 0x8F;
	if (p[1] < low || p[1] > high)
		return 0;
	for (size_t i = 2; i <= more; i++)
		if (p[i] < 0x80 || p[i] > 0xBF)
			return 0;
	return more + 1;
}

/* True if the first eight bytes are ASCII: a quick test. */
static bool are_ascii(const unsigned char *p, size_t len)
{
	uint64_t eight;

	if (len < sizeof(eight))
		return false;
	memcpy(&eight, p, sizeof(eight));
	return !(eight & 0x8080808080808080u);
}

size_t str_utf8_prefix(struct str s)
{
	const unsigned char *p = (const unsigned char *)s.ptr;
	size_t at = 0;

	while (at < s.len) {
		size_t left = s.len - at;
		size_t step = are_ascii(p + at, left)
				      ? 8
				      : sequence_length(p + at, left);

		if (!step)
			break;
		at += step;
	}
	return at;
}

bool str_is_visible(struct str s)
{
	for (size_t i = 0; i < s.len; i++)
		if (s.ptr[i] <= ' ' || s.ptr[i] > '~')
			return false;
	return s.len > 0;
}

bool str_is_utf8(struct str s)
{
	return str_utf8_prefix(s) == s.len;
}

size_t str_char_offset(struct str s, size_t n)
{
	const unsigned char *p = (const unsigned char *)s.ptr;
	size_t at = 0;

	while (n && at < s.len) {
		size_t left = s.len - at;
		bool eight = n >= 8 && are_ascii(p + at, left);
		size_t step = eight ? 8 : sequence_length(p + at, left);

		at += step ? step : 1;
		n -= eight ? 8 : 1;
	}
	return at;
}

size_t str_chars(struct str s)
{
	const unsigned char *p = (const unsigned char *)s.ptr;
	size_t at = 0;
	size_t n = 0;

	while (at < s.len) {
		size_t left = s.len - at;
		bool eight = are_ascii(p + at, left);
		size_t step = eight ? 8 : sequence_length(p + at, left);

		at += step ? step : 1;
		n += eight ? 8 : 1;
	}
	return n;
}

void str_format_size(int64_t bytes, char room[32])
{
	if (bytes >= 100000)
		snprintf(room, 32, "%.1f MB", (double)bytes / 1e6);
	else if (bytes >= 1000)
		snprintf(room, 32, "%.1f kB", (double)bytes / 1e3);
	else
		snprintf(room, 32, "%" PRId64 " bytes", bytes);
}

char *words_take(struct str *rest)
{
	struct buf word = BUF_INIT(SIZE_MAX / 2);
	char quote = '\0';

	*rest = str_trim(*rest);
	if (!rest->len)
		return NULL;
	for (; rest->len; *rest = str_skip(*rest, 1)) {
		char c = rest->ptr[0];

		if (!quote && isspace((unsigned char)c))
			break;
		if (quote ? c == quote : c == '"' || c == '\'') {
			quote = quote ? '\0' : c;
			continue;
		}
		if (c == '\\' && quote != '\'' && rest->len > 1) {
			*rest = str_skip(*rest, 1);
			c = rest->ptr[0];
		}
		buf_addc(&word, c);
	}
	return buf_detach(&word);
}

enum { LONGEST = 63 };

static size_t min_size(size_t a, size_t b)
{
	return a < b ? a : b;
}

static char to_lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
}

/* Computes the optimal string alignment distance. Row i of the table has the
 * distances of a's first i bytes to the beginnings of b. */
size_t nearest_distance(struct str a, struct str b)
{
	size_t rows[3][LONGEST + 1];

	if (a.len > LONGEST || b.len > LONGEST)
		return a.len > b.len ? a.len : b.len;
	for (size_t j = 0; j <= b.len; j++)
		rows[0][j] = j;
	for (size_t i = 1; i <= a.len; i++) {
		size_t *now = rows[i % 3];
		const size_t *last = rows[(i + 2) % 3];
		const size_t *before = rows[(i + 1) % 3];

		now[0] = i;
		for (size_t j = 1; j <= b.len; j++) {
			char x = to_lower(a.ptr[i - 1]);
			char y = to_lower(b.ptr[j - 1]);

			now[j] = min_size(last[j - 1] + (x != y),
					  min_size(last[j], now[j - 1]) + 1);
			if (i > 1 && j > 1 && x == to_lower(b.ptr[j - 2]) &&
			    to_lower(a.ptr[i - 2]) == y)
				now[j] = min_size(now[j], before[j - 2] + 1);
		}
	}
	return rows[a.len % 3][b.len];
}

size_t nearest_limit(struct str word)
{
	return min_size(3, word.len / 3 + 1);
}

const char *nearest_name(struct str word, const char *const *names, size_t n)
{
	const char *best = NULL;
	size_t distance = SIZE_MAX;

	for (size_t i = 0; i < n; i++) {
		size_t d = nearest_distance(word, str_of(names[i]));

		if (d < distance) {
			distance = d;
			best = names[i];
		}
	}
	return best;
}

void percent_encode(struct buf *out, struct str text, const char *keep)
{
	for (size_t i = 0; i < text.len; i++) {
		unsigned char c = (unsigned char)text.ptr[i];
		bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
			     (c >= '0' && c <= '9');

		if (plain || (c && (strchr("-._~", c) || strchr(keep, c))))
			buf_addc(out, (char)c);
		else
			buf_addf(out, "%%%02X", c);
	}
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

void percent_decode(struct buf *out, struct str text)
{
	for (size_t i = 0; i < text.len; i++) {
		bool escape = text.ptr[i] == '%' && i + 2 < text.len;
		int high = escape ? hex_digit(text.ptr[i + 1]) : -1;
		int low = escape ? hex_digit(text.ptr[i + 2]) : -1;

		if (high >= 0 && low >= 0) {
			buf_addc(out, (char)(high << 4 | low));
			i += 2;
		} else {
			buf_addc(out, text.ptr[i] == '+' ? ' ' : text.ptr[i]);
		}
	}
}

/* Decodes the UTF-8 sequence at the front. Returns its length, or 0 if it is
 * invalid. */
static size_t decode_char(struct str s, uint32_t *c)
{
	const unsigned char *p = (const unsigned char *)s.ptr;
	size_t n = p[0] < 0x80 ? 1 : p[0] < 0xE0 ? 2 : p[0] < 0xF0 ? 3 : 4;

	if (n > s.len || !str_is_utf8((struct str){ s.ptr, n }))
		return 0;
	*c = n == 1 ? p[0] : p[0] & (0x7Fu >> n);
	for (size_t i = 1; i < n; i++)
		*c = *c << 6 | (p[i] & 0x3Fu);
	return n;
}

/* True for C1 controls and for characters that base/sanitize.h removes. */
static bool is_hidden(uint32_t c)
{
	return (c >= 0x80 && c < 0xA0) || c == 0xAD || c == 0x34F ||
	       c == 0x61C || c == 0x115F || c == 0x1160 || c == 0x180E ||
	       (c >= 0x200B && c <= 0x200F) || (c >= 0x2028 && c <= 0x202E) ||
	       (c >= 0x2060 && c <= 0x206F) || c == 0x3164 || c == 0xFEFF ||
	       c == 0xFFA0 || (c >= 0xFFF9 && c <= 0xFFFB) ||
	       (c >= 0xE0000 && c <= 0xE0FFF);
}

void visible_line(struct str line, struct buf *out)
{
	while (line.len) {
		unsigned char byte = (unsigned char)line.ptr[0];
		uint32_t c = 0;
		size_t n = decode_char(line, &c);

		if (!n)
			buf_addf(out, "<%02X>", byte);
		else if ((c < 0x20 && c != '\t') || c == 0x7F)
			buf_addf(out, "^%c", (char)(byte ^ 0x40));
		else if (is_hidden(c))
			buf_addf(out, "<U+%04X>", c);
		else
			buf_add(out, line.ptr, n);
		line = str_skip(line, n ? n : 1);
	}
}
