/* wire_id.c - names and ids of calls as every vendor takes them. */
/* SPDX-License-Identifier: MIT */
#include "model/wire_id.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdint.h>
#include <string.h>

enum {
	NAME_MAX_LEN = 64,
	ID_MAX_LEN = 64,
	ID_FRONT = ID_MAX_LEN - 17, /* "_" and 16 digits follow */
};

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

/* FNV-1a, 64 bits, of what wire_id() writes. */
static uint64_t hash_id(const char *id)
{
	uint64_t hash = 0xCBF29CE484222325u;

	for (; *id; id++)
		hash = (hash ^ (unsigned char)plain_char(*id)) * 0x100000001B3u;
	return hash;
}

void wire_short_id(struct buf *out, const char *id)
{
	if (!id || strlen(id) <= ID_MAX_LEN) {
		wire_id(out, id);
		return;
	}
	plain(out, id, ID_FRONT, "");
	out->len--; /* the closing quote */
	buf_addf(out, "_%016" PRIx64 "\"", hash_id(id));
}

bool wire_same_id(const char *a, const char *b)
{
	while (*a && *b && plain_char(*a) == plain_char(*b)) {
		a++;
		b++;
	}
	return !*a && !*b;
}
