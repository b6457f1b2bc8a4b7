/* json_split.c - reads one large JSON object piece by piece. */
/* SPDX-License-Identifier: MIT */
#include "base/json_split.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"

enum {
	KEY_MAX = 256,  /* bytes of a key, with its quotes */
	KEYS_MAX = 16,  /* that are wanted */
	DEPTH_MAX = 16, /* arrays and objects within a value */
	OBJECT_DEPTH_MAX = 64,
	VALUES_MAX = 100000, /* arrays, objects and members, in all */
};

enum place { /* what comes next */
	     AT_START,
	     AT_KEY,
	     AT_COLON,
	     AT_VALUE,
	     AT_COMMA, /* or the end of the object */
	     AT_ELEMENT,
	     AT_NEXT, /* a comma, or the end of the array */
	     AT_END,
};

struct json_weight { /* of what was read of a value */
	bool in_string, escaped;
	int depth;
	int64_t values;
};

struct json_split {
	const struct json_split_key *keys; /* borrowed */
	struct json_split_sink sink;
	const struct json_split_key *key; /* NULL: not wanted */
	struct buf value;                 /* what was read of it */
	struct json_weight weight;
	enum place place;
	bool in_value, scalar;
	bool first; /* of an array or object: its end may follow */
	bool seen[KEYS_MAX];
	int64_t line;
	int64_t begun; /* line where the value began */
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

static int fail(const struct json_split *s, struct error *err, const char *why)
{
	return error_set(err, ERR_USAGE, "line %" PRId64 ": %s",
			 s->in_value ? s->begun : s->line, why);
}

/* Counts c, a byte of a value; false: it is nested too deep or has too many
 * members to be parsed in little memory. */
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

/* A key, or a value that is wanted. */
static int take_value(struct json_split *s, struct error *err)
{
	struct str text = buf_str(&s->value);
	cJSON *tree = str_is_utf8(text) ? json_parse(text) : NULL;
	int rc = 0;

	if (!tree)
		return fail(s, err, "not valid JSON in UTF-8");
	if (s->place == AT_KEY)
		s->key = find_key(s, tree->valuestring);
	else
		rc = s->sink.value(s->sink.arg, s->key, text, tree, s->begun,
				   err);
	cJSON_Delete(tree);
	return rc;
}

static int end_value(struct json_split *s, struct error *err)
{
	static const enum place next[] = {
		[AT_KEY] = AT_COLON,
		[AT_VALUE] = AT_COMMA,
		[AT_ELEMENT] = AT_NEXT,
	};
	int rc = 0;

	if (s->place == AT_KEY || s->key)
		rc = take_value(s, err);
	s->in_value = false;
	s->place = next[s->place];
	buf_release(&s->value);
	return rc;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* One byte of the value; *taken is false for one that belongs to what comes
 * behind it. */
static int add_byte(struct json_split *s, char c, bool *taken,
		    struct error *err)
{
	struct json_weight *w = &s->weight;

	if (s->scalar && (is_blank(c) || strchr(",]}", c))) {
		*taken = false;
		return end_value(s, err);
	}
	if (w->in_string && (unsigned char)c < 0x20)
		return fail(s, err, "a string contains a control character");
	if (!add_weight(w, c, DEPTH_MAX))
		return fail(s, err, "too many values, or nested too deep");
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
		return fail(s, err, "an array appears twice");
	*seen = true;
	s->first = true;
	s->place = AT_ELEMENT;
	return 0;
}

/* A byte between values that begins none. */
static int add_mark(struct json_split *s, char c, struct error *err)
{
	bool array = s->place == AT_ELEMENT || s->place == AT_NEXT;
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
		return fail(s, err, "not the expected JSON");
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

static int take_byte(struct json_split *s, char c, struct error *err)
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

/* Bytes at the front that a wanted string just goes on with, all but the last:
 * limits are looked at where that is added. */
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
		if (take_byte(s, bytes.ptr[0], err) < 0)
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
		return fail(s, err, "no JSON object");
	(void)fail(s, err, "the end is missing");
	err->code = ERR_PROTOCOL; /* it was cut: not the user's mistake */
	return -1;
}
