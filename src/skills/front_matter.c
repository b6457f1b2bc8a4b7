/* front_matter.c - the YAML between two lines of "---" that a file begins with.
 */
/* SPDX-License-Identifier: MIT */
#include "skills/front_matter.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "skills/yaml_api.h"

enum {
	MOST_EVENTS = 4000,
	MOST_DEEP = 32,
	MOST_FIELDS = 64,
	MOST_ITEMS = 256,
};

struct reader {
	struct yaml_api api;
	yaml_parser_t parser;
	yaml_event_t event;
	bool has_event;
	int left; /* events that may still come */
	struct error *err;
};

static int next_event(struct reader *r)
{
	if (r->has_event)
		r->api.event_delete(&r->event);
	r->has_event = false;
	if (!r->left--)
		return error_set(r->err, ERR_CONFIG,
				 "its front matter has too many entries");
	if (r->api.parser_parse(&r->parser, &r->event)) {
		r->has_event = true;
		return 0;
	}
	/* The line of "---" is not among those that libyaml counts. */
	return error_set(r->err, ERR_CONFIG,
			 "its front matter is no YAML: line %zu: %s",
			 r->parser.problem_mark.line + 2,
			 r->parser.problem ? r->parser.problem : "?");
}

static bool begins(const yaml_event_t *e)
{
	return e->type == YAML_SEQUENCE_START_EVENT ||
	       e->type == YAML_MAPPING_START_EVENT;
}

static bool ends(const yaml_event_t *e)
{
	return e->type == YAML_SEQUENCE_END_EVENT ||
	       e->type == YAML_MAPPING_END_EVENT;
}

/* From the beginning of a list or map to its end. */
static int skip_nested(struct reader *r)
{
	int deep = 1;

	while (deep) {
		if (next_event(r) < 0)
			return -1;
		deep += begins(&r->event) - ends(&r->event);
		if (deep > MOST_DEEP)
			return error_set(r->err, ERR_CONFIG,
					 "its front matter is nested too "
					 "deeply");
	}
	return 0;
}

static struct str scalar_text(const yaml_event_t *e)
{
	return (struct str){ (const char *)e->data.scalar.value,
			     e->data.scalar.length };
}

static bool is_one_of(struct str s, const char *const *names)
{
	for (; *names; names++)
		if (str_is_nocase(s, *names))
			return true;
	return false;
}

/* YAML 1.1 as PyYAML reads it: what is written without quotes may be no text.
 */
static enum front_kind kind_of(const yaml_event_t *e)
{
	static const char *const nulls[] = { "", "~", "null", NULL };
	static const char *const booleans[] = { "true", "false", "yes", "no",
						"on",   "off",   NULL };
	struct str s = scalar_text(e);
	char *end;
	char *copy;
	bool number;

	if (e->data.scalar.style != YAML_PLAIN_SCALAR_STYLE)
		return FRONT_TEXT;
	if (is_one_of(s, nulls))
		return FRONT_NULL;
	if (is_one_of(s, booleans))
		return FRONT_NUMBER;
	if (!strchr("+-.0123456789", s.ptr[0]))
		return FRONT_TEXT;
	copy = xstrndup(s.ptr, s.len);
	(void)strtod(copy, &end);
	number = end != copy && !*end;
	free(copy);
	return number ? FRONT_NUMBER : FRONT_TEXT;
}

static void add_item(struct front_field *f, const yaml_event_t *e)
{
	struct str s = scalar_text(e);
	char *copy;

	if (f->n == MOST_ITEMS)
		return;
	copy = xcalloc(1, s.len + 1);
	for (size_t i = 0; i < s.len; i++)
		copy[i] = s.ptr[i] ? s.ptr[i] : '\1';
	f->items = xrealloc(f->items, f->n + 1, sizeof(*f->items));
	f->items[f->n++] = copy;
}

static int read_list(struct reader *r, struct front_field *f)
{
	f->kind = FRONT_LIST;
	for (;;) {
		if (next_event(r) < 0)
			return -1;
		if (r->event.type == YAML_SEQUENCE_END_EVENT)
			return 0;
		if (begins(&r->event) && skip_nested(r) < 0)
			return -1;
		if (r->event.type == YAML_SCALAR_EVENT &&
		    kind_of(&r->event) == FRONT_TEXT)
			add_item(f, &r->event);
	}
}

static void drop_item(struct front_field *f)
{
	free(f->items[--f->n]);
}

static int read_map(struct reader *r, struct front_field *f)
{
	f->kind = FRONT_MAP;
	for (bool is_key = true;; is_key = !is_key) {
		bool whole = f->n % 2 == 1;

		if (next_event(r) < 0)
			return -1;
		if (r->event.type == YAML_MAPPING_END_EVENT)
			return 0;
		if (r->event.type == YAML_SCALAR_EVENT && (is_key || whole)) {
			add_item(f, &r->event);
			continue;
		}
		if (!is_key && whole)
			drop_item(f);
		if (begins(&r->event) && skip_nested(r) < 0)
			return -1;
	}
}

static int read_value(struct reader *r, struct front_field *f)
{
	if (next_event(r) < 0)
		return -1;
	switch (r->event.type) {
	case YAML_SEQUENCE_START_EVENT:
		return read_list(r, f);
	case YAML_MAPPING_START_EVENT:
		return read_map(r, f);
	case YAML_SCALAR_EVENT:
		f->kind = kind_of(&r->event);
		if (f->kind != FRONT_NULL)
			add_item(f, &r->event);
		return 0;
	default:
		f->kind = FRONT_NULL;
		return 0;
	}
}

static int read_fields(struct reader *r, struct front_matter *f)
{
	for (;;) {
		struct front_field *field;

		if (next_event(r) < 0)
			return -1;
		if (r->event.type == YAML_MAPPING_END_EVENT)
			return 0;
		if (r->event.type != YAML_SCALAR_EVENT || f->n == MOST_FIELDS)
			return error_set(r->err, ERR_CONFIG,
					 "its front matter has a key that is "
					 "no text, or more than %d keys",
					 MOST_FIELDS);
		f->fields = xrealloc(f->fields, f->n + 1, sizeof(*f->fields));
		field = &f->fields[f->n++];
		*field = (struct front_field){ 0 };
		field->key = xstrndup((const char *)r->event.data.scalar.value,
				      r->event.data.scalar.length);
		if (read_value(r, field) < 0)
			return -1;
	}
}

static int read_document(struct reader *r, struct front_matter *f)
{
	do {
		if (next_event(r) < 0)
			return -1;
	} while (r->event.type == YAML_STREAM_START_EVENT ||
		 r->event.type == YAML_DOCUMENT_START_EVENT);
	if (r->event.type != YAML_MAPPING_START_EVENT)
		return error_set(r->err, ERR_CONFIG,
				 "its front matter is no list of \"key: "
				 "value\" lines");
	if (read_fields(r, f) < 0)
		return -1;
	/* To the end, so that what is wrong there is seen. */
	while (r->event.type != YAML_STREAM_END_EVENT)
		if (next_event(r) < 0)
			return -1;
	return 0;
}

/* A line of "---", with or without blanks behind it, off the front of text. */
static bool take_marker(struct str text, size_t *len)
{
	size_t end = str_find(text, '\n');

	*len = end + 1 < text.len ? end + 1 : text.len;
	return str_starts(text, "---") &&
	       str_trim((struct str){ text.ptr, end }).len == 3;
}

/* The YAML, and where the text behind it begins. */
static int find_yaml(struct str text, struct str *yaml, size_t *body,
		     struct error *err)
{
	size_t begin;
	size_t at;
	size_t len;

	if (!take_marker(text, &begin))
		return error_set(err, ERR_CONFIG,
				 "it has no front matter: its first line is "
				 "not ---");
	for (at = begin; at < text.len && at < FRONT_MATTER_MAX; at += len) {
		struct str rest = str_skip(text, at);

		if (take_marker(rest, &len)) {
			*yaml = (struct str){ text.ptr + begin, at - begin };
			*body = at + len;
			return 0;
		}
	}
	return error_set(err, ERR_CONFIG,
			 "its front matter does not end: there is no second "
			 "line --- within %d KiB",
			 FRONT_MATTER_MAX >> 10);
}

int front_matter_read(struct front_matter *f, struct str text,
		      struct error *err)
{
	struct reader r = { .left = MOST_EVENTS, .err = err };
	struct str yaml = { 0 };
	int rc;

	*f = (struct front_matter){ 0 };
	if (find_yaml(text, &yaml, &f->body, err) < 0 ||
	    yaml_load(&r.api, err) < 0)
		return -1;
	if (!r.api.parser_initialize(&r.parser))
		return error_set(err, ERR_SYSTEM, "libyaml does not begin");
	r.api.parser_set_input_string(
		&r.parser, (const unsigned char *)yaml.ptr, yaml.len);
	rc = read_document(&r, f);
	if (r.has_event)
		r.api.event_delete(&r.event);
	r.api.parser_delete(&r.parser);
	if (rc < 0)
		front_matter_release(f);
	return rc;
}

const struct front_field *front_matter_field(const struct front_matter *f,
					     const char *key)
{
	for (size_t i = f->n; i--;)
		if (!strcmp(f->fields[i].key, key))
			return &f->fields[i];
	return NULL;
}

void front_matter_release(struct front_matter *f)
{
	for (size_t i = 0; i < f->n; i++) {
		for (size_t k = 0; k < f->fields[i].n; k++)
			free(f->fields[i].items[k]);
		free(f->fields[i].items);
		free(f->fields[i].key);
	}
	free(f->fields);
	*f = (struct front_matter){ 0 };
}
