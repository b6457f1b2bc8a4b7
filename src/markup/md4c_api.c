/* md4c_api.c - the Markdown parser, loaded when it is first needed. */
/* SPDX-License-Identifier: MIT */
#include "markup/md4c_api.h"

#include <utf8proc.h>

#include "base/library.h"
#include "base/str.h"

static const struct library library = {
	.name = "libmd4c",
	.files = { "libmd4c.so.0" },
	.package = "libmd4c0",
	.needed = "0.3",
};

md4c_parse *md4c_load(struct error *err)
{
	static const struct library_symbol symbol = { "md_parse", 0 };
	md4c_parse *parse = NULL;

	if (library_load(&library, &symbol, 1, &parse, err) < 0)
		return NULL;
	return parse;
}

static void add_code_point(struct buf *out, long c)
{
	utf8proc_uint8_t bytes[4];
	utf8proc_ssize_t n = 0;

	if (c > 0 && utf8proc_codepoint_valid((utf8proc_int32_t)c))
		n = utf8proc_encode_char((utf8proc_int32_t)c, bytes);
	if (n > 0)
		buf_add(out, bytes, (size_t)n);
	else
		buf_adds(out, "\xEF\xBF\xBD");
}

/* "&#38;" or "&#x26;": at most seven digits, so that a long holds them. */
static void add_numeric(struct buf *out, struct str entity)
{
	bool hex = entity.len > 2 && (entity.ptr[2] | 0x20) == 'x';
	long c = 0;

	for (size_t i = hex ? 3 : 2; i + 1 < entity.len && c < 0x110000; i++) {
		unsigned char digit = (unsigned char)entity.ptr[i];
		long value = digit <= '9' ? digit - '0' : (digit | 0x20) - 87;

		c = c * (hex ? 16 : 10) + value;
	}
	add_code_point(out, c < 0x110000 ? c : 0);
}

/* The names that are met in prose; any other is shown as it was written. */
static void add_entity(struct buf *out, struct str entity)
{
	static const struct {
		const char *name;
		const char *text;
	} known[] = {
		{ "&amp;", "&" },
		{ "&lt;", "<" },
		{ "&gt;", ">" },
		{ "&quot;", "\"" },
		{ "&apos;", "'" },
		{ "&nbsp;", "\xC2\xA0" },
		{ "&copy;", "\xC2\xA9" },
		{ "&middot;", "\xC2\xB7" },
		{ "&times;", "\xC3\x97" },
		{ "&ndash;", "\xE2\x80\x93" },
		{ "&mdash;", "\xE2\x80\x94" },
		{ "&bull;", "\xE2\x80\xA2" },
		{ "&hellip;", "\xE2\x80\xA6" },
		{ "&larr;", "\xE2\x86\x90" },
		{ "&rarr;", "\xE2\x86\x92" },
	};

	if (str_starts(entity, "&#")) {
		add_numeric(out, entity);
		return;
	}
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		if (!str_is(entity, known[i].name))
			continue;
		buf_adds(out, known[i].text);
		return;
	}
	buf_addstr(out, entity);
}

void md4c_add_text(struct buf *out, MD_TEXTTYPE type, struct str text)
{
	if (type == MD_TEXT_NULLCHAR)
		buf_adds(out, "\xEF\xBF\xBD");
	else if (type == MD_TEXT_ENTITY)
		add_entity(out, text);
	else if (type == MD_TEXT_SOFTBR)
		buf_addc(out, '\n');
	else
		buf_addstr(out, text);
}

void md4c_add_attribute(struct buf *out, const MD_ATTRIBUTE *a)
{
	for (int i = 0; a->size && a->substr_offsets[i] < a->size; i++) {
		MD_OFFSET from = a->substr_offsets[i];
		MD_OFFSET to = a->substr_offsets[i + 1];

		md4c_add_text(out, a->substr_types[i],
			      (struct str){ a->text + from, to - from });
	}
}
