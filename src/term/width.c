/* width.c - how many cells of a terminal a text takes. */
/* SPDX-License-Identifier: MIT */
#include "term/width.h"

#include <stdbool.h>

#include <utf8proc.h>

#include "base/str.h"

enum { VARIATION_SELECTOR_16 = 0xFE0F };

static const utf8proc_property_t *property(utf8proc_int32_t c)
{
	return utf8proc_get_property(c);
}

static bool is_prepended(utf8proc_int32_t c)
{
	return property(c)->boundclass == UTF8PROC_BOUNDCLASS_PREPEND;
}

static bool is_spacing(utf8proc_int32_t c)
{
	return property(c)->category == UTF8PROC_CATEGORY_MC ||
	       property(c)->boundclass == UTF8PROC_BOUNDCLASS_SPACINGMARK;
}

/* Cells of one character alone. utf8proc gives 0 to spacing marks and to the
 * signs that stand before Arabic and other numbers; tmux 3.3a and xterm.js
 * 6.0.0 give them one. */
static size_t width_char(utf8proc_int32_t c)
{
	size_t cells = property(c)->charwidth;

	return !cells && (is_spacing(c) || is_prepended(c)) ? 1 : cells;
}

static bool is_regional(utf8proc_int32_t c)
{
	return c >= 0x1F1E6 && c <= 0x1F1FF;
}

/* Bytes of the first character; *c becomes -1 when they are no UTF-8. */
static size_t next_char(struct str s, utf8proc_int32_t *c)
{
	utf8proc_ssize_t n;

	n = utf8proc_iterate((const utf8proc_uint8_t *)s.ptr,
			     s.len < 4 ? (utf8proc_ssize_t)s.len : 4, c);
	if (n > 0)
		return (size_t)n;
	*c = -1;
	return 1;
}

/* Adds to a cluster of *cells the width that its next character brings. */
static void widen(size_t *cells, utf8proc_int32_t before, utf8proc_int32_t c)
{
	if (c == VARIATION_SELECTOR_16 && *cells)
		*cells = 2;
	else if (is_regional(before) && is_regional(c))
		*cells = 2;
	else if (!*cells || is_spacing(c) || is_prepended(before))
		*cells += width_char(c);
}

size_t width_next(struct str s, size_t *cells)
{
	utf8proc_int32_t state = 0;
	utf8proc_int32_t before;
	utf8proc_int32_t c;
	size_t len;

	*cells = 0;
	if (!s.len)
		return 0;
	if (s.ptr[0] >= 0x20 && s.ptr[0] < 0x7F &&
	    (s.len == 1 || !((unsigned char)s.ptr[1] & 0x80))) {
		*cells = 1;
		return 1;
	}
	len = next_char(s, &before);
	*cells = before < 0 ? 1 : width_char(before);
	while (before >= 0 && len < s.len) {
		size_t n = next_char(str_skip(s, len), &c);

		if (c < 0 ||
		    utf8proc_grapheme_break_stateful(before, c, &state))
			break;
		widen(cells, before, c);
		before = c;
		len += n;
	}
	return len;
}

size_t width_cells(struct str s)
{
	size_t total = 0;
	size_t cells;
	size_t n;

	while ((n = width_next(s, &cells))) {
		total += cells;
		s = str_skip(s, n);
	}
	return total;
}

size_t width_prefix(struct str s, size_t cells)
{
	size_t bytes = 0;
	size_t wide;
	size_t n;

	while ((n = width_next(str_skip(s, bytes), &wide)) && wide <= cells) {
		cells -= wide;
		bytes += n;
	}
	return bytes;
}

void width_drop_last(struct buf *text)
{
	size_t at = 0;
	size_t last = 0;
	size_t cells;

	while (at < text->len) {
		last = at;
		at += width_next(str_skip(buf_str(text), at), &cells);
	}
	text->len = last;
}
