/* wire_id.c - names and ids of calls as every vendor takes them. */
/* SPDX-License-Identifier: MIT */
#include "model/wire_id.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>

enum { NAME_MAX_LEN = 64 };

static char plain_char(char c)
{
	if (isascii(c) && isalnum((unsigned char)c))
		return c;
	return c == '-' ? '-' : '_';
}

static void plain(struct buf *out, const char *text, size_t max,
		  const char *empty)
{
	size_t len = text ? strlen(text) : 0;

	buf_addc(out, '"');
	if (!len)
		buf_adds(out, empty);
	for (size_t i = 0; i < len && i < max; i++)
		buf_addc(out, plain_char(text[i]));
	buf_addc(out, '"');
}

void wire_name(struct buf *out, const char *name)
{
	plain(out, name, NAME_MAX_LEN, "unknown");
}

void wire_id(struct buf *out, const char *id)
{
	plain(out, id, SIZE_MAX, "call");
}

bool wire_same_id(const char *a, const char *b)
{
	while (*a && *b && plain_char(*a) == plain_char(*b)) {
		a++;
		b++;
	}
	return !*a && !*b;
}
