/* toml.c - TOML 1.0 reader that knows where everything stands. */
/* SPDX-License-Identifier: MIT */
#include "config/toml.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "config/toml_impl.h"

static int value(struct toml_reader *r, struct toml_value *v, int depth);

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

/* key = value, without what follows. */
static int assignment(struct toml_reader *r, struct toml_value *table,
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
	slot = toml_member(r, table);
	if (!slot)
		return -1;
	r->at++;
	toml_blanks(r);
	if (r->at == r->end || toml_at_newline(r) || *r->at == '#')
		return toml_fail(r, toml_here(r), "missing value after '='");
	return value(r, slot, depth + (int)r->n_keys);
}

static int inline_table(struct toml_reader *r, struct toml_value *v, int depth)
{
	struct toml_place at = toml_here(r);
	char found[32];

	toml_begin_table(r, v, 0);
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
		if (assignment(r, v, depth) < 0)
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

static int array(struct toml_reader *r, struct toml_value *v, int depth)
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
		if (value(r, toml_append(v), depth + 1) < 0)
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

/* depth: the level of v, the root being 0. */
static int value(struct toml_reader *r, struct toml_value *v, int depth)
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
		return array(r, v, depth);
	case '{':
		return inline_table(r, v, depth);
	default:
		return toml_bare(r, v);
	}
}

/* At '[': opens the table that the lines below belong to. */
static struct toml_value *header(struct toml_reader *r, struct toml_value *root,
				 int *depth)
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
	table = toml_header(r, root, element, depth);
	r->at += strlen(close);
	if (!table || toml_line_end(r, "the table's name") < 0)
		return NULL;
	return table;
}

static int document(struct toml_reader *r, struct toml_value *root)
{
	struct toml_value *table = root;
	int depth = 0;

	toml_begin_table(r, root, TOML_DEFINED);
	root->line = 1;
	root->column = 1;
	for (;;) {
		if (toml_gap(r) < 0)
			return -1;
		if (r->at == r->end)
			return 0;
		if (*r->at == '[') {
			table = header(r, root, &depth);
			if (!table)
				return -1;
			continue;
		}
		if (assignment(r, table, depth) < 0 ||
		    toml_line_end(r, "the value") < 0)
			return -1;
	}
}

/* Everything else may then rely on well-formed UTF-8. */
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

static int begin(struct toml_reader *r, struct str text, const char *name,
		 struct error *err)
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

static void finish(struct toml_reader *r)
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
	rc = begin(&r, text, name, err);
	if (rc == 0)
		rc = document(&r, root);
	if (rc < 0)
		toml_release(root);
	finish(&r);
	return rc;
}

int toml_parse_value(struct toml_value *v, struct str text, const char *name,
		     struct error *err)
{
	struct toml_reader r;
	int rc;

	*v = (struct toml_value){ 0 };
	rc = begin(&r, text, name, err);
	if (rc == 0)
		rc = value(&r, v, 0);
	if (rc == 0)
		rc = toml_line_end(&r, "the value");
	if (rc == 0 && r.at < r.end)
		rc = toml_fail(&r, toml_here(&r), "expected a single value");
	if (rc < 0)
		toml_release(v);
	finish(&r);
	return rc;
}

static const struct toml_value *member(const struct toml_value *table,
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
	return member(table, str_of(key));
}

/* Takes "a" or "\"a.b\"" and the dot behind it off the front. */
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
		table = member(table, segment);
	} while (table && rest.len);
	return table;
}
