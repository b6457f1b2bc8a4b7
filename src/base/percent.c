/* percent.c - percent-encoding of URLs (RFC 3986). */
/* SPDX-License-Identifier: MIT */
#include "base/percent.h"

#include <string.h>

#include "base/str.h"

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
