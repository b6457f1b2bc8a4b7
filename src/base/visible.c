/* visible.c - foreign bytes for a terminal, with nothing hidden. */
/* SPDX-License-Identifier: MIT */
#include "base/visible.h"

#include <stdint.h>

#include "base/str.h"

/* Bytes of the well-formed sequence at the front; 0: there is none. */
static size_t decode(struct str s, uint32_t *c)
{
	const unsigned char *p = (const unsigned char *)s.ptr;
	size_t n = p[0] < 0x80 ? 1 : p[0] < 0xE0 ? 2 : p[0] < 0xF0 ? 3 : 4;

	if (n > s.len || !str_is_utf8((struct str){ s.ptr, n }))
		return 0;
	*c = n == 1 ? p[0] : p[0] & (0x7Fu >> n);
	for (size_t i = 1; i < n; i++)
		*c = *c << 6 | (p[i] & 0x3Fu);
	return n;
}

/* C1 controls, and what base/sanitize.h drops. */
static bool is_hidden(uint32_t c)
{
	return (c >= 0x80 && c < 0xA0) || c == 0xAD || c == 0x34F ||
	       c == 0x61C || c == 0x115F || c == 0x1160 || c == 0x180E ||
	       (c >= 0x200B && c <= 0x200F) || (c >= 0x2028 && c <= 0x202E) ||
	       (c >= 0x2060 && c <= 0x206F) || c == 0x3164 || c == 0xFEFF ||
	       c == 0xFFA0 || (c >= 0xFFF9 && c <= 0xFFFB) ||
	       (c >= 0xE0000 && c <= 0xE0FFF);
}

void visible_line(struct str line, struct buf *out)
{
	while (line.len) {
		unsigned char byte = (unsigned char)line.ptr[0];
		uint32_t c = 0;
		size_t n = decode(line, &c);

		if (!n)
			buf_addf(out, "<%02X>", byte);
		else if ((c < 0x20 && c != '\t') || c == 0x7F)
			buf_addf(out, "^%c", (char)(byte ^ 0x40));
		else if (is_hidden(c))
			buf_addf(out, "<U+%04X>", c);
		else
			buf_add(out, line.ptr, n);
		line = str_skip(line, n ? n : 1);
	}
}
