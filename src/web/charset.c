/* charset.c - text of any usual charset as UTF-8. */
/* SPDX-License-Identifier: MIT */
#include "web/charset.h"

#include <ctype.h>
#include <errno.h>
#include <iconv.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/str.h"

enum { META_BYTES = 1024 };

/* The server names the charset. Only these are handed on: the C library has
 * some hundred converters, and had bugs in odd ones (CVE-2024-2961). */
static const char *const known[][2] = {
	{ "utf-8", "UTF-8" },
	{ "utf8", "UTF-8" },
	{ "us-ascii", "CP1252" },
	{ "ascii", "CP1252" },
	{ "iso-8859-1", "CP1252" },
	{ "latin1", "CP1252" },
	{ "windows-1250", "CP1250" },
	{ "windows-1251", "CP1251" },
	{ "windows-1252", "CP1252" },
	{ "windows-1253", "CP1253" },
	{ "windows-1254", "CP1254" },
	{ "windows-1255", "CP1255" },
	{ "windows-1256", "CP1256" },
	{ "windows-1257", "CP1257" },
	{ "windows-1258", "CP1258" },
	{ "iso-8859-2", "ISO-8859-2" },
	{ "iso-8859-3", "ISO-8859-3" },
	{ "iso-8859-4", "ISO-8859-4" },
	{ "iso-8859-5", "ISO-8859-5" },
	{ "iso-8859-6", "ISO-8859-6" },
	{ "iso-8859-7", "ISO-8859-7" },
	{ "iso-8859-8", "ISO-8859-8" },
	{ "iso-8859-9", "CP1254" },
	{ "iso-8859-15", "ISO-8859-15" },
	{ "koi8-r", "KOI8-R" },
	{ "koi8-u", "KOI8-U" },
	{ "shift_jis", "CP932" },
	{ "shift-jis", "CP932" },
	{ "sjis", "CP932" },
	{ "euc-jp", "EUC-JP" },
	{ "iso-2022-jp", "ISO-2022-JP" },
	{ "gb2312", "GB18030" },
	{ "gbk", "GB18030" },
	{ "gb18030", "GB18030" },
	{ "big5", "BIG5-HKSCS" },
	{ "euc-kr", "CP949" },
	{ "utf-16", "UTF-16LE" },
	{ "utf-16le", "UTF-16LE" },
	{ "utf-16be", "UTF-16BE" },
};

static const char *find_known(struct str name)
{
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (str_is_nocase(name, known[i][0]))
			return known[i][1];
	return NULL;
}

/* The word behind "charset=" in text, with or without quotes. */
static const char *find_named(struct str text)
{
	static const char key[] = "charset";
	const size_t len = sizeof(key) - 1;
	const char *found = NULL;

	for (size_t i = 0; !found && i + len < text.len; i++) {
		struct str rest;
		struct str word;

		if (strncasecmp(text.ptr + i, key, len) != 0)
			continue;
		rest = str_trim(str_skip(text, i + len));
		if (!str_starts(rest, "="))
			continue;
		rest = str_trim(str_skip(rest, 1));
		if (str_starts(rest, "\"") || str_starts(rest, "'"))
			rest = str_skip(rest, 1);
		word = (struct str){ rest.ptr, 0 };
		while (word.len < rest.len &&
		       (isalnum((unsigned char)rest.ptr[word.len]) ||
			rest.ptr[word.len] == '-' || rest.ptr[word.len] == '_'))
			word.len++;
		found = find_known(word);
	}
	return found;
}

static const char *find_charset(struct str *text, const char *type)
{
	struct str head = { text->ptr,
			    text->len < META_BYTES ? text->len : META_BYTES };
	const char *name;

	if (str_starts(head, "\xEF\xBB\xBF")) {
		*text = str_skip(*text, 3);
		return "UTF-8";
	}
	if (str_starts(head, "\xFF\xFE") || str_starts(head, "\xFE\xFF")) {
		*text = str_skip(*text, 2);
		return head.ptr[0] == '\xFF' ? "UTF-16LE" : "UTF-16BE";
	}
	name = find_named(str_of(type));
	if (!name && strcasestr(type, "html")) {
		name = find_named(head);
		/* It was read as ASCII: it cannot be that. */
		if (name && !strncmp(name, "UTF-16", 6))
			name = "UTF-8";
	}
	if (!name)
		name = str_is_utf8(*text) ? "UTF-8" : "CP1252";
	return name;
}

static void convert(iconv_t cd, struct str text, struct buf *out)
{
	char *from = (char *)text.ptr;
	size_t left = text.len;

	while (left) {
		char room[4096];
		char *to = room;
		size_t free_bytes = sizeof(room);
		size_t n = iconv(cd, &from, &left, &to, &free_bytes);

		buf_add(out, room, sizeof(room) - free_bytes);
		if (n != (size_t)-1 || errno == E2BIG)
			continue;
		buf_adds(out, "\xEF\xBF\xBD");
		if (errno == EINVAL)
			return;
		from++;
		left--;
	}
}

void charset_decode(struct str text, const char *type, struct buf *out)
{
	const char *name = find_charset(&text, type);
	/* From UTF-8, too: libxml2 takes all of a page for Latin-1 where one
	 * byte is wrong. */
	iconv_t cd = iconv_open("UTF-8", name);

	if (cd == (iconv_t)-1)
		cd = iconv_open("UTF-8", "UTF-8");
	if (cd == (iconv_t)-1)
		return; /* out of memory */
	convert(cd, text, out);
	iconv_close(cd);
}
