/* numbering.c - text with line numbers, long lines wrapped. */
/* SPDX-License-Identifier: MIT */
#include "tool/files/numbering.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"

enum {
	MAX_TEXT = 64 << 20, /* bytes; a page of empty lines grows ninefold */
	MARKER = 48          /* bytes: two int64_t, a dot and NUL */
};

size_t numbering_count(struct str text)
{
	size_t n = 0;

	while (text.len) {
		text = str_skip(text, str_find(text, '\n') + 1);
		n++;
	}
	return n;
}

static struct str next_line(struct str *rest)
{
	struct str line = { rest->ptr, str_find(*rest, '\n') };

	*rest = str_skip(*rest, line.len + 1);
	return line;
}

/* The marker of one row; part 0 is the line's first. Returns its length. */
static int format_marker(char out[MARKER], int64_t line, size_t part)
{
	if (!part)
		return snprintf(out, MARKER, "%" PRId64, line);
	return snprintf(out, MARKER, "%" PRId64 ".%zu", line, part);
}

/* Parts beyond the first that this line needs. */
static size_t further_parts(struct str line)
{
	size_t chars;

	if (line.len <= NUMBERING_WRAP)
		return 0;
	chars = str_chars(line);
	return chars ? (chars - 1) / NUMBERING_WRAP : 0;
}

static int widest_marker(struct str text, int64_t first, size_t n)
{
	char room[MARKER];
	int widest = 0;

	for (size_t i = 0; i < n; i++) {
		size_t part = further_parts(next_line(&text));
		int width;

		if (!part && i + 1 < n)
			continue; /* a later line is as wide */
		width = format_marker(room, first + (int64_t)i, part);
		if (width > widest)
			widest = width;
	}
	return widest;
}

static void add_line(struct buf *out, struct str line, int64_t number,
		     int width)
{
	char room[MARKER];
	size_t parts = further_parts(line);

	for (size_t part = 0; part <= parts; part++) {
		size_t len = line.len;

		if (parts)
			len = str_char_offset(line, NUMBERING_WRAP);
		if (part)
			buf_addc(out, '\n');
		format_marker(room, number, part);
		buf_addf(out, "%*s  ", width, room);
		buf_add(out, line.ptr, len);
		line = str_skip(line, len);
	}
}

void numbering_render(struct numbering *nb, struct str text, int64_t first,
		      size_t n)
{
	int width = widest_marker(text, first, n);

	*nb = (struct numbering){ .text = BUF_INIT(MAX_TEXT), .n = n };
	nb->ends = xcalloc(n ? n : 1, sizeof(*nb->ends));
	for (size_t i = 0; i < n; i++) {
		if (i)
			buf_addc(&nb->text, '\n');
		add_line(&nb->text, next_line(&text), first + (int64_t)i,
			 width);
		nb->ends[i] = nb->text.len;
	}
}

void numbering_release(struct numbering *nb)
{
	buf_release(&nb->text);
	free(nb->ends);
	*nb = (struct numbering){ 0 };
}
