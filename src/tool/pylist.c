/* pylist.c - values as Python prints them, which models read well. */
/* SPDX-License-Identifier: MIT */
#include "tool/pylist.h"

#include <string.h>

#include <utf8proc.h>

#include "base/str.h"
#include "tool/result.h"

enum { MAX_DEPTH = 8 }; /* nesting shown of a JSON value */

/* What str.isprintable() says (Python 3, library reference, "str"). */
static bool printable(utf8proc_int32_t c)
{
	switch (utf8proc_category(c)) {
	case UTF8PROC_CATEGORY_CC:
	case UTF8PROC_CATEGORY_CF:
	case UTF8PROC_CATEGORY_CS:
	case UTF8PROC_CATEGORY_CO:
	case UTF8PROC_CATEGORY_CN:
	case UTF8PROC_CATEGORY_ZL:
	case UTF8PROC_CATEGORY_ZP:
		return false;
	case UTF8PROC_CATEGORY_ZS:
		return c == ' ';
	default:
		return true;
	}
}

static void add_escape(struct buf *out, unsigned c)
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
		utf8proc_int32_t c = 0;
		utf8proc_ssize_t len =
			utf8proc_iterate((const utf8proc_uint8_t *)s.ptr,
					 (utf8proc_ssize_t)s.len, &c);

		if (len <= 0) {
			len = 1;
			add_escape(out, (unsigned char)s.ptr[0]);
		} else if (c == quote || c == '\\') {
			buf_addf(out, "\\%c", (char)c);
		} else if (!printable(c)) {
			add_escape(out, (unsigned)c);
		} else {
			buf_add(out, s.ptr, (size_t)len);
		}
		s = str_skip(s, (size_t)len);
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
