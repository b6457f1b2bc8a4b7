/* json.c - reads trees of JSON, writes and splits JSON. */
/* SPDX-License-Identifier: MIT */
/*
 * Trees come from json_parse.c. At the end json_split, for a document that is
 * too large to be parsed at once: it parses one value of it at a time.
 */
#include "base/json.h"

#include <endian.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <sodium.h>

#include "base/mem.h"
#include "base/str.h"

const cJSON *json_get(const cJSON *object, const char *key)
{
	const cJSON *item = object && key ? object->child : NULL;

	/* as cJSON_GetObjectItemCaseSensitive(), but mostly without a call */
	while (item && item->string &&
	       (item->string[0] != key[0] || strcmp(item->string, key) != 0))
		item = item->next;
	return item && item->string ? item : NULL;
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

/* Returns the character after the backslash in a short escape of c, 0 if c
 * needs no escape, 'u' if it needs \\uXXXX or is not ASCII. */
static char short_escape(unsigned char c)
{
	/* for bytes 8 to 13; u: no short escape */
	static const char shorts[] = "btnufr";

	if (c == '"' || c == '\\')
		return (char)c;
	if (c >= 8 && c <= 13)
		return shorts[c - 8];
	return c < 0x20 || c >= 0x7F ? 'u' : 0;
}

/* Returns how many of the eight bytes before the first that needs an escape
 * (Hacker's Delight, 6-1). bytes: the first in memory is the lowest. */
static size_t count_plain(uint64_t x)
{
	static const uint64_t ones = 0x0101010101010101u;
	static const uint64_t highs = 0x8080808080808080u;
	uint64_t quote = x ^ ones * '"';
	uint64_t slash = x ^ ones * '\\';
	uint64_t del = x ^ ones * 0x7F;
	uint64_t special = x | (x - ones * 0x20) | (quote - ones) |
			   (slash - ones) | (del - ones);

	/* Only a special byte makes a subtraction borrow from the next byte, so
	 * the lowest mark is right. */
	special &= highs;
	return special ? (size_t)__builtin_ctzll(special) / 8 : sizeof(x);
}

/* Returns how many bytes at the front are ASCII and need no escape. */
static size_t plain_ascii(struct str s)
{
	uint64_t eight;
	size_t n = 0;

	while (s.len - n >= sizeof(eight)) {
		size_t plain;

		memcpy(&eight, s.ptr + n, sizeof(eight));
		plain = count_plain(le64toh(eight));
		n += plain;
		if (plain < sizeof(eight))
			return n;
	}
	while (n < s.len && !short_escape((unsigned char)s.ptr[n]))
		n++;
	return n;
}

/* Appends the front of s, up to the first byte that is not ASCII or must be
 * written as \\uXXXX. Returns how many bytes of s were appended. */
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
 * Returns the first character of s if it is outside ASCII and must be escaped,
 * else 0. Escaped are C1 controls, which affect a terminal that shows the JSON;
 * LINE and PARAGRAPH SEPARATOR, which some readers (Python's splitlines()) take
 * for line ends; and characters that reorder text (UAX #9).
 */
static unsigned find_escape(struct str s)
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

/* Appends a text without escapes as a JSON string, if there is room. */
static bool quote_plain(struct buf *out, struct str s)
{
	char *room;

	if (s.len + 2 > out->max - out->len || plain_ascii(s) != s.len)
		return false;
	room = buf_room(out, s.len + 2);
	room[0] = '"';
	if (s.len)
		memcpy(room + 1, s.ptr, s.len);
	room[s.len + 1] = '"';
	buf_added(out, s.len + 2);
	return true;
}

void json_quote(struct buf *out, struct str s)
{
	if (quote_plain(out, s))
		return;
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
		escape = find_escape(s);
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

void json_add_member(struct buf *out, const char *key, const char *value)
{
	if (!value)
		return;
	if (out->len && out->ptr[out->len - 1] != '{')
		buf_addc(out, ',');
	json_member(out, key, str_of(value));
}

void json_base64(struct buf *out, struct str bytes)
{
	size_t size = sodium_base64_encoded_len(bytes.len,
						sodium_base64_VARIANT_ORIGINAL);
	char *room = buf_room(out, size);

	if (!room)
		return; /* out is full: buf_room() has set out->over */
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
		unsigned escape = find_escape(rest);
		size_t n =
			escape ? str_char_offset(rest, 1) : plain_ascii(rest);

		/* plain_ascii() stops at quotes, backslashes and bytes outside
		 * ASCII: copy these unchanged. */
		n += n == 0;
		if (escape)
			buf_addf(out, "\\u%04x", escape);
		else
			buf_add(out, rest.ptr, n);
		rest = str_skip(rest, n);
	}
	cJSON_free(text);
}

enum {
	/* bytes of a key in the document, including its quotes */
	KEY_MAX = 256,
	KEYS_MAX = 16,  /* maximum number of wanted keys */
	DEPTH_MAX = 16, /* nesting of arrays and objects in a value */
	OBJECT_DEPTH_MAX = 64,
	VALUES_MAX = 100000, /* arrays, objects and members in one value */
};

enum place { /* what the parser expects next */
	     AT_START,
	     AT_KEY,
	     AT_COLON,
	     AT_VALUE,
	     AT_COMMA, /* a comma or the end of the object */
	     AT_ELEMENT,
	     AT_NEXT, /* a comma or the end of the array */
	     AT_END,
};

struct json_weight { /* Counts what makes a value expensive to parse. */
	bool in_string, escaped;
	int depth;
	int64_t values;
};

struct json_split {
	const struct json_split_key *keys; /* borrowed */
	struct json_split_sink sink;
	/* the current key; NULL: its value is skipped */
	const struct json_split_key *key;
	struct buf value; /* bytes of the current value so far */
	struct json_weight weight;
	enum place place;
	bool in_value, scalar;
	/* before the first element or member: the end may follow instead */
	bool first;
	bool seen[KEYS_MAX];
	int64_t line;
	int64_t begun; /* line of the document where the current value began */
};

struct json_split *json_split_new(const struct json_split_key *keys,
				  const struct json_split_sink *sink)
{
	struct json_split *s = xcalloc(1, sizeof(*s));

	s->keys = keys;
	s->sink = *sink;
	s->line = 1;
	return s;
}

void json_split_free(struct json_split *s)
{
	if (!s)
		return;
	buf_release(&s->value);
	free(s);
}

static int set_line_error(const struct json_split *s, struct error *err,
			  const char *why)
{
	return error_set(err, ERR_USAGE, "line %" PRId64 ": %s",
			 s->in_value ? s->begun : s->line, why);
}

/* Updates w with c, the next byte of a value. False if the value is nested too
 * deeply or has too many members to be parsed in little memory. */
static bool add_weight(struct json_weight *w, char c, int deepest)
{
	if (w->in_string) {
		if (w->escaped)
			w->escaped = false;
		else if (c == '\\')
			w->escaped = true;
		else if (c == '"')
			w->in_string = false;
		return true;
	}
	w->in_string = c == '"';
	w->depth += (c == '[' || c == '{') - (c == ']' || c == '}');
	w->values += c == '[' || c == '{' || c == ',';
	return w->depth <= deepest && w->values <= VALUES_MAX;
}

bool json_split_is_object(struct str text)
{
	struct json_weight w = { 0 };
	cJSON *tree;
	bool is;

	for (size_t i = 0; i < text.len; i++)
		if (!add_weight(&w, text.ptr[i], OBJECT_DEPTH_MAX))
			return false;
	tree = json_parse(text);
	is = cJSON_IsObject(tree);
	cJSON_Delete(tree);
	return is;
}

static const struct json_split_key *find_key(const struct json_split *s,
					     const char *name)
{
	for (const struct json_split_key *k = s->keys; k->name; k++)
		if (!strcmp(k->name, name))
			return k;
	return NULL;
}

/* Handles a complete key, or passes a complete wanted value to the sink. */
static int pass_value(struct json_split *s, struct error *err)
{
	struct str text = buf_str(&s->value);
	cJSON *tree = str_is_utf8(text) ? json_parse(text) : NULL;
	int rc = 0;

	if (!tree)
		return set_line_error(s, err, "not valid JSON in UTF-8");
	if (s->place == AT_KEY)
		s->key = find_key(s, tree->valuestring);
	else
		rc = s->sink.value(s->sink.arg, s->key, text, tree, s->begun,
				   err);
	cJSON_Delete(tree);
	return rc;
}

/* Handles the end of a key or a value. */
static int end_value(struct json_split *s, struct error *err)
{
	static const enum place next[] = {
		[AT_KEY] = AT_COLON,
		[AT_VALUE] = AT_COMMA,
		[AT_ELEMENT] = AT_NEXT,
	};
	int rc = 0;

	if (s->place == AT_KEY || s->key)
		rc = pass_value(s, err);
	s->in_value = false;
	s->place = next[s->place];
	buf_release(&s->value);
	return rc;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Adds one byte to the current value. *taken is false if the byte is no longer
 * part of it. */
static int add_byte(struct json_split *s, char c, bool *taken,
		    struct error *err)
{
	struct json_weight *w = &s->weight;

	if (s->scalar && (is_blank(c) || strchr(",]}", c))) {
		*taken = false;
		return end_value(s, err);
	}
	if (w->in_string && (unsigned char)c < 0x20)
		return set_line_error(s, err,
				      "a string contains a control character");
	if (!add_weight(w, c, DEPTH_MAX))
		return set_line_error(s, err,
				      "too many values, or nested too deep");
	if (s->place == AT_KEY || s->key)
		buf_addc(&s->value, c);
	if (buf_check(&s->value, "a value", err) < 0)
		return error_wrap(err, "line %" PRId64, s->begun);
	if (!s->scalar && !w->in_string && w->depth <= 0)
		return end_value(s, err);
	return 0;
}

static bool is_array(const struct json_split *s)
{
	return s->key && s->key->elements;
}

static int begin_array(struct json_split *s, struct error *err)
{
	bool *seen = &s->seen[(s->key - s->keys) % KEYS_MAX];

	if (*seen)
		return set_line_error(s, err, "an array appears twice");
	*seen = true;
	s->first = true;
	s->place = AT_ELEMENT;
	return 0;
}

/* Handles a byte outside of keys and values: punctuation or white space. */
static int add_mark(struct json_split *s, char c, struct error *err)
{
	bool array = s->place == AT_ELEMENT || s->place == AT_NEXT;
	/* No end after a comma: then `first` is false and a key or an element
	 * must follow. */
	bool may_end =
		s->place == AT_COMMA || s->place == AT_NEXT ||
		(s->first && (s->place == AT_KEY || s->place == AT_ELEMENT));

	if (s->place == AT_VALUE && is_array(s) && c == '[')
		return begin_array(s, err);
	if (s->place == AT_START && c == '{') {
		s->place = AT_KEY;
		s->first = true;
	} else if (s->place == AT_COLON && c == ':') {
		s->place = AT_VALUE;
	} else if ((s->place == AT_COMMA || s->place == AT_NEXT) && c == ',') {
		s->place = array ? AT_ELEMENT : AT_KEY;
		s->first = false;
	} else if (may_end && c == (array ? ']' : '}')) {
		s->place = array ? AT_COMMA : AT_END;
	} else {
		return set_line_error(s, err, "not the expected JSON");
	}
	return 0;
}

static bool begins_value(const struct json_split *s, char c)
{
	if (s->place == AT_KEY)
		return c == '"';
	if (s->place == AT_VALUE && is_array(s))
		return false;
	return (s->place == AT_VALUE || s->place == AT_ELEMENT) && c &&
	       strchr("\"[{-0123456789tfn", c);
}

static void begin_value(struct json_split *s, char c)
{
	s->in_value = true;
	s->scalar = !strchr("\"[{", c);
	s->begun = s->line;
	s->weight = (struct json_weight){ 0 };
	s->value = BUF_INIT(s->place == AT_KEY || !s->key ? (size_t)KEY_MAX
							  : s->key->max);
}

/* Handles one byte of the document. */
static int feed_byte(struct json_split *s, char c, struct error *err)
{
	bool taken = true;

	if (s->in_value) {
		if (add_byte(s, c, &taken, err) < 0)
			return -1;
		if (taken)
			return 0;
	}
	if (is_blank(c))
		return 0;
	if (!begins_value(s, c))
		return add_mark(s, c, err);
	begin_value(s, c);
	return add_byte(s, c, &taken, err);
}

/* Returns how many bytes at the front belong to a wanted string and can be
 * added at once. Without the last of them, for which add_byte() then checks the
 * limits. */
static size_t string_run(const struct json_split *s, struct str bytes)
{
	size_t n = 0;

	if (!s->in_value || !s->weight.in_string || s->weight.escaped ||
	    !(s->key || s->place == AT_KEY))
		return 0;
	while (n < bytes.len && (unsigned char)bytes.ptr[n] >= 0x20 &&
	       bytes.ptr[n] != '"' && bytes.ptr[n] != '\\')
		n++;
	return n ? n - 1 : 0;
}

int json_split_feed(struct json_split *s, struct str bytes, struct error *err)
{
	while (bytes.len) {
		size_t n = string_run(s, bytes);

		if (n)
			buf_add(&s->value, bytes.ptr, n);
		bytes = str_skip(bytes, n);
		if (feed_byte(s, bytes.ptr[0], err) < 0)
			return -1;
		s->line += bytes.ptr[0] == '\n';
		bytes = str_skip(bytes, 1);
	}
	return 0;
}

int json_split_end(const struct json_split *s, struct error *err)
{
	if (s->place == AT_END)
		return 0;
	if (s->place == AT_START)
		return set_line_error(s, err, "no JSON object");
	(void)set_line_error(s, err, "the end is missing");
	/* The document was cut off: that is not the user's mistake. */
	err->code = ERR_PROTOCOL;
	return -1;
}
