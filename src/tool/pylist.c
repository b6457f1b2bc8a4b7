/* pylist.c - values as Python prints them, which models read well. */
/* SPDX-License-Identifier: MIT */
#include "tool/pylist.h"

#include <string.h>

#include "base/str.h"
#include "tool/result.h"

enum { MAX_DEPTH = 8 }; /* nesting shown of a JSON value */

/*
 * What str.isprintable() denies (Python 3, library reference, "str"): general
 * categories Cc, Cf, Co, Zl, Zp and Zs but the space (Unicode 15.0), and
 * ranges where nothing is assigned.
 */
static const struct {
	uint32_t first;
	uint32_t last;
} unprintable[] = {
	{ 0x0000, 0x001F },   { 0x007F, 0x00A0 },   { 0x00AD, 0x00AD },
	{ 0x0600, 0x0605 },   { 0x061C, 0x061C },   { 0x06DD, 0x06DD },
	{ 0x070F, 0x070F },   { 0x0890, 0x0891 },   { 0x08E2, 0x08E2 },
	{ 0x1680, 0x1680 },   { 0x180E, 0x180E },   { 0x2000, 0x200F },
	{ 0x2028, 0x202F },   { 0x205F, 0x206F },   { 0x3000, 0x3000 },
	{ 0xE000, 0xF8FF },   { 0xFDD0, 0xFDEF },   { 0xFEFF, 0xFEFF },
	{ 0xFFF9, 0xFFFB },   { 0xFFFE, 0xFFFF },   { 0x110BD, 0x110BD },
	{ 0x110CD, 0x110CD }, { 0x13430, 0x1343F }, { 0x1BCA0, 0x1BCA3 },
	{ 0x1D173, 0x1D17A }, { 0x40000, 0xE00FF }, { 0xE01F0, 0x10FFFF },
};

static bool is_printable(uint32_t c)
{
	size_t n = sizeof(unprintable) / sizeof(unprintable[0]);

	for (size_t i = 0; i < n && c >= unprintable[i].first; i++)
		if (c <= unprintable[i].last)
			return false;
	return true;
}

/* The code point of a sequence that is well-formed; a broken one gives its
 * first byte and *broken. */
static uint32_t decode(struct str sequence, bool *broken)
{
	const unsigned char *p = (const unsigned char *)sequence.ptr;
	uint32_t c = p[0];

	*broken = sequence.len == 1 && c >= 0x80;
	if (sequence.len > 1)
		c &= 0xFFU >> (sequence.len + 1);
	for (size_t i = 1; i < sequence.len; i++)
		c = c << 6 | (p[i] & 0x3F);
	return c;
}

static void add_escape(struct buf *out, uint32_t c)
{
	if (c == '\n')
		buf_adds(out, "\\n");
	else if (c == '\r')
		buf_adds(out, "\\r");
	else if (c == '\t')
		buf_adds(out, "\\t");
	else if (c <= 0xFF)
		buf_addf(out, "\\x%02x", c);
	else if (c <= 0xFFFF)
		buf_addf(out, "\\u%04x", c);
	else
		buf_addf(out, "\\U%08x", c);
}

void pylist_string(struct buf *out, struct str s)
{
	bool has_single = str_find(s, '\'') < s.len;
	bool has_double = str_find(s, '"') < s.len;
	char quote = has_single && !has_double ? '"' : '\'';

	buf_addc(out, quote);
	while (s.len) {
		struct str one = { s.ptr, str_char_offset(s, 1) };
		bool broken;
		uint32_t c = decode(one, &broken);

		if (broken || !is_printable(c)) {
			add_escape(out, c);
		} else {
			if (c == (unsigned char)quote || c == '\\')
				buf_addc(out, '\\');
			buf_addstr(out, one);
		}
		s = str_skip(s, one.len);
	}
	buf_addc(out, quote);
}

void pylist_names(struct buf *out, char *const *names, size_t n)
{
	size_t total = 0;
	size_t shown = n;

	for (size_t i = 0; i < n; i++)
		total += str_chars(str_of(names[i]));
	if (total > RESULT_CHARS)
		shown = (size_t)((uint64_t)n * RESULT_CHARS / total);
	buf_addc(out, '[');
	for (size_t i = 0; i < shown; i++) {
		if (i)
			buf_adds(out, ", ");
		pylist_string(out, str_of(names[i]));
	}
	if (shown < n) {
		if (shown)
			buf_adds(out, ", ");
		pylist_string(out, str_of(result_truncated));
	}
	buf_addc(out, ']');
}

static void add_string(struct buf *out, const char *text, size_t max)
{
	struct buf cut = BUF_INIT(RESULT_RAW_BYTES);

	if (!result_clip(str_of(text), max, &cut))
		buf_adds(&cut, "...");
	pylist_string(out, buf_str(&cut));
	buf_release(&cut);
}

static void add_value(struct buf *out, const cJSON *value, size_t max,
		      int depth);

static void add_members(struct buf *out, const cJSON *value, size_t max,
			int depth)
{
	const cJSON *item;

	buf_addc(out, cJSON_IsObject(value) ? '{' : '[');
	cJSON_ArrayForEach (item, value) {
		if (item != value->child)
			buf_adds(out, ", ");
		if (cJSON_IsObject(value)) {
			add_string(out, item->string, max);
			buf_adds(out, ": ");
		}
		add_value(out, item, max, depth + 1);
	}
	buf_addc(out, cJSON_IsObject(value) ? '}' : ']');
}

static void add_value(struct buf *out, const cJSON *value, size_t max,
		      int depth)
{
	if (depth > MAX_DEPTH)
		buf_adds(out, "...");
	else if (cJSON_IsObject(value) || cJSON_IsArray(value))
		add_members(out, value, max, depth);
	else if (cJSON_IsString(value))
		add_string(out, value->valuestring, max);
	else if (cJSON_IsBool(value))
		buf_adds(out, cJSON_IsTrue(value) ? "True" : "False");
	else if (cJSON_IsNumber(value))
		json_print(out, value);
	else
		buf_adds(out, "None");
}

void pylist_value(struct buf *out, const cJSON *value, size_t max)
{
	add_value(out, value, max, 0);
}
