/* front_matter.c - parses the YAML front matter of a file into fields. */
/* SPDX-License-Identifier: MIT */
/*
 * libyaml is loaded when the first front matter is read. Its events become an
 * array of nodes, and the nodes of the top-level mapping become the fields that
 * front_matter_read() returns. Attack: aliases that expand a small file to
 * gigabytes. So the number of nodes and the bytes of texts are limited.
 */
#include "skills/front_matter.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "base/error.h"
#include "base/library.h"
#include "base/mem.h"
#include "base/sanitize.h"
#include "base/str.h"

/* Functions of yaml.h; the members have their names without "yaml_". */
struct yaml_api {
	int (*parser_initialize)(yaml_parser_t *parser);
	void (*parser_delete)(yaml_parser_t *parser);
	void (*parser_set_input_string)(yaml_parser_t *parser,
					const unsigned char *input,
					size_t size);
	int (*parser_parse)(yaml_parser_t *parser, yaml_event_t *event);
	void (*event_delete)(yaml_event_t *event);
};

enum yaml_kind { YAML_TEXT, YAML_LIST, YAML_MAP, YAML_ALIAS };

struct yaml_node {
	enum yaml_kind kind;
	/* text without quotes, which may mean a number, a boolean or null */
	bool plain;
	char *text;   /* for YAML_TEXT; NUL is stored as U+0001 */
	char *anchor; /* name after "&", or NULL */
	/* for YAML_ALIAS: index of the node that it stands for */
	size_t target;
	/* index of the first node after this one and its children */
	size_t end;
};

struct yaml_tree { /* initialise with { 0 } */
	/* each node comes before its children */
	struct yaml_node *nodes;
	size_t n;
};

static const struct library library = {
	.name = "libyaml",
	.files = { "libyaml-0.so.2" },
	.package = "libyaml-0-2",
	.needed = "0.1",
};

static const struct library_symbol symbols[] = {
#define SYMBOL(member)                                                         \
	{                                                                      \
		"yaml_" #member, offsetof(struct yaml_api, member)             \
	}
	SYMBOL(parser_initialize),
	SYMBOL(parser_delete),
	SYMBOL(parser_set_input_string),
	SYMBOL(parser_parse),
	SYMBOL(event_delete),
#undef SYMBOL
};

/* Loads libyaml. On -1 err says what to install. Any thread; the library stays
 * loaded. */
static int yaml_load(struct yaml_api *api, struct error *err)
{
	return library_load(&library, symbols,
			    sizeof(symbols) / sizeof(*symbols), api, err);
}

enum { MOST_NODES = 4000, MOST_DEEP = 32 };

struct tree_reader {
	struct yaml_tree *tree;
	/* indexes of the lists and maps that contain the current node */
	size_t open[MOST_DEEP];
	size_t deep;
	struct error *err;
};

static char *copy_text(const yaml_event_t *e)
{
	size_t len = e->data.scalar.length;
	char *text = xcalloc(1, len + 1);

	for (size_t i = 0; i < len; i++) {
		char c = (char)e->data.scalar.value[i];

		text[i] = c ? c : '\1';
	}
	return text;
}

static bool is_plain(const yaml_event_t *e)
{
	const char *tag = (const char *)e->data.scalar.tag;

	if (tag)
		return strcmp(tag, YAML_STR_TAG) != 0;
	return e->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
}

static int find_anchor(struct tree_reader *r, const char *name, size_t *target)
{
	for (size_t i = r->tree->n; i--;) {
		const char *anchor = r->tree->nodes[i].anchor;

		if (anchor && !strcmp(anchor, name)) {
			*target = i;
			return 0;
		}
	}
	return error_set(r->err, ERR_CONFIG,
			 "its front matter uses *%s without a &%s before it",
			 name, name);
}

/* Appends a node. The node owns its text. */
static int add_node(struct tree_reader *r, const struct yaml_node *node,
		    const yaml_char_t *anchor)
{
	struct yaml_tree *t = r->tree;
	bool begins = node->kind == YAML_LIST || node->kind == YAML_MAP;

	if (!(t->n & (t->n - 1)))
		t->nodes = xrealloc(t->nodes, t->n ? 2 * t->n : 1,
				    sizeof(*t->nodes));
	t->nodes[t->n] = *node;
	t->nodes[t->n].anchor = anchor ? xstrdup((const char *)anchor) : NULL;
	t->nodes[t->n].end = t->n + 1;
	t->n++;
	if (t->n > MOST_NODES)
		return error_set(r->err, ERR_CONFIG,
				 "its front matter has too many entries");
	if (begins && r->deep == MOST_DEEP)
		return error_set(r->err, ERR_CONFIG,
				 "its front matter is nested too deeply");
	if (begins)
		r->open[r->deep++] = t->n - 1;
	return 0;
}

/* Adds a libyaml event to the tree. */
static int add_event(struct tree_reader *r, const yaml_event_t *e)
{
	struct yaml_node node = { 0 };

	switch (e->type) {
	case YAML_SCALAR_EVENT:
		node.text = copy_text(e);
		node.plain = is_plain(e);
		return add_node(r, &node, e->data.scalar.anchor);
	case YAML_ALIAS_EVENT:
		node.kind = YAML_ALIAS;
		if (find_anchor(r, (const char *)e->data.alias.anchor,
				&node.target) < 0)
			return -1;
		return add_node(r, &node, NULL);
	case YAML_SEQUENCE_START_EVENT:
		node.kind = YAML_LIST;
		return add_node(r, &node, e->data.sequence_start.anchor);
	case YAML_MAPPING_START_EVENT:
		node.kind = YAML_MAP;
		return add_node(r, &node, e->data.mapping_start.anchor);
	case YAML_SEQUENCE_END_EVENT:
	case YAML_MAPPING_END_EVENT:
		r->tree->nodes[r->open[--r->deep]].end = r->tree->n;
		return 0;
	default:
		return 0;
	}
}

/* Reads all events of the parser into the tree. */
static int read_events(struct tree_reader *r, const struct yaml_api *api,
		       yaml_parser_t *parser)
{
	bool more = true;
	int rc = 0;

	while (more && rc == 0) {
		yaml_event_t e;

		/* libyaml got the text after the "---" line, so its line
		 * numbers are smaller */
		if (!api->parser_parse(parser, &e))
			return error_set(
				r->err, ERR_CONFIG,
				"its front matter is not YAML: line %zu: %s",
				parser->problem_mark.line + 2,
				parser->problem ? parser->problem : "?");
		more = e.type != YAML_STREAM_END_EVENT;
		rc = add_event(r, &e);
		api->event_delete(&e);
	}
	return rc;
}

/* Parses YAML into a tree. Fails with ERR_CONFIG on a syntax error, more than
 * 4000 nodes, more than 32 levels, or an alias whose anchor does not come
 * before it; with ERR_SYSTEM if libyaml is missing. The tree must be released
 * even on failure. Any thread. */
static int yaml_tree_read(struct yaml_tree *t, struct str yaml,
			  struct error *err)
{
	struct tree_reader r = { .tree = t, .err = err };
	struct yaml_api api;
	yaml_parser_t parser;
	int rc;

	if (yaml_load(&api, err) < 0)
		return -1;
	if (!api.parser_initialize(&parser))
		return error_set(err, ERR_SYSTEM, "cannot start libyaml");
	api.parser_set_input_string(&parser, (const unsigned char *)yaml.ptr,
				    yaml.len);
	rc = read_events(&r, &api, &parser);
	api.parser_delete(&parser);
	return rc;
}

/* Returns i, or the node that it is an alias for. */
static size_t yaml_tree_resolve(const struct yaml_tree *t, size_t i)
{
	return t->nodes[i].kind == YAML_ALIAS ? t->nodes[i].target : i;
}

static void yaml_tree_release(struct yaml_tree *t)
{
	for (size_t i = 0; i < t->n; i++) {
		free(t->nodes[i].text);
		free(t->nodes[i].anchor);
	}
	free(t->nodes);
	*t = (struct yaml_tree){ 0 };
}

enum {
	MOST_FIELDS = 64,
	MOST_ITEMS = 256,
	/* maps that may be merged; a map counts each time it is merged */
	MOST_MERGED = 256,
	MOST_MERGES_DEEP = 8, /* levels of maps that themselves merge maps */
	/* bytes of all texts after YAML aliases are expanded */
	MOST_BYTES = 4 * FRONT_MATTER_MAX,
};

/* Windows editors put a byte order mark at the start of a file. */
#define BYTE_ORDER_MARK "\xEF\xBB\xBF"

struct reader {
	struct yaml_tree tree;
	struct front_matter *f;
	size_t bytes;
	int merged;
	struct error *err;
};

static int read_map(struct reader *r, size_t map, int deep);

static bool is_one_of(const char *s, const char *const *names)
{
	for (; *names; names++)
		if (str_is_nocase(str_of(s), *names))
			return true;
	return false;
}

/* Returns the kind of a text by PyYAML's rules for YAML 1.1: text without
 * quotes may be a number, a boolean or null. */
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
				 "its front matter is larger than %d KiB with "
				 "its aliases expanded",
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

/* Returns the field of this key, emptied, or a new one; NULL if there are too
 * many fields. */
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

/* Sets the field for the key at index at and its value. */
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

/* Merges the value of a "<<" key into the fields: a map, or a list of maps. If
 * several have the same key, the first one counts. */
static int merge_map(struct reader *r, size_t value, int deep)
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

/* Reads the fields of a map. Starts with the maps that it merges, because a
 * value that is read later replaces an earlier one. */
static int read_map(struct reader *r, size_t map, int deep)
{
	const struct yaml_node *nodes = r->tree.nodes;
	size_t end = nodes[map].end;
	size_t i;

	for (i = map + 1; i < end; i = nodes[nodes[i].end].end)
		if (is_merge(&nodes[i]) &&
		    merge_map(r, yaml_tree_resolve(&r->tree, nodes[i].end),
			      deep) < 0)
			return -1;
	for (i = map + 1; i < end; i = nodes[nodes[i].end].end)
		if (!is_merge(&nodes[i]) && read_field(r, i) < 0)
			return -1;
	return 0;
}

/* True if text starts with a line "---", which may have trailing blanks. *len
 * gets the line's length. */
static bool match_marker(struct str text, size_t *len)
{
	size_t end = str_find(text, '\n');

	*len = end + 1 < text.len ? end + 1 : text.len;
	return str_starts(text, "---") &&
	       str_trim((struct str){ text.ptr, end }).len == 3;
}

/* Finds the YAML between the two "---" lines. *body: offset of the text after
 * the second one. */
static int find_yaml(struct str text, struct str *yaml, size_t *body,
		     struct error *err)
{
	size_t begin =
		str_starts(text, BYTE_ORDER_MARK) ? strlen(BYTE_ORDER_MARK) : 0;
	size_t at;
	size_t len;
	bool is_there = match_marker(str_skip(text, begin), &len);

	begin += len;
	if (!is_there)
		return error_set(err, ERR_CONFIG,
				 "it has no front matter: its first line is "
				 "not ---");
	for (at = begin; at < text.len && at < FRONT_MATTER_MAX; at += len) {
		struct str rest = str_skip(text, at);

		if (match_marker(rest, &len)) {
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

enum { TEXT_MAX = 16 << 10 };

/* Returns text as one line without control characters, of at most chars
 * characters; NULL if it is empty. */
static char *clean_line(const char *text, size_t chars)
{
	struct buf line = BUF_INIT(TEXT_MAX);
	struct buf words = BUF_INIT(TEXT_MAX);
	struct str rest;
	struct str word;

	sanitize_line(str_of(text), &line);
	rest = str_trim(buf_str(&line));
	while (str_split(&rest, ' ', &word)) {
		if (word.len && words.len)
			buf_addc(&words, ' ');
		buf_addstr(&words, word);
	}
	buf_release(&line);
	if (!words.len) {
		buf_release(&words);
		return NULL;
	}
	words.len = str_char_offset(buf_str(&words), chars);
	words.ptr[words.len] = '\0';
	return buf_detach(&words);
}

char *front_text(const struct front_matter *f, const char *key, size_t chars)
{
	const struct front_field *field = front_matter_field(f, key);

	if (!field ||
	    (field->kind != FRONT_TEXT && field->kind != FRONT_NUMBER))
		return NULL;
	return clean_line(field->items[0], chars);
}

char *front_words(const struct front_matter *f, const char *key, size_t chars)
{
	const struct front_field *field = front_matter_field(f, key);
	struct buf all = BUF_INIT(TEXT_MAX);
	char *line;

	if (!field || (field->kind != FRONT_TEXT && field->kind != FRONT_LIST))
		return NULL;
	for (size_t i = 0; i < field->n; i++) {
		struct str rest = str_of(field->items[i]);

		for (size_t k = 0; k < rest.len; k++) {
			bool gap = field->kind == FRONT_TEXT &&
				   strchr(" ,\t\n", rest.ptr[k]);

			if (!gap)
				buf_addc(&all, rest.ptr[k]);
			else if (all.len && all.ptr[all.len - 1] != ' ')
				buf_adds(&all, ", ");
		}
		if (all.len && all.ptr[all.len - 1] != ' ')
			buf_adds(&all, ", ");
	}
	while (all.len && strchr(", ", all.ptr[all.len - 1]))
		all.ptr[--all.len] = '\0';
	line = all.len ? clean_line(all.ptr, chars) : NULL;
	buf_release(&all);
	return line;
}
