/* html.c - writes text that nobody vouches for into a page of HTML. */
/* SPDX-License-Identifier: MIT */
#include "ui/html.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <utf8proc.h>

#include "base/sanitize.h"

static void flush(struct html *h)
{
	if (!h->failed && h->out.len)
		h->failed = h->write(h->arg, buf_str(&h->out), &h->err) < 0;
	buf_clear(&h->out);
}

static void flush_full(struct html *h)
{
	if (h->write && h->out.len >= HTML_PIECE)
		flush(h);
}

void html_markup(struct html *h, const char *markup)
{
	buf_adds(&h->out, markup);
	flush_full(h);
}

void html_markupf(struct html *h, const char *fmt, ...)
{
	char line[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	html_markup(h, line);
}

/* Bytes at the front that stand for themselves. */
static size_t plain_bytes(struct str s)
{
	size_t n = 0;

	while (n < s.len) {
		unsigned char c = (unsigned char)s.ptr[n];

		if ((c < 0x20 && c != '\n' && c != '\t') || c >= 0x7F ||
		    strchr("&<>\"'", c))
			break;
		n++;
	}
	return n < HTML_PIECE ? n : HTML_PIECE;
}

static const char *reference(unsigned char c)
{
	switch (c) {
	case '&':
		return "&amp;";
	case '<':
		return "&lt;";
	case '>':
		return "&gt;";
	case '"':
		return "&quot;";
	case '\'':
		return "&#39;";
	default:
		return NULL;
	}
}

/* Unicode has a picture of each control of ASCII: U+2400 and so on. */
static void add_invisible(struct buf *out, utf8proc_int32_t c)
{
	buf_adds(out, "<span class=\"c\">");
	if (c < 0x20)
		buf_addf(out, "&#x%x;", 0x2400 + (unsigned)c);
	else if (c == 0x7F)
		buf_adds(out, "&#x2421;");
	else
		buf_addf(out, "U+%04X", (unsigned)c);
	buf_adds(out, "</span>");
}

/* The first character, one that plain_bytes() stopped at; returns its bytes. */
static size_t add_character(struct buf *out, struct str s)
{
	const char *escaped = reference((unsigned char)s.ptr[0]);
	utf8proc_int32_t c;
	utf8proc_ssize_t n;

	if (escaped) {
		buf_adds(out, escaped);
		return 1;
	}
	n = utf8proc_iterate((const utf8proc_uint8_t *)s.ptr,
			     s.len < 4 ? (utf8proc_ssize_t)s.len : 4, &c);
	if (n <= 0) {
		buf_adds(out, "\xEF\xBF\xBD");
		return 1;
	}
	if (c == '\r' && s.len > 1 && s.ptr[1] == '\n')
		return 1;
	if (c < 0x20 || (c >= 0x7F && c < 0xA0) ||
	    sanitize_is_invisible((uint32_t)c))
		add_invisible(out, c);
	else
		buf_add(out, s.ptr, (size_t)n);
	return (size_t)n;
}

void html_escape(struct html *h, struct str text)
{
	while (text.len && !h->failed) {
		size_t n = plain_bytes(text);

		if (n)
			buf_add(&h->out, text.ptr, n);
		else
			n = add_character(&h->out, text);
		text = str_skip(text, n);
		flush_full(h);
	}
}

void html_text(struct html *h, struct str text)
{
	struct buf masked = BUF_INIT(SIZE_MAX / 4);

	mask_text(h->mask, text, &masked);
	html_escape(h, buf_str(&masked));
	buf_release(&masked);
}

void html_address(struct html *h, struct str address)
{
	for (size_t i = 0; i < address.len; i++) {
		unsigned char c = (unsigned char)address.ptr[i];
		bool plain = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
			     (c >= 'a' && c <= 'z') ||
			     (c && strchr("-._~:/?#[]@!$()*+,;=%", c));

		if (c == '&')
			buf_adds(&h->out, "&amp;");
		else if (plain)
			buf_addc(&h->out, (char)c);
		else
			buf_addf(&h->out, "%%%02X", c);
	}
	flush_full(h);
}

int html_end(struct html *h, struct error *err)
{
	flush(h);
	buf_release(&h->out);
	if (!h->failed)
		return 0;
	*err = h->err;
	return -1;
}
