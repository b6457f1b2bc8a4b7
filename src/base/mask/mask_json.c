/* mask_json.c - masks secrets in JSON, which stays JSON. */
/* SPDX-License-Identifier: MIT */
#include "base/mask/mask_json.h"

#include <string.h>

#include <utf8proc.h>

#include "base/json.h"
#include "base/str.h"

/* Bytes of the string at the front, with its quotes. */
static size_t string_length(struct str s)
{
	for (size_t i = 1; i < s.len; i++) {
		if (s.ptr[i] == '"')
			return i + 1;
		i += s.ptr[i] == '\\';
	}
	return s.len;
}

/* The number of "\u1234" at the front, or -1. */
static utf8proc_int32_t read_unit(struct str s)
{
	utf8proc_int32_t unit = 0;

	if (s.len < 6 || !str_starts(s, "\\u"))
		return -1;
	for (size_t i = 2; i < 6; i++) {
		static const char digits[] = "0123456789abcdef";
		char c = s.ptr[i] >= 'A' && s.ptr[i] <= 'F'
				 ? (char)(s.ptr[i] | 0x20)
				 : s.ptr[i];
		const char *at = c ? strchr(digits, c) : NULL;

		if (!at)
			return -1;
		unit = unit << 4 | (utf8proc_int32_t)(at - digits);
	}
	return unit;
}

/* Appends what the escape at the front stands for; returns its bytes. Half a
 * surrogate pair is U+FFFD. */
static size_t add_escape(struct buf *out, struct str s)
{
	static const char names[] = "bfnrt\"\\/";
	static const char values[] = "\b\f\n\r\t\"\\/";
	const char *at = s.len > 1 && s.ptr[1] ? strchr(names, s.ptr[1]) : NULL;
	utf8proc_int32_t c = read_unit(s);
	utf8proc_int32_t low = read_unit(str_skip(s, 6));
	utf8proc_uint8_t bytes[4];
	size_t len = 6;

	if (at) {
		buf_addc(out, values[at - names]);
		return 2;
	}
	if (c < 0) {
		buf_addc(out, s.ptr[0]);
		return 1;
	}
	if (c >= 0xD800 && c < 0xDC00 && low >= 0xDC00 && low < 0xE000) {
		c = 0x10000 + ((c - 0xD800) << 10) + (low - 0xDC00);
		len = 12;
	}
	if (!utf8proc_codepoint_valid(c))
		c = 0xFFFD;
	buf_add(out, bytes, (size_t)utf8proc_encode_char(c, bytes));
	return len;
}

/* What the string says, without its quotes. */
static void decode_string(struct buf *out, struct str s)
{
	s = (struct str){ s.ptr + 1, s.len < 2 ? 0 : s.len - 2 };
	while (s.len) {
		size_t n = str_find(s, '\\');

		buf_add(out, s.ptr, n);
		s = str_skip(s, n);
		if (s.len)
			s = str_skip(s, add_escape(out, s));
	}
}

/* A string (its text is what it says) or a number. */
static void add_token(const struct mask *m, struct str token, struct str text,
		      struct buf *out)
{
	struct buf masked = BUF_INIT(SIZE_MAX / 4);

	mask_text(m, text, &masked);
	if (str_eq(buf_str(&masked), text))
		buf_addstr(out, token);
	else
		json_quote(out, buf_str(&masked));
	buf_release(&masked);
}

static bool in_number(char c)
{
	return c && strchr("0123456789+-.eE", c);
}

static size_t add_next(const struct mask *m, struct str rest, struct buf *out)
{
	struct buf text = BUF_INIT(SIZE_MAX / 4);
	size_t n = 0;

	if (rest.ptr[0] == '"') {
		n = string_length(rest);
		decode_string(&text, (struct str){ rest.ptr, n });
		add_token(m, (struct str){ rest.ptr, n }, buf_str(&text), out);
		buf_wipe(&text);
		return n;
	}
	if (rest.ptr[0] == '-' || (rest.ptr[0] >= '0' && rest.ptr[0] <= '9')) {
		while (n < rest.len && in_number(rest.ptr[n]))
			n++;
		add_token(m, (struct str){ rest.ptr, n },
			  (struct str){ rest.ptr, n }, out);
		return n;
	}
	buf_addc(out, rest.ptr[0]);
	return 1;
}

void mask_json(const struct mask *m, struct str json, struct buf *out)
{
	struct buf strings = BUF_INIT(SIZE_MAX / 4);
	struct buf whole = BUF_INIT(SIZE_MAX / 4);

	while (json.len)
		json = str_skip(json, add_next(m, json, &strings));
	mask_text(m, buf_str(&strings), &whole);
	if (str_eq(buf_str(&strings), buf_str(&whole))) {
		buf_addstr(out, buf_str(&whole));
	} else {
		buf_addc(out, '{');
		json_member(out, "masked", buf_str(&whole));
		buf_addc(out, '}');
	}
	buf_wipe(&strings);
	buf_release(&whole);
}
