/* encoding.c - a text file's bytes as UTF-8 and back, without loss. */
/* SPDX-License-Identifier: MIT */
#include "sandbox/files/encoding.h"

#include <stdint.h>

#include <utf8proc.h>

#include "base/str.h"

/* What bytes 0x80 to 0x9f are in windows-1252 (WHATWG Encoding, read 2026-11);
 * 0: it leaves the byte open. */
static const uint16_t high_controls[32] = {
	0x20AC, 0,      0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021,
	0x02C6, 0x2030, 0x0160, 0x2039, 0x0152, 0,      0x017D, 0,
	0,      0x2018, 0x2019, 0x201C, 0x201D, 0x2022, 0x2013, 0x2014,
	0x02DC, 0x2122, 0x0161, 0x203A, 0x0153, 0,      0x017E, 0x0178,
};

static int refuse(struct error *err)
{
	return error_reason(err, ERR_REMOTE, "not_a_text_file");
}

/* Whether raw could be text of one byte a character. Bytes that form UTF-8
 * together say that it is broken UTF-8 instead. */
static bool is_latin1(struct str raw)
{
	size_t single = 0;
	size_t multiple = 0;

	while (raw.len) {
		unsigned char c = (unsigned char)raw.ptr[0];
		size_t good = str_utf8_prefix(
			(struct str){ raw.ptr, raw.len < 4 ? raw.len : 4 });

		if ((c < ' ' && !(c >= '\t' && c <= '\r') && c != 0x1b) ||
		    c == 0x7f || c == 0xff ||
		    (c >= 0x80 && c < 0xa0 && !high_controls[c - 0x80] &&
		     !good))
			return false;
		if (c < 0x80) {
			raw = str_skip(raw, 1);
			continue;
		}
		single += !good;
		multiple += good > 0;
		raw = str_skip(raw, good ? str_char_offset(raw, 1) : 1);
	}
	return single > multiple;
}

int encoding_detect(struct str raw, bool cut, struct encoding *e,
		    struct error *err)
{
	size_t good;

	*e = (struct encoding){ .name = ENCODING_UTF8 };
	if (str_starts(raw, "\xFF\xFE") || str_starts(raw, "\xFE\xFF")) {
		e->name = raw.ptr[0] == '\xFF' ? ENCODING_UTF16LE
					       : ENCODING_UTF16BE;
		e->mark = 2;
		return 0;
	}
	if (str_starts(raw, "\xEF\xBB\xBF"))
		e->mark = 3;
	good = str_utf8_prefix(raw);
	if (good == raw.len || (cut && good + 4 > raw.len))
		return 0;
	if (e->mark || !is_latin1(raw))
		return refuse(err);
	e->name = ENCODING_LATIN1;
	return 0;
}

static void add_character(uint32_t c, struct buf *out)
{
	utf8proc_uint8_t room[4];
	utf8proc_ssize_t n = utf8proc_encode_char((utf8proc_int32_t)c, room);

	buf_add(out, (const char *)room, (size_t)n);
}

static uint32_t unit_at(const struct encoding *e, struct str raw, size_t i)
{
	unsigned a = (unsigned char)raw.ptr[i];
	unsigned b = (unsigned char)raw.ptr[i + 1];

	return e->name == ENCODING_UTF16LE ? b << 8 | a : a << 8 | b;
}

static int decode_utf16(const struct encoding *e, struct str raw,
			struct buf *out, struct error *err)
{
	if (raw.len % 2)
		return refuse(err);
	for (size_t i = 0; i < raw.len; i += 2) {
		uint32_t c = unit_at(e, raw, i);

		if (c >= 0xD800 && c < 0xDC00 && i + 2 < raw.len) {
			uint32_t low = unit_at(e, raw, i + 2);

			if (low < 0xDC00 || low > 0xDFFF)
				return refuse(err);
			c = 0x10000 + ((c - 0xD800) << 10) + (low - 0xDC00);
			i += 2;
		} else if (!c || (c >= 0xD800 && c < 0xE000)) {
			return refuse(err);
		}
		add_character(c, out);
	}
	return 0;
}

int encoding_decode(const struct encoding *e, struct str raw, struct buf *out,
		    struct error *err)
{
	int rc = 0;

	raw = str_skip(raw, e->mark);
	if (e->name == ENCODING_UTF8)
		buf_addstr(out, raw);
	else if (e->name != ENCODING_LATIN1)
		rc = decode_utf16(e, raw, out, err);
	else
		for (size_t i = 0; i < raw.len; i++) {
			unsigned char c = (unsigned char)raw.ptr[i];
			bool high = c >= 0x80 && c < 0xa0;

			add_character(high && high_controls[c - 0x80]
					      ? high_controls[c - 0x80]
					      : c,
				      out);
		}
	return rc < 0 ? -1 : buf_check(out, "the file as UTF-8", err);
}

static uint32_t take_character(struct str *text)
{
	utf8proc_int32_t c = 0;
	utf8proc_ssize_t n =
		utf8proc_iterate((const utf8proc_uint8_t *)text->ptr,
				 (utf8proc_ssize_t)text->len, &c);

	*text = str_skip(*text, n > 0 ? (size_t)n : 1);
	return n > 0 ? (uint32_t)c : 0xFFFD;
}

/* The byte of a character, or -1. */
static int latin1_byte(uint32_t c)
{
	if (c < 0x80 || (c >= 0xa0 && c < 0x100))
		return (int)c;
	for (int i = 0; i < 32; i++)
		if (high_controls[i] ? high_controls[i] == c
				     : c == 0x80u + (unsigned)i)
			return 0x80 + i;
	return -1;
}

static void add_unit(const struct encoding *e, uint32_t unit, struct buf *out)
{
	bool little = e->name == ENCODING_UTF16LE;

	buf_addc(out, (char)(little ? unit : unit >> 8));
	buf_addc(out, (char)(little ? unit >> 8 : unit));
}

int encoding_encode(const struct encoding *e, struct str text, struct buf *out,
		    struct error *err)
{
	if (e->name == ENCODING_UTF8)
		buf_addstr(out, text);
	while (text.len && e->name != ENCODING_UTF8) {
		struct str from = text;
		uint32_t c = take_character(&text);

		if (e->name == ENCODING_LATIN1) {
			int byte = latin1_byte(c);

			if (byte < 0)
				return error_set(
					err, ERR_USAGE,
					"the file is Latin-1, which has no "
					"'%.*s' (U+%04X)",
					(int)(from.len - text.len), from.ptr,
					(unsigned)c);
			buf_addc(out, (char)byte);
			continue;
		}
		if (c >= 0x10000) {
			add_unit(e, 0xD800 + ((c - 0x10000) >> 10), out);
			c = 0xDC00 + ((c - 0x10000) & 0x3FF);
		}
		add_unit(e, c, out);
	}
	return buf_check(out, "the file", err);
}

size_t encoding_size(const struct encoding *e, struct str text)
{
	size_t n = 0;

	if (e->name == ENCODING_UTF8)
		return text.len;
	if (e->name == ENCODING_LATIN1)
		return str_chars(text);
	while (text.len)
		n += take_character(&text) >= 0x10000 ? 4 : 2;
	return n;
}

const char *encoding_label(const struct encoding *e)
{
	switch (e->name) {
	case ENCODING_UTF16LE:
		return "UTF-16 (little-endian)";
	case ENCODING_UTF16BE:
		return "UTF-16 (big-endian)";
	case ENCODING_LATIN1:
		return "Latin-1 (windows-1252)";
	case ENCODING_UTF8:
		break;
	}
	return NULL;
}
