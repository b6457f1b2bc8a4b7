/* str.c - operations on borrowed slices; none of them allocates. */
/* SPDX-License-Identifier: MIT */
#include "base/str.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

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
	return str_eq(a, str_of(b));
}

bool str_is_nocase(struct str a, const char *b)
{
	return a.len == strlen(b) && (!a.len || !strncasecmp(a.ptr, b, a.len));
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

/* Bytes of the well-formed sequence at the front, or 0 (RFC 3629 §4). */
static size_t sequence(const unsigned char *p, size_t len)
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

/* Whether eight bytes are ASCII, as those of most text. */
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
		size_t step =
			are_ascii(p + at, left) ? 8 : sequence(p + at, left);

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
		size_t step = eight ? 8 : sequence(p + at, left);

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
		size_t step = eight ? 8 : sequence(p + at, left);

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
