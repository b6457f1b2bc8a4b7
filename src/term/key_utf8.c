/* key_utf8.c - characters of UTF-8 that may be cut or broken. */
/* SPDX-License-Identifier: MIT */
#include "term/keys_impl.h"

size_t keys_next_char(const unsigned char *p, size_t n, uint32_t *c)
{
	static const unsigned char bits[] = { 0, 0x7F, 0x1F, 0x0F, 0x07 };
	size_t want = p[0] < 0x80   ? 1
		      : p[0] < 0xC2 ? 0
		      : p[0] < 0xE0 ? 2
		      : p[0] < 0xF0 ? 3
		      : p[0] < 0xF5 ? 4
				    : 0;

	if (!want)
		return 0;
	*c = p[0] & bits[want];
	for (size_t i = 1; i < want; i++) {
		if (i == n)
			return n + 1;
		if ((p[i] & 0xC0) != 0x80)
			return 0;
		*c = *c << 6 | (p[i] & 0x3F);
		/* Overlong, surrogate, beyond U+10FFFF. */
		if (i == 1 && ((p[0] == 0xE0 && p[1] < 0xA0) ||
			       (p[0] == 0xED && p[1] > 0x9F) ||
			       (p[0] == 0xF0 && p[1] < 0x90) ||
			       (p[0] == 0xF4 && p[1] > 0x8F)))
			return 0;
	}
	return want;
}

size_t keys_broken_length(const unsigned char *p, size_t n)
{
	size_t len = n < 3 ? n : 3;
	uint32_t c;

	while (len > 1 && keys_next_char(p, len, &c) <= len)
		len--;
	return len;
}

size_t keys_encode(uint32_t c, char out[4])
{
	if (c < 0x80) {
		out[0] = (char)c;
		return 1;
	}
	if (c > 0x10FFFF || (c >= 0xD800 && c < 0xE000))
		return 0;
	if (c < 0x800) {
		out[0] = (char)(0xC0 | c >> 6);
		out[1] = (char)(0x80 | (c & 0x3F));
		return 2;
	}
	if (c < 0x10000) {
		out[0] = (char)(0xE0 | c >> 12);
		out[1] = (char)(0x80 | (c >> 6 & 0x3F));
		out[2] = (char)(0x80 | (c & 0x3F));
		return 3;
	}
	out[0] = (char)(0xF0 | c >> 18);
	out[1] = (char)(0x80 | (c >> 12 & 0x3F));
	out[2] = (char)(0x80 | (c >> 6 & 0x3F));
	out[3] = (char)(0x80 | (c & 0x3F));
	return 4;
}
