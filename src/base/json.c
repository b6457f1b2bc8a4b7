/* json.c - typed reading of cJSON trees, and writing JSON straight to bytes. */
/* SPDX-License-Identifier: MIT */
#include "base/json.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <sodium.h>

#include "base/mem.h"
#include "base/str.h"

cJSON *json_parse(struct str text)
{
	const char *end = NULL;
	cJSON *tree;

	if (!text.len)
		return NULL;
	tree = cJSON_ParseWithLengthOpts(text.ptr, text.len, &end, false);
	if (!tree)
		return NULL;
	if (str_trim((struct str){ end, (size_t)(text.ptr + text.len - end) })
		    .len) {
		cJSON_Delete(tree);
		return NULL;
	}
	return tree;
}

/* The code after \\u, or -1. */
static long unit_at(struct str s)
{
	char digits[5] = { 0 };
	char *end;
	long code;

	if (s.len < 6 || s.ptr[0] != '\\' || s.ptr[1] != 'u' ||
	    !isxdigit((unsigned char)s.ptr[2]))
		return -1;
	memcpy(digits, s.ptr + 2, 4);
	code = strtol(digits, &end, 16);
	return *end ? -1 : code;
}

/* How many bytes of s, which begins with a backslash, stay as they are; 0 for
 * a unit that stands for no character. */
static size_t sound_escape(struct str s)
{
	long code = unit_at(s);
	long next;

	if (code < 0)
		return s.len < 2 ? s.len : 2;
	if (code == 0 || (code >= 0xDC00 && code <= 0xDFFF))
		return 0;
	if (code < 0xD800 || code > 0xDBFF)
		return 6;
	next = unit_at(str_skip(s, 6));
	return next >= 0xDC00 && next <= 0xDFFF ? 12 : 0;
}

static void repair_escapes(struct str s, struct buf *out)
{
	while (s.len) {
		size_t n = str_find(s, '\\');

		buf_add(out, s.ptr, n);
		s = str_skip(s, n);
		if (!s.len)
			break;
		n = sound_escape(s);
		if (n)
			buf_add(out, s.ptr, n);
		else
			buf_adds(out, "\\ufffd");
		s = str_skip(s, n ? n : 6);
	}
}

cJSON *json_parse_repaired(struct str text)
{
	struct str nul = STR("\\u0000");
	bool cut = text.len && memmem(text.ptr, text.len, nul.ptr, nul.len);
	cJSON *tree = cut ? NULL : json_parse(text);
	struct buf again = BUF_INIT(SIZE_MAX / 2);

	if (!tree) {
		repair_escapes(text, &again);
		tree = json_parse(buf_str(&again));
		buf_release(&again);
	}
	return tree;
}

size_t json_error_line(struct str text)
{
	const char *end = text.ptr;
	cJSON *tree =
		cJSON_ParseWithLengthOpts(text.ptr, text.len, &end, false);
	size_t line = 1;

	for (const char *at = text.ptr; at < end; at++)
		line += *at == '\n';
	cJSON_Delete(tree);
	return line;
}

const cJSON *json_get(const cJSON *object, const char *key)
{
	return cJSON_GetObjectItemCaseSensitive(object, key);
}

const char *json_string(const cJSON *object, const char *key,
			const char *fallback)
{
	const cJSON *item = json_get(object, key);

	return cJSON_IsString(item) ? item->valuestring : fallback;
}

int64_t json_int(const cJSON *object, const char *key, int64_t fallback)
{
	const cJSON *item = json_get(object, key);

	if (!cJSON_IsNumber(item) || !(item->valuedouble > -9.2e18) ||
	    !(item->valuedouble < 9.2e18))
		return fallback;
	return (int64_t)item->valuedouble;
}

bool json_bool(const cJSON *object, const char *key, bool fallback)
{
	const cJSON *item = json_get(object, key);

	return cJSON_IsBool(item) ? cJSON_IsTrue(item) : fallback;
}

int64_t json_time(const cJSON *object, const char *key)
{
	struct tm tm = { 0 };
	const char *rest = strptime(json_string(object, key, ""),
				    "%Y-%m-%dT%H:%M:%S", &tm);
	int hours = 0;
	int minutes = 0;
	int64_t t;

	if (!rest)
		return 0;
	t = timegm(&tm);
	rest += strspn(rest, ".0123456789");
	if ((*rest == '+' || *rest == '-') && strlen(rest) >= 6) {
		hours = (rest[1] - '0') * 10 + (rest[2] - '0');
		minutes = (rest[4] - '0') * 10 + (rest[5] - '0');
		t -= (*rest == '+' ? 60 : -60) * (hours * 60 + minutes);
	}
	return t > 0 ? t : 0;
}

/* What is behind the backslash, 0: c stands for itself, 'u': neither. */
static char short_escape(unsigned char c)
{
	static const char shorts[] = "btnufr"; /* 8 to 13 */

	if (c == '"' || c == '\\')
		return (char)c;
	if (c >= 8 && c <= 13)
		return shorts[c - 8];
	return c < 0x20 || c >= 0x7F ? 'u' : 0;
}

/* Whether eight bytes stand for themselves: prompts are of such (Hacker's
 * Delight, 6-1). */
static bool are_plain(uint64_t x)
{
	static const uint64_t ones = 0x0101010101010101u;
	static const uint64_t highs = 0x8080808080808080u;
	uint64_t quote = x ^ ones * '"';
	uint64_t slash = x ^ ones * '\\';
	uint64_t del = x ^ ones * 0x7F;
	uint64_t special = x | (x - ones * 0x20) | (quote - ones) |
			   (slash - ones) | (del - ones);

	/* A borrow comes from a special byte alone. */
	return !(special & highs);
}

/* Bytes at the front that need no escape; stops at a non-ASCII byte too. */
static size_t plain_ascii(struct str s)
{
	uint64_t eight;
	size_t n = 0;

	while (s.len - n >= sizeof(eight)) {
		memcpy(&eight, s.ptr + n, sizeof(eight));
		if (!are_plain(eight))
			break;
		n += sizeof(eight);
	}
	while (n < s.len && !short_escape((unsigned char)s.ptr[n]))
		n++;
	return n;
}

/* Appends what is at the front and stands for itself or has a short escape:
 * how many bytes of s. */
static size_t quote_short(struct buf *out, struct str s)
{
	char room[1024];
	size_t used = 0;
	size_t at = 0;

	while (at < s.len) {
		struct str rest = str_skip(s, at);
		char escape;
		size_t n;

		if (rest.len > sizeof(room) - 2 - used)
			rest.len = sizeof(room) - 2 - used;
		n = plain_ascii(rest);
		memcpy(room + used, rest.ptr, n);
		used += n;
		at += n;
		escape = at < s.len ? short_escape((unsigned char)s.ptr[at])
				    : 'u';
		if (escape == 'u')
			break;
		if (escape) {
			room[used++] = '\\';
			room[used++] = escape;
			at++;
		}
		if (used + 2 >= sizeof(room)) {
			buf_add(out, room, used);
			used = 0;
		}
	}
	buf_add(out, room, used);
	return at;
}

/*
 * The first character when it has to be escaped, else 0: controls of C1, which
 * steer a terminal that shows the JSON, and NEL among them; LINE and PARAGRAPH
 * SEPARATOR, which end a line for some readers, Python's splitlines() among
 * them; what reorders text (UAX #9).
 */
static unsigned escaped(struct str s)
{
	unsigned char lead = (unsigned char)s.ptr[0];
	unsigned char second = s.len > 1 ? (unsigned char)s.ptr[1] : 0;
	unsigned char third = s.len > 2 ? (unsigned char)s.ptr[2] : 0;
	unsigned c;

	if (lead == 0xC2 && second >= 0x80 && second < 0xA0)
		return second;
	if (lead == 0xD8 && second == 0x9C)
		return 0x61C;
	if (lead != 0xE2 || (second & 0xFE) != 0x80 || (third & 0xC0) != 0x80)
		return 0;
	c = 0x2000u | (second & 0x3Fu) << 6 | (third & 0x3Fu);
	return c == 0x200E || c == 0x200F || (c >= 0x2028 && c <= 0x202E) ||
			       (c >= 0x2066 && c <= 0x2069)
		       ? c
		       : 0;
}

void json_quote(struct buf *out, struct str s)
{
	buf_addc(out, '"');
	while (s.len) {
		size_t n = quote_short(out, s);
		unsigned escape;
		unsigned char c;

		s = str_skip(s, n);
		if (!s.len)
			break;
		c = (unsigned char)s.ptr[0];
		if (c < 0x80) {
			buf_addf(out, "\\u%04x", c);
			s = str_skip(s, 1);
			continue;
		}
		n = str_char_offset(s, 1);
		escape = escaped(s);
		if (escape)
			buf_addf(out, "\\u%04x", escape);
		else if (n > 1)
			buf_add(out, s.ptr, n);
		else
			buf_adds(out, "\xEF\xBF\xBD");
		s = str_skip(s, n);
	}
	buf_addc(out, '"');
}

void json_member(struct buf *out, const char *key, struct str value)
{
	json_quote(out, str_of(key));
	buf_addc(out, ':');
	json_quote(out, value);
}

void json_base64(struct buf *out, struct str bytes)
{
	size_t size = sodium_base64_encoded_len(bytes.len,
						sodium_base64_VARIANT_ORIGINAL);
	char *room = buf_room(out, size);

	if (!room)
		return; /* out->over tells */
	sodium_bin2base64(room, size, (const unsigned char *)bytes.ptr,
			  bytes.len, sodium_base64_VARIANT_ORIGINAL);
	buf_added(out, size - 1);
}

void json_member_bytes(struct buf *out, const char *key, struct str value)
{
	json_member(out, key, value);
	if (str_is_utf8(value))
		return;
	buf_addf(out, ",\"%s_base64\":\"", key);
	json_base64(out, value);
	buf_addc(out, '"');
}

bool json_decode_base64(struct buf *out, struct str text)
{
	size_t most = text.len / 4 * 3 + 3;
	char *room = buf_room(out, most);
	size_t len = 0;

	if (!room || sodium_base642bin((unsigned char *)room, most, text.ptr,
				       text.len, " \r\n", &len, NULL,
				       sodium_base64_VARIANT_ORIGINAL) < 0)
		return false;
	buf_added(out, len);
	return true;
}

void json_print(struct buf *out, const cJSON *tree)
{
	char *text = cJSON_PrintUnformatted(tree);

	if (!text)
		abort();
	for (struct str rest = str_of(text); rest.len;) {
		unsigned escape = escaped(rest);
		size_t n =
			escape ? str_char_offset(rest, 1) : plain_ascii(rest);

		/* Outside ASCII there are only strings. */
		n += n == 0;
		if (escape)
			buf_addf(out, "\\u%04x", escape);
		else
			buf_add(out, rest.ptr, n);
		rest = str_skip(rest, n);
	}
	cJSON_free(text);
}
