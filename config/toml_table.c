/* toml_table.c - which TOML tables may be opened, extended or defined. */
/* SPDX-License-Identifier: MIT */
#include "base/mem.h"
#include "base/str.h"
#include "config/toml_impl.h"

void toml_begin_table(struct toml_reader *r, struct toml_value *v,
		      unsigned flags)
{
	v->kind = TOML_TABLE;
	v->flags = ++r->tables << TOML_ID_SHIFT | flags;
}

/* Room doubles whenever the count is a power of two. */
struct toml_value *toml_append(struct toml_value *holder)
{
	size_t n = holder->n_items;
	struct toml_value *item;

	if ((n & (n - 1)) == 0)
		holder->items = xrealloc(holder->items, n ? n * 2 : 1,
					 sizeof(*holder->items));
	item = &holder->items[holder->n_items++];
	*item = (struct toml_value){ 0 };
	return item;
}

static uint64_t code_of(const struct toml_value *table,
			const struct toml_key *key)
{
	return hash_code((struct str){ key->text, key->len },
			 table->flags >> TOML_ID_SHIFT);
}

static struct toml_value *find(const struct toml_reader *r,
			       const struct toml_value *table,
			       const struct toml_key *key)
{
	struct str wanted = { key->text, key->len };
	uint64_t code = code_of(table, key);
	size_t cursor = 0;
	uint32_t i;

	/* Another table's member may share the code: hence the bound. */
	while (hash_next(&r->names, code, &cursor, &i)) {
		struct toml_value *item;

		if (i >= table->n_items)
			continue;
		item = &table->items[i];
		if (str_eq(wanted, (struct str){ item->key, item->key_len }))
			return item;
	}
	return NULL;
}

static struct toml_value *add(struct toml_reader *r, struct toml_value *table,
			      struct toml_key *key)
{
	uint64_t code = code_of(table, key);
	struct toml_value *item;

	hash_add(&r->names, code, (uint32_t)table->n_items);
	item = toml_append(table);
	item->key = key->text;
	item->key_len = key->len;
	item->line = key->at.line;
	item->column = key->at.column;
	key->text = NULL;
	return item;
}

static bool is_open(const struct toml_value *v)
{
	return v->kind == TOML_TABLE && !(v->flags & TOML_CLOSED);
}

/* With its article. */
static const char *describe(const struct toml_value *v)
{
	if (v->kind == TOML_ARRAY)
		return v->flags & TOML_BY_HEADER ? "an array of tables"
						 : "an array";
	if (v->kind == TOML_TABLE)
		return v->flags & TOML_CLOSED ? "an inline table" : "a table";
	return "a value";
}

static struct toml_value *refuse(struct toml_reader *r,
				 const struct toml_key *key,
				 const struct toml_value *old,
				 const char *problem)
{
	char shown[64];
	struct str name = { key->text, key->len };

	toml_fail(r, key->at, "%s is already %s, set on line %d%s",
		  toml_shown(name, shown), describe(old), old->line, problem);
	return NULL;
}

/* The key before a dot in "a.b = 1". */
static struct toml_value *step_dotted(struct toml_reader *r,
				      struct toml_value *table,
				      struct toml_key *key)
{
	struct toml_value *next = find(r, table, key);

	if (!next) {
		next = add(r, table, key);
		toml_begin_table(r, next, TOML_DOTTED);
		return next;
	}
	if (!is_open(next))
		return refuse(r, key, next, ", and cannot be extended");
	if (next->flags & TOML_DEFINED)
		return refuse(r, key, next,
			      ": add to it under its own [header]");
	next->flags |= TOML_DOTTED;
	return next;
}

struct toml_value *toml_member(struct toml_reader *r, struct toml_value *table)
{
	struct toml_key *last = &r->keys[r->n_keys - 1];
	const struct toml_value *old;
	char shown[64];

	for (struct toml_key *key = r->keys; key < last; key++) {
		table = step_dotted(r, table, key);
		if (!table)
			return NULL;
	}
	old = find(r, table, last);
	if (!old)
		return add(r, table, last);
	toml_fail(r, last->at, "duplicate key %s, first set on line %d",
		  toml_shown((struct str){ last->text, last->len }, shown),
		  old->line);
	return NULL;
}

/* The key before a dot in "[a.b]". */
static struct toml_value *step_header(struct toml_reader *r,
				      struct toml_value *table,
				      struct toml_key *key, int *depth)
{
	struct toml_value *next = find(r, table, key);

	(*depth)++;
	if (!next) {
		next = add(r, table, key);
		toml_begin_table(r, next, 0);
		return next;
	}
	if (next->kind == TOML_ARRAY && next->flags & TOML_BY_HEADER) {
		(*depth)++;
		return &next->items[next->n_items - 1];
	}
	if (!is_open(next))
		return refuse(r, key, next, ", and cannot be extended");
	return next;
}

static struct toml_value *open_element(struct toml_reader *r,
				       struct toml_value *table,
				       struct toml_key *key)
{
	struct toml_value *array = find(r, table, key);
	struct toml_value *element;

	if (!array) {
		array = add(r, table, key);
		array->kind = TOML_ARRAY;
		array->flags = TOML_BY_HEADER;
	} else if (array->kind != TOML_ARRAY ||
		   !(array->flags & TOML_BY_HEADER)) {
		return refuse(r, key, array, ", not an array of tables");
	}
	element = toml_append(array);
	element->line = key->at.line;
	element->column = key->at.column;
	toml_begin_table(r, element, TOML_DEFINED);
	return element;
}

static struct toml_value *open_table(struct toml_reader *r,
				     struct toml_value *table,
				     struct toml_key *key)
{
	struct toml_value *old = find(r, table, key);
	struct str name = { key->text, key->len };
	char shown[64];

	if (!old) {
		old = add(r, table, key);
		toml_begin_table(r, old, TOML_DEFINED);
		return old;
	}
	if (!is_open(old))
		return refuse(r, key, old, ", not a table of its own");
	if (old->flags & (TOML_DEFINED | TOML_DOTTED)) {
		toml_fail(r, key->at, "table %s is already defined on line %d",
			  toml_shown(name, shown), old->line);
		return NULL;
	}
	old->flags |= TOML_DEFINED;
	old->line = key->at.line;
	old->column = key->at.column;
	return old;
}

struct toml_value *toml_header(struct toml_reader *r, struct toml_value *root,
			       bool element, int *depth)
{
	struct toml_key *last = &r->keys[r->n_keys - 1];
	struct toml_value *table = root;

	*depth = element ? 2 : 1;
	for (struct toml_key *key = r->keys; key < last; key++) {
		table = step_header(r, table, key, depth);
		if (!table)
			return NULL;
	}
	if (*depth > TOML_DEEPEST) {
		toml_fail(r, last->at, "more than %d levels", TOML_DEEPEST);
		return NULL;
	}
	return element ? open_element(r, table, last)
		       : open_table(r, table, last);
}
