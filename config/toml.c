/* toml.c - parses TOML 1.0: tables, arrays and whole documents. */
/* SPDX-License-Identifier: MIT */
/*
 * Begin reading at read_document(): lines are headers or assignments. The
 * difficult part of TOML is which tables may be extended: the flags in
 * toml_scan.h record how a table was created. All members are in one hash
 * table, so that a document with many keys takes linear time.
 */
#include "config/toml.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "config/toml_scan.h"

static int read_value(struct toml_reader *r, struct toml_value *v, int depth);

static void init_table(struct toml_reader *r, struct toml_value *v,
		       unsigned flags)
{
	v->kind = TOML_TABLE;
	v->flags = ++r->tables << TOML_ID_SHIFT | flags;
}

/* The capacity is the count rounded up to a power of two, so the array grows
 * whenever the count is a power of two. */
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

/* Returns the hash under which a table's member is stored: that of its key,
 * with the table's number as scope. */
static uint64_t code_of(const struct toml_value *table,
			const struct toml_key *key)
{
	return hash_code((struct str){ key->text, key->len },
			 table->flags >> TOML_ID_SHIFT);
}

/* Returns the table's member with this key, or NULL. */
static struct toml_value *find_item(const struct toml_reader *r,
				    const struct toml_value *table,
				    const struct toml_key *key)
{
	struct str wanted = { key->text, key->len };
	uint64_t code = code_of(table, key);
	size_t cursor = 0;
	uint32_t i;

	/* A member of another table may have the same code, so check that the
	 * index leads to this key in this table. */
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

static struct toml_value *
add_item(struct toml_reader *r, struct toml_value *table, struct toml_key *key)
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

/* True if a header or a dotted key may extend the table. */
static bool is_open(const struct toml_value *v)
{
	return v->kind == TOML_TABLE && !(v->flags & TOML_CLOSED);
}

/* Returns the name of v's kind with an article ("an array"), for messages. */
static const char *describe_kind(const struct toml_value *v)
{
	if (v->kind == TOML_ARRAY)
		return v->flags & TOML_BY_HEADER ? "an array of tables"
						 : "an array";
	if (v->kind == TOML_TABLE)
		return v->flags & TOML_CLOSED ? "an inline table" : "a table";
	return "a value";
}

static struct toml_value *fail_duplicate(struct toml_reader *r,
					 const struct toml_key *key,
					 const struct toml_value *old,
					 const char *problem)
{
	char shown[64];
	struct str name = { key->text, key->len };

	toml_fail(r, key->at, "%s is already %s, set on line %d%s",
		  toml_shown(name, shown), describe_kind(old), old->line,
		  problem);
	return NULL;
}

/* Returns the table for a key before a dot in "a.b = 1". Creates it if it does
 * not exist. */
static struct toml_value *enter_dotted(struct toml_reader *r,
				       struct toml_value *table,
				       struct toml_key *key)
{
	struct toml_value *next = find_item(r, table, key);

	if (!next) {
		next = add_item(r, table, key);
		init_table(r, next, TOML_DOTTED);
		return next;
	}
	if (!is_open(next))
		return fail_duplicate(r, key, next, ", and cannot be extended");
	if (next->flags & TOML_DEFINED)
		return fail_duplicate(r, key, next,
				      ": add to it under its own [header]");
	next->flags |= TOML_DOTTED;
	return next;
}

/* Adds the member for the key just read, inside the tables that its dotted
 * parts name. Fails if the key exists. */
static struct toml_value *find_member(struct toml_reader *r,
				      struct toml_value *table)
{
	struct toml_key *last = &r->keys[r->n_keys - 1];
	const struct toml_value *old;
	char shown[64];

	for (struct toml_key *key = r->keys; key < last; key++) {
		table = enter_dotted(r, table, key);
		if (!table)
			return NULL;
	}
	old = find_item(r, table, last);
	if (!old)
		return add_item(r, table, last);
	toml_fail(r, last->at, "duplicate key %s, first set on line %d",
		  toml_shown((struct str){ last->text, last->len }, shown),
		  old->line);
	return NULL;
}

/* Returns the table for a key before a dot in "[a.b]". Creates it if it does
 * not exist. */
static struct toml_value *enter_header(struct toml_reader *r,
				       struct toml_value *table,
				       struct toml_key *key, int *depth)
{
	struct toml_value *next = find_item(r, table, key);

	(*depth)++;
	if (!next) {
		next = add_item(r, table, key);
		init_table(r, next, 0);
		return next;
	}
	if (next->kind == TOML_ARRAY && next->flags & TOML_BY_HEADER) {
		(*depth)++;
		return &next->items[next->n_items - 1];
	}
	if (!is_open(next))
		return fail_duplicate(r, key, next, ", and cannot be extended");
	return next;
}

/* Appends a table to the array of a [[header]]. */
static struct toml_value *open_element(struct toml_reader *r,
				       struct toml_value *table,
				       struct toml_key *key)
{
	struct toml_value *array = find_item(r, table, key);
	struct toml_value *element;

	if (!array) {
		array = add_item(r, table, key);
		array->kind = TOML_ARRAY;
		array->flags = TOML_BY_HEADER;
	} else if (array->kind != TOML_ARRAY ||
		   !(array->flags & TOML_BY_HEADER)) {
		return fail_duplicate(r, key, array,
				      ", and cannot be an array of tables too");
	}
	element = toml_append(array);
	element->line = key->at.line;
	element->column = key->at.column;
	init_table(r, element, TOML_DEFINED);
	return element;
}

/* Creates the table of a [header], or marks a table as defined that "[a.b]"
 * created for its "a". */
static struct toml_value *open_table(struct toml_reader *r,
				     struct toml_value *table,
				     struct toml_key *key)
{
	struct toml_value *old = find_item(r, table, key);
	struct str name = { key->text, key->len };
	char shown[64];

	if (!old) {
		old = add_item(r, table, key);
		init_table(r, old, TOML_DEFINED);
		return old;
	}
	if (!is_open(old))
		return fail_duplicate(r, key, old,
				      ", and cannot be a table too");
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

/* Returns the table for the header just read. *depth becomes its level. */
static struct toml_value *find_header(struct toml_reader *r,
				      struct toml_value *root, bool element,
				      int *depth)
{
	struct toml_key *last = &r->keys[r->n_keys - 1];
	struct toml_value *table = root;

	*depth = element ? 2 : 1;
	for (struct toml_key *key = r->keys; key < last; key++) {
		table = enter_header(r, table, key, depth);
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

const char *toml_kind_name(enum toml_kind kind)
{
	static const char *const names[] = {
		[TOML_TABLE] = "table",
		[TOML_ARRAY] = "array",
		[TOML_STRING] = "string",
		[TOML_INT] = "integer",
		[TOML_FLOAT] = "float",
		[TOML_BOOL] = "boolean",
		[TOML_DATETIME] = "date-time",
		[TOML_LOCAL_DATETIME] = "local date-time",
		[TOML_LOCAL_DATE] = "local date",
		[TOML_LOCAL_TIME] = "local time",
	};

	return names[kind];
}

void toml_release(struct toml_value *root)
{
	for (size_t i = 0; i < root->n_items; i++)
		toml_release(&root->items[i]);
	free(root->items);
	free(root->key);
	free(root->text);
	*root = (struct toml_value){ 0 };
}

/* Parses "key = value", but not the rest of the line. */
static int read_assignment(struct toml_reader *r, struct toml_value *table,
			   int depth)
{
	struct toml_value *slot;
	char found[32];
	char shown[64];

	if (toml_keys(r) < 0)
		return -1;
	if (r->at == r->end || *r->at != '=') {
		const struct toml_key *k = &r->keys[r->n_keys - 1];

		return toml_fail(
			r, toml_here(r),
			"missing '=' after the key %s, found %s",
			toml_shown((struct str){ k->text, k->len }, shown),
			toml_found(r, found));
	}
	slot = find_member(r, table);
	if (!slot)
		return -1;
	r->at++;
	toml_blanks(r);
	if (r->at == r->end || toml_at_newline(r) || *r->at == '#')
		return toml_fail(r, toml_here(r), "missing value after '='");
	return read_value(r, slot, depth + (int)r->n_keys);
}

/* Parses an inline table. It must end on the line on which it begins. */
static int read_inline_table(struct toml_reader *r, struct toml_value *v,
			     int depth)
{
	struct toml_place at = toml_here(r);
	char found[32];

	init_table(r, v, 0);
	r->at++;
	toml_blanks(r);
	if (r->at < r->end && *r->at == '}')
		goto out;
	for (;;) {
		toml_blanks(r);
		if (toml_at_newline(r))
			break;
		if (r->at < r->end && *r->at == '}')
			return toml_fail(r, toml_here(r),
					 "a comma before '}' is not allowed in "
					 "an inline table");
		if (read_assignment(r, v, depth) < 0)
			return -1;
		toml_blanks(r);
		if (r->at == r->end || *r->at != ',')
			break;
		r->at++;
	}
	if (r->at == r->end)
		return toml_fail(r, at, "this inline table is not closed");
	if (toml_at_newline(r))
		return toml_fail(r, toml_here(r),
				 "an inline table must end on its line: "
				 "missing '}'");
	if (*r->at != '}')
		return toml_fail(r, toml_here(r),
				 "expected ',' or '}' in an inline table, "
				 "found %s",
				 toml_found(r, found));
out:
	r->at++;
	v->flags |= TOML_CLOSED;
	return 0;
}

/* Parses an array, which may span lines. */
static int read_array(struct toml_reader *r, struct toml_value *v, int depth)
{
	struct toml_place at = toml_here(r);
	char found[32];

	v->kind = TOML_ARRAY;
	v->flags = TOML_CLOSED;
	r->at++;
	for (;;) {
		if (toml_gap(r) < 0)
			return -1;
		if (r->at == r->end)
			return toml_fail(r, at, "this array is not closed");
		if (*r->at == ']')
			break;
		if (read_value(r, toml_append(v), depth + 1) < 0)
			return -1;
		if (toml_gap(r) < 0)
			return -1;
		if (r->at == r->end)
			return toml_fail(r, at, "this array is not closed");
		if (*r->at == ']')
			break;
		if (*r->at != ',')
			return toml_fail(r, toml_here(r),
					 "expected ',' or ']' in an array, "
					 "found %s",
					 toml_found(r, found));
		r->at++;
	}
	r->at++;
	return 0;
}

/* Parses a value. depth is its level; the root is at 0. */
static int read_value(struct toml_reader *r, struct toml_value *v, int depth)
{
	struct toml_place at = toml_here(r);

	v->line = at.line;
	v->column = at.column;
	if (depth > TOML_DEEPEST)
		return toml_fail(r, at, "more than %d levels", TOML_DEEPEST);
	switch (r->at < r->end ? *r->at : '\0') {
	case '"':
	case '\'':
		return toml_string(r, v);
	case '[':
		return read_array(r, v, depth);
	case '{':
		return read_inline_table(r, v, depth);
	default:
		return toml_bare(r, v);
	}
}

/* Parses a header, at '[', and returns the table for the lines below it. */
static struct toml_value *read_header(struct toml_reader *r,
				      struct toml_value *root, int *depth)
{
	bool element = r->end - r->at > 1 && r->at[1] == '[';
	const char *close = element ? "]]" : "]";
	struct toml_value *table;
	char found[32];

	r->at += element ? 2 : 1;
	if (toml_keys(r) < 0)
		return NULL;
	if (!str_starts((struct str){ r->at, (size_t)(r->end - r->at) },
			close)) {
		toml_fail(r, toml_here(r),
			  "expected '%s' at the end of the table's name, "
			  "found %s",
			  close, toml_found(r, found));
		return NULL;
	}
	table = find_header(r, root, element, depth);
	r->at += strlen(close);
	if (!table || toml_line_end(r, "the table's name") < 0)
		return NULL;
	return table;
}

/* Parses all lines of a document into root. */
static int read_document(struct toml_reader *r, struct toml_value *root)
{
	struct toml_value *table = root;
	int depth = 0;

	init_table(r, root, TOML_DEFINED);
	root->line = 1;
	root->column = 1;
	for (;;) {
		if (toml_gap(r) < 0)
			return -1;
		if (r->at == r->end)
			return 0;
		if (*r->at == '[') {
			table = read_header(r, root, &depth);
			if (!table)
				return -1;
			continue;
		}
		if (read_assignment(r, table, depth) < 0 ||
		    toml_line_end(r, "the value") < 0)
			return -1;
	}
}

/* Checks for valid UTF-8, which all other functions rely on. */
static int check_encoding(struct toml_reader *r, struct str text)
{
	size_t good = str_utf8_prefix(text);
	struct toml_place at = { 1, 1 };

	if (good == text.len)
		return 0;
	for (size_t i = 0; i < good; i++) {
		if (((unsigned char)text.ptr[i] & 0xC0) != 0x80)
			at.column++;
		if (text.ptr[i] == '\n') {
			at.line++;
			at.column = 1;
		}
	}
	if (!good && text.len > 1 &&
	    (!memcmp(text.ptr, "\xFF\xFE", 2) ||
	     !memcmp(text.ptr, "\xFE\xFF", 2)))
		return toml_fail(r, at,
				 "this file is UTF-16; save it as UTF-8");
	return toml_fail(r, at, "the byte 0x%02X is not valid UTF-8",
			 (unsigned char)text.ptr[good]);
}

/* Prepares the reader: checks size and encoding and skips a byte order mark. */
static int start_reader(struct toml_reader *r, struct str text,
			const char *name, struct error *err)
{
	*r = (struct toml_reader){ .name = name, .line = 1, .err = err };
	if (text.len > TOML_LARGEST)
		return error_set(err, ERR_CONFIG,
				 "%s:1:1: larger than %d bytes", name,
				 TOML_LARGEST);
	if (!text.len)
		text.ptr = "";
	if (check_encoding(r, text) < 0)
		return -1;
	if (str_starts(text, "\xEF\xBB\xBF")) {
		text.ptr += 3;
		text.len -= 3;
	}
	r->at = text.ptr;
	r->end = text.ptr + text.len;
	r->mark = r->at;
	r->mark_column = 1;
	r->scratch = BUF_INIT(text.len + 1);
	return 0;
}

static void end_reader(struct toml_reader *r)
{
	toml_drop_keys(r);
	buf_release(&r->scratch);
	hash_release(&r->names);
}

int toml_parse(struct toml_value *root, struct str text, const char *name,
	       struct error *err)
{
	struct toml_reader r;
	int rc;

	*root = (struct toml_value){ 0 };
	rc = start_reader(&r, text, name, err);
	if (rc == 0)
		rc = read_document(&r, root);
	if (rc < 0)
		toml_release(root);
	end_reader(&r);
	return rc;
}

int toml_parse_value(struct toml_value *v, struct str text, const char *name,
		     struct error *err)
{
	struct toml_reader r;
	int rc;

	*v = (struct toml_value){ 0 };
	rc = start_reader(&r, text, name, err);
	if (rc == 0)
		rc = read_value(&r, v, 0);
	if (rc == 0)
		rc = toml_line_end(&r, "the value");
	if (rc == 0 && r.at < r.end)
		rc = toml_fail(&r, toml_here(&r), "expected a single value");
	if (rc < 0)
		toml_release(v);
	end_reader(&r);
	return rc;
}

static const struct toml_value *lookup_member(const struct toml_value *table,
					      struct str key)
{
	if (!table || table->kind != TOML_TABLE)
		return NULL;
	for (size_t i = 0; i < table->n_items; i++) {
		const struct toml_value *item = &table->items[i];

		if (str_eq((struct str){ item->key, item->key_len }, key))
			return item;
	}
	return NULL;
}

const struct toml_value *toml_get(const struct toml_value *table,
				  const char *key)
{
	return lookup_member(table, str_of(key));
}

/* Removes the first segment ("a" or "\"a.b\"") and the dot after it from *rest.
 * False at the end. */
static bool next_segment(struct str *rest, struct str *segment)
{
	bool quoted = rest->len && rest->ptr[0] == '"';
	size_t end;

	if (quoted)
		*rest = str_skip(*rest, 1);
	end = str_find(*rest, quoted ? '"' : '.');
	if (quoted && end == rest->len)
		return false;
	*segment = (struct str){ rest->ptr, end };
	*rest = str_skip(*rest, end + quoted);
	if (!rest->len)
		return true;
	if (rest->ptr[0] != '.' || rest->len == 1)
		return false;
	*rest = str_skip(*rest, 1);
	return true;
}

const struct toml_value *toml_path(const struct toml_value *table,
				   const char *dotted)
{
	struct str rest = str_of(dotted);
	struct str segment = { 0 };

	do {
		if (!next_segment(&rest, &segment))
			return NULL;
		table = lookup_member(table, segment);
	} while (table && rest.len);
	return table;
}
