/* yaml_tree.c - the nodes of a YAML document, as libyaml reads them. */
/* SPDX-License-Identifier: MIT */
#include "skills/yaml_tree.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "skills/yaml_api.h"

enum { MOST_NODES = 4000, MOST_DEEP = 32 };

struct tree_reader {
	struct yaml_tree *tree;
	size_t open[MOST_DEEP]; /* lists and maps that have not ended */
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

static int read_events(struct tree_reader *r, const struct yaml_api *api,
		       yaml_parser_t *parser)
{
	bool more = true;
	int rc = 0;

	while (more && rc == 0) {
		yaml_event_t e;

		/* libyaml does not count the line of "---". */
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

int yaml_tree_read(struct yaml_tree *t, struct str yaml, struct error *err)
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

size_t yaml_tree_resolve(const struct yaml_tree *t, size_t i)
{
	return t->nodes[i].kind == YAML_ALIAS ? t->nodes[i].target : i;
}

void yaml_tree_release(struct yaml_tree *t)
{
	for (size_t i = 0; i < t->n; i++) {
		free(t->nodes[i].text);
		free(t->nodes[i].anchor);
	}
	free(t->nodes);
	*t = (struct yaml_tree){ 0 };
}
