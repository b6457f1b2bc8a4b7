/* yaml_tree.h - the nodes of a YAML document, as libyaml reads them. */
/* SPDX-License-Identifier: MIT */
#ifndef SKILLS_YAML_TREE_H
#define SKILLS_YAML_TREE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/str.h"

enum yaml_kind { YAML_TEXT, YAML_LIST, YAML_MAP, YAML_ALIAS };

struct yaml_node {
	enum yaml_kind kind;
	bool plain;    /* a text without quotes: it may stand for a number */
	char *text;    /* of a text: with U+0001 for NUL */
	char *anchor;  /* the name behind its "&", or NULL */
	size_t target; /* of an alias: the number of what it stands for */
	size_t end;    /* the number of the node that follows what is in it */
};

struct yaml_tree {               /* start from { 0 } */
	struct yaml_node *nodes; /* each before what is in it */
	size_t n;
};

/* -1 with ERR_CONFIG: no YAML, more than 4000 nodes, nested more than 32 deep,
 * or an alias without an anchor before it; with ERR_SYSTEM: no libyaml. What
 * is there by then has to be released all the same. Any thread. */
int yaml_tree_read(struct yaml_tree *t, struct str yaml, struct error *err);
/* Node number i, or what it stands for: never an alias. */
size_t yaml_tree_resolve(const struct yaml_tree *t, size_t i);
void yaml_tree_release(struct yaml_tree *t);

#endif
