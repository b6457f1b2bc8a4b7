/* json_parse.c - parses JSON into cJSON trees. */
/* SPDX-License-Identifier: MIT */
/*
 * cJSON's own parser allocates each node, key and string by itself, which takes
 * most of the time of a short document, and a turn of the conversation has
 * dozens. Here the tree of a short-lived document is in a pool: nodes come from
 * one block of memory, and strings stay where they are in a copy of the text.
 * Begin reading at parse_value().
 */
#include "base/json_parse.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum {
	NUMBER_MAX = 63,    /* characters of a number, as in cJSON */
	EXACT_DIGITS = 15,  /* a double has all integers of so many digits */
	BLOCK_LEAST = 4096, /* bytes */
};

/* Nodes and texts of a pool, from its own end on. */
struct json_block {
	struct json_block *older; /* owned */
	size_t size;              /* bytes behind this head */
};

struct parser {
	const char *at, *end;
	struct json_pool *pool; /* NULL: each part is allocated by itself */
	bool repairs;           /* U+FFFD for NUL and half a surrogate pair */
	int depth;
};

/* Returns memory for any object, valid until the pool is emptied. */
static void *take_bytes(struct json_pool *pool, size_t n)
{
	struct json_block *b = pool->block;
	char *taken;

	n = (n + 15) & ~(size_t)15;
	if (!b || b->size - pool->used < n) {
		size_t size = b ? b->size * 2 : BLOCK_LEAST;

		if (size < n)
			size = n;
		b = xrealloc(NULL, 1, sizeof(*b) + size);
		b->older = pool->block;
		b->size = size;
		pool->block = b;
		pool->used = 0;
	}
	taken = (char *)(b + 1) + pool->used;
	pool->used += n;
	return taken;
}

static void free_blocks(struct json_block *b)
{
	while (b) {
		struct json_block *older = b->older;

		free(b);
		b = older;
	}
}

void json_parse_release(struct json_pool *pool)
{
	free_blocks(pool->block);
	*pool = (struct json_pool){ 0 };
}

static cJSON *new_item(struct parser *p)
{
	cJSON *item;

	if (!p->pool)
		return xcalloc(1, sizeof(*item));
	item = take_bytes(p->pool, sizeof(*item));
	*item = (cJSON){ 0 };
	return item;
}

static void skip_blank(struct parser *p)
{
	while (p->at < p->end && (unsigned char)*p->at <= ' ')
		p->at++;
}

/* Skips blanks, then the character c. False if there is another one. */
static bool skip_char(struct parser *p, char c)
{
	skip_blank(p);
	if (p->at == p->end || *p->at != c)
		return false;
	p->at++;
	return true;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Returns the UTF-16 code unit of a \\uXXXX escape at s, or -1. */
static long read_unit(const char *s, const char *end)
{
	long unit = 0;

	if (end - s < 6 || s[0] != '\\' || s[1] != 'u')
		return -1;
	for (int i = 2; i < 6; i++) {
		int digit = hex_digit(s[i]);

		if (digit < 0)
			return -1;
		unit = unit << 4 | digit;
	}
	return unit;
}

static char *put_utf8(char *out, long c)
{
	if (c < 0x80) {
		*out++ = (char)c;
		return out;
	}
	if (c < 0x800) {
		*out++ = (char)(0xC0 | c >> 6);
	} else {
		if (c < 0x10000) {
			*out++ = (char)(0xE0 | c >> 12);
		} else {
			*out++ = (char)(0xF0 | c >> 18);
			*out++ = (char)(0x80 | (c >> 12 & 0x3F));
		}
		*out++ = (char)(0x80 | (c >> 6 & 0x3F));
	}
	*out++ = (char)(0x80 | (c & 0x3F));
	return out;
}

/* Converts the escape \\uXXXX at *s, or two of them that are a surrogate pair,
 * and moves *s behind it. Returns the end of the output; NULL if it is not
 * valid. */
static char *convert_unicode(const struct parser *p, const char **s,
			     const char *end, char *out)
{
	long c = read_unit(*s, end);
	long low = c >= 0xD800 && c <= 0xDBFF ? read_unit(*s + 6, end) : -1;

	if (c < 0)
		return NULL;
	*s += 6;
	if (low >= 0xDC00 && low <= 0xDFFF) {
		*s += 6;
		c = 0x10000 + ((c & 0x3FF) << 10 | (low & 0x3FF));
	} else if (c >= 0xD800 && c <= 0xDFFF && !p->repairs) {
		return NULL;
	} else if (p->repairs && (!c || (c >= 0xD800 && c <= 0xDFFF))) {
		c = 0xFFFD;
	}
	return put_utf8(out, c);
}

/* Copies a string from s to out, with its escapes converted; out may be s,
 * because no escape becomes longer. Returns the end of the output; NULL if an
 * escape is not valid. */
static char *unescape_string(const struct parser *p, const char *s,
			     const char *end, char *out)
{
	static const char from[] = "\"\\/bfnrt";
	static const char to[] = "\"\\/\b\f\n\r\t";

	while (s < end) {
		const char *found;

		if (*s != '\\') {
			*out++ = *s++;
			continue;
		}
		if (s[1] == 'u') {
			out = convert_unicode(p, &s, end, out);
			if (!out)
				return NULL;
			continue;
		}
		found = s[1] ? strchr(from, s[1]) : NULL;
		if (!found)
			return NULL;
		*out++ = to[found - from];
		s += 2;
	}
	return out;
}

/* Returns the quote that ends the string whose text begins at s, or NULL. */
static const char *find_quote(const char *s, const char *end, bool *escaped)
{
	const char *quote = memchr(s, '"', (size_t)(end - s));

	*escaped = quote && memchr(s, '\\', (size_t)(quote - s));
	if (!*escaped)
		return quote;
	while (s < end && *s != '"')
		s += *s == '\\' ? 2 : 1;
	return s < end ? s : NULL;
}

/* Parses the string that begins at p->at. The result is owned by the tree.
 * NULL if it is not a string. */
static char *parse_string(struct parser *p)
{
	const char *begin = p->at + 1;
	const char *quote;
	bool escaped;
	size_t len;
	char *text;
	char *end;

	if (p->at == p->end || *p->at != '"')
		return NULL;
	quote = find_quote(begin, p->end, &escaped);
	if (!quote)
		return NULL;
	p->at = quote + 1;
	len = (size_t)(quote - begin);
	/* The text of a pool is its own copy, and can be written to: the quote
	 * at the end of the string, too. */
	text = p->pool ? (char *)begin : xcalloc(len + 1, 1);
	if (!escaped) {
		if (text != begin && len)
			memcpy(text, begin, len);
		text[len] = '\0';
		return text;
	}
	end = unescape_string(p, begin, quote, text);
	if (end)
		*end = '\0';
	else if (!p->pool)
		free(text);
	return end ? text : NULL;
}

static bool in_number(char c)
{
	return (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '+' ||
	       c == 'e' || c == 'E';
}

/* Parses a number that is not a short integer. */
static bool parse_long_number(struct parser *p, double *value)
{
	char room[64];
	char *text = room;
	size_t n = 0;
	size_t parsed;
	char *end;

	while (p->at + n < p->end && in_number(p->at[n]))
		n++;
	if (n < sizeof(room)) {
		memcpy(room, p->at, n);
		room[n] = '\0';
	} else {
		text = xstrndup(p->at, n);
	}
	*value = strtod(text, &end);
	parsed = (size_t)(end - text);
	p->at += parsed;
	if (text != room)
		free(text);
	return parsed > 0;
}

static bool parse_number(struct parser *p, cJSON *item)
{
	const char *digits = p->at + (*p->at == '-');
	const char *s = digits;
	int64_t n = 0;
	double value;

	while (s < p->end && s - digits <= EXACT_DIGITS && *s >= '0' &&
	       *s <= '9')
		n = n * 10 + (*s++ - '0');
	/* -0 is not an integer: it has a sign */
	if (s == digits || s - digits > EXACT_DIGITS ||
	    (s < p->end && in_number(*s)) || (!n && digits != p->at)) {
		if (!parse_long_number(p, &value))
			return false;
	} else {
		value = (double)(digits == p->at ? n : -n);
		p->at = s;
	}
	item->type = cJSON_Number;
	item->valuedouble = value;
	item->valueint = value >= INT_MAX   ? INT_MAX
			 : value <= INT_MIN ? INT_MIN
					    : (int)value;
	return true;
}

static bool parse_word(struct parser *p, cJSON *item)
{
	static const struct {
		const char *word;
		int type;
	} words[] = {
		{ "null", cJSON_NULL },
		{ "false", cJSON_False },
		{ "true", cJSON_True },
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		size_t len = strlen(words[i].word);

		if ((size_t)(p->end - p->at) < len ||
		    memcmp(p->at, words[i].word, len) != 0)
			continue;
		p->at += len;
		item->type = words[i].type;
		item->valueint = item->type == cJSON_True;
		return true;
	}
	return false;
}

static bool parse_value(struct parser *p, cJSON *item);

/* Adds an item at the end of the array or object. Its first item points back to
 * its last one: cJSON_AddItemToArray() relies on that. */
static cJSON *append_item(struct parser *p, cJSON *list)
{
	cJSON *item = new_item(p);

	if (!list->child) {
		list->child = item;
	} else {
		item->prev = list->child->prev;
		item->prev->next = item;
	}
	list->child->prev = item;
	return item;
}

static bool parse_items(struct parser *p, cJSON *list, bool object)
{
	do {
		cJSON *item = append_item(p, list);

		skip_blank(p);
		if (object) {
			item->string = parse_string(p);
			if (!item->string || !skip_char(p, ':'))
				return false;
			skip_blank(p);
		}
		if (!parse_value(p, item))
			return false;
	} while (skip_char(p, ','));
	return skip_char(p, object ? '}' : ']');
}

/* Parses the array or object that begins at p->at. */
static bool parse_list(struct parser *p, cJSON *list)
{
	bool object = *p->at == '{';
	bool is_list;

	if (p->depth >= CJSON_NESTING_LIMIT)
		return false;
	p->depth++;
	p->at++;
	list->type = object ? cJSON_Object : cJSON_Array;
	is_list = skip_char(p, object ? '}' : ']') ||
		  parse_items(p, list, object);
	p->depth--;
	return is_list;
}

/* Parses the value at p->at into item. False on a syntax error. */
static bool parse_value(struct parser *p, cJSON *item)
{
	char c = p->at < p->end ? *p->at : '\0';

	if (c == '{' || c == '[')
		return parse_list(p, item);
	if (c == '-' || (c >= '0' && c <= '9'))
		return parse_number(p, item);
	if (c != '"')
		return parse_word(p, item);
	item->valuestring = parse_string(p);
	item->type = cJSON_String;
	return item->valuestring != NULL;
}

/* Parses one document. p->at is behind it, or where it is not valid. */
static cJSON *parse_document(struct parser *p)
{
	struct str text = { p->at, (size_t)(p->end - p->at) };
	cJSON *root = new_item(p);
	bool is_whole;

	if (str_starts(text, "\xEF\xBB\xBF"))
		p->at += 3;
	skip_blank(p);
	is_whole = parse_value(p, root);
	if (is_whole)
		return root;
	if (!p->pool)
		cJSON_Delete(root);
	return NULL;
}

/* Like parse_document(), but only white space may follow. */
static cJSON *parse_whole(struct parser *p)
{
	cJSON *root = parse_document(p);
	struct str rest = { p->at, (size_t)(p->end - p->at) };

	if (!root || !str_trim(rest).len)
		return root;
	if (!p->pool)
		cJSON_Delete(root);
	return NULL;
}

cJSON *json_parse(struct str text)
{
	struct parser p = { .at = text.ptr };

	if (!text.len)
		return NULL;
	p.end = text.ptr + text.len;
	return parse_whole(&p);
}

cJSON *json_parse_repaired(struct str text)
{
	struct parser p = { .at = text.ptr, .repairs = true };

	if (!text.len)
		return NULL;
	p.end = text.ptr + text.len;
	return parse_whole(&p);
}

const cJSON *json_parse_pooled(struct json_pool *pool, struct str text)
{
	struct parser p = { .pool = pool, .repairs = true };
	char *copy;

	/* keep the largest block */
	if (pool->block) {
		free_blocks(pool->block->older);
		pool->block->older = NULL;
		pool->used = 0;
	}
	if (!text.len)
		return NULL;
	copy = take_bytes(pool, text.len);
	memcpy(copy, text.ptr, text.len);
	p.at = copy;
	p.end = copy + text.len;
	return parse_whole(&p);
}

size_t json_parse_error_line(struct str text)
{
	struct parser p = { .at = text.ptr };
	cJSON *tree;
	size_t line = 1;

	if (!text.len)
		return line;
	p.end = text.ptr + text.len;
	tree = parse_document(&p);
	for (const char *at = text.ptr; at < p.at; at++)
		line += *at == '\n';
	cJSON_Delete(tree);
	return line;
}
