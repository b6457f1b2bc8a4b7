/* front_matter.c - the YAML between two lines of "---" that a file begins with.
 */
/* SPDX-License-Identifier: MIT */
#include "skills/front_matter.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "skills/yaml_tree.h"

enum {
	MOST_FIELDS = 64,
	MOST_ITEMS = 256,
	MOST_MERGED = 256,    /* maps, counted each time that one is merged */
	MOST_MERGES_DEEP = 8, /* maps that merge others that merge others */
	MOST_BYTES = 4 * FRONT_MATTER_MAX, /* of texts, aliases written out */
};

/* Editors of Windows begin a file with it. */
#define BYTE_ORDER_MARK "\xEF\xBB\xBF"

struct reader {
	struct yaml_tree tree;
	struct front_matter *f;
	size_t bytes;
	int merged;
	struct error *err;
};

static bool is_one_of(const char *s, const char *const *names)
{
	for (; *names; names++)
		if (str_is_nocase(str_of(s), *names))
			return true;
	return false;
}

/* YAML 1.1 as PyYAML reads it: what is written without quotes may be no text.
 */
static enum front_kind kind_of(const struct yaml_node *node)
{
	static const char *const nulls[] = { "", "~", "null", NULL };
	static const char *const booleans[] = { "true", "false", "yes", "no",
						"on",   "off",   NULL };
	char *end;

	if (!node->plain)
		return FRONT_TEXT;
	if (is_one_of(node->text, nulls))
		return FRONT_NULL;
	if (is_one_of(node->text, booleans))
		return FRONT_NUMBER;
	if (!strchr("+-.0123456789", node->text[0]))
		return FRONT_TEXT;
	(void)strtod(node->text, &end);
	return end != node->text && !*end ? FRONT_NUMBER : FRONT_TEXT;
}

static int add_item(struct reader *r, struct front_field *field,
		    const char *text)
{
	r->bytes += strlen(text);
	if (r->bytes > MOST_BYTES)
		return error_set(r->err, ERR_CONFIG,
				 "the aliases of its front matter stand for "
				 "more than %d KiB",
				 MOST_BYTES >> 10);
	field->items =
		xrealloc(field->items, field->n + 1, sizeof(*field->items));
	field->items[field->n++] = xstrdup(text);
	return 0;
}

static int read_list(struct reader *r, size_t list, struct front_field *field)
{
	const struct yaml_node *nodes = r->tree.nodes;

	for (size_t i = list + 1; i < nodes[list].end; i = nodes[i].end) {
		const struct yaml_node *item =
			&nodes[yaml_tree_resolve(&r->tree, i)];

		if (item->kind == YAML_TEXT && kind_of(item) == FRONT_TEXT &&
		    field->n < MOST_ITEMS && add_item(r, field, item->text) < 0)
			return -1;
	}
	return 0;
}

static void release_items(struct front_field *field)
{
	for (size_t i = 0; i < field->n; i++)
		free(field->items[i]);
	free(field->items);
	field->items = NULL;
	field->n = 0;
}

/* The field of this name without its value, or a new one; NULL: too many. */
static struct front_field *reset_field(struct front_matter *f, const char *key)
{
	struct front_field *field = NULL;

	for (size_t i = 0; i < f->n && !field; i++)
		if (!strcmp(f->fields[i].key, key))
			field = &f->fields[i];
	if (field) {
		release_items(field);
		return field;
	}
	if (f->n == MOST_FIELDS)
		return NULL;
	f->fields = xrealloc(f->fields, f->n + 1, sizeof(*f->fields));
	field = &f->fields[f->n++];
	*field = (struct front_field){ .key = xstrdup(key) };
	return field;
}

static int read_field(struct reader *r, size_t at)
{
	const struct yaml_node *nodes = r->tree.nodes;
	const struct yaml_node *key = &nodes[yaml_tree_resolve(&r->tree, at)];
	size_t value = yaml_tree_resolve(&r->tree, nodes[at].end);
	struct front_field *field = NULL;

	if (key->kind == YAML_TEXT)
		field = reset_field(r->f, key->text);
	if (!field)
		return error_set(r->err, ERR_CONFIG,
				 "its front matter has a key that is not text, "
				 "or more than %d keys",
				 MOST_FIELDS);
	switch (nodes[value].kind) {
	case YAML_LIST:
		field->kind = FRONT_LIST;
		return read_list(r, value, field);
	case YAML_MAP:
		field->kind = FRONT_MAP;
		return 0;
	default:
		field->kind = kind_of(&nodes[value]);
		return field->kind == FRONT_NULL
			       ? 0
			       : add_item(r, field, nodes[value].text);
	}
}

static bool is_merge(const struct yaml_node *key)
{
	return key->kind == YAML_TEXT && key->plain && !strcmp(key->text, "<<");
}

static int read_map(struct reader *r, size_t map, int deep);

/* What is behind a "<<": a map, or a list of maps whose first one counts. */
static int merge(struct reader *r, size_t value, int deep)
{
	const struct yaml_node *nodes = r->tree.nodes;
	size_t maps[MOST_MERGED] = { value };
	size_t n = 1;

	if (nodes[value].kind == YAML_LIST) {
		n = 0;
		for (size_t i = value + 1;
		     i < nodes[value].end && n < MOST_MERGED; i = nodes[i].end)
			maps[n++] = yaml_tree_resolve(&r->tree, i);
	}
	while (n--) {
		if (nodes[maps[n]].kind != YAML_MAP)
			return error_set(r->err, ERR_CONFIG,
					 "its front matter merges (<<) "
					 "something that is not a map");
		if (++r->merged > MOST_MERGED || deep == MOST_MERGES_DEEP)
			return error_set(r->err, ERR_CONFIG,
					 "its front matter merges (<<) too "
					 "many maps, or one into itself");
		if (read_map(r, maps[n], deep + 1) < 0)
			return -1;
	}
	return 0;
}

/* What is merged comes first: the last value of a key is the one that counts.
 */
static int read_map(struct reader *r, size_t map, int deep)
{
	const struct yaml_node *nodes = r->tree.nodes;
	size_t end = nodes[map].end;
	size_t i;

	for (i = map + 1; i < end; i = nodes[nodes[i].end].end)
		if (is_merge(&nodes[i]) &&
		    merge(r, yaml_tree_resolve(&r->tree, nodes[i].end), deep) <
			    0)
			return -1;
	for (i = map + 1; i < end; i = nodes[nodes[i].end].end)
		if (!is_merge(&nodes[i]) && read_field(r, i) < 0)
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
	size_t begin =
		str_starts(text, BYTE_ORDER_MARK) ? strlen(BYTE_ORDER_MARK) : 0;
	size_t at;
	size_t len;
	bool is_there = take_marker(str_skip(text, begin), &len);

	begin += len;
	if (!is_there)
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
	struct reader r = { .f = f, .err = err };
	struct str yaml = { 0 };
	int rc;

	*f = (struct front_matter){ 0 };
	if (find_yaml(text, &yaml, &f->body, err) < 0)
		return -1;
	rc = yaml_tree_read(&r.tree, yaml, err);
	if (rc == 0 && (!r.tree.n || r.tree.nodes[0].kind != YAML_MAP))
		rc = error_set(err, ERR_CONFIG,
			       "its front matter is not a list of \"key: "
			       "value\" lines");
	if (rc == 0)
		rc = read_map(&r, 0, 0);
	yaml_tree_release(&r.tree);
	if (rc < 0)
		front_matter_release(f);
	return rc;
}

const struct front_field *front_matter_field(const struct front_matter *f,
					     const char *key)
{
	for (size_t i = 0; i < f->n; i++)
		if (!strcmp(f->fields[i].key, key))
			return &f->fields[i];
	return NULL;
}

void front_matter_release(struct front_matter *f)
{
	for (size_t i = 0; i < f->n; i++) {
		release_items(&f->fields[i]);
		free(f->fields[i].key);
	}
	free(f->fields);
	*f = (struct front_matter){ 0 };
}
