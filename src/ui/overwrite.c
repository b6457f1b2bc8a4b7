/* overwrite.c - lines that a program has written several times. */
/* SPDX-License-Identifier: MIT */
#include "ui/overwrite.h"

#include "base/str.h"

/* What follows the last carriage return that something follows. */
static struct str last_part(struct str line)
{
	size_t end = line.len;
	size_t at;

	while (end && line.ptr[end - 1] == '\r')
		end--;
	for (at = end; at && line.ptr[at - 1] != '\r';)
		at--;
	return (struct str){ line.ptr + at, end - at };
}

void overwrite_add(struct str text, struct buf *out)
{
	while (text.len) {
		size_t n = str_find(text, '\n');

		if (n)
			buf_addstr(out, last_part((struct str){ text.ptr, n }));
		if (n < text.len) {
			buf_addc(out, '\n');
			n++;
		}
		text = str_skip(text, n);
	}
}
