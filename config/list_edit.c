/* list_edit.c - edits a list of strings, or a string, in a TOML text. */
/* SPDX-License-Identifier: MIT */
/*
 * The user's file keeps its comments and layout: an edit changes only the bytes
 * of one item or line, at positions that the TOML parser has found. Afterwards
 * the result is parsed again (check_result(), has_value()); if it does not have
 * exactly the new value, the edit fails and nothing is written.
 */
#include "config/list_edit.h"

#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "config/toml.h"

enum { LARGEST = 64 << 20 };

/* Appends s as a TOML literal string ('...') if its characters allow that, else
 * as an escaped one ("..."). */
static void add_string(struct buf *out, struct str s)
{
	bool literal = true;

	for (size_t i = 0; i < s.len; i++)
		if (s.ptr[i] == '\'' || (unsigned char)s.ptr[i] < 0x20 ||
		    s.ptr[i] == 0x7F)
			literal = false;
	buf_addc(out, literal ? '\'' : '"');
	for (size_t i = 0; i < s.len; i++) {
		unsigned char c = (unsigned char)s.ptr[i];

		if (!literal && (c < 0x20 || c == 0x7F))
			buf_addf(out, "\\u%04X", c);
		else if (!literal && (c == '"' || c == '\\'))
			buf_addf(out, "\\%c", c);
		else
			buf_addc(out, (char)c);
	}
	buf_addc(out, literal ? '\'' : '"');
}

/* Returns the offset of a line, counted from 1; text.len after the last
 * line. */
static size_t line_begin(struct str text, int line)
{
	size_t at = 0;

	while (--line > 0 && at < text.len) {
		at += str_find(str_skip(text, at), '\n');
		at += at < text.len;
	}
	return at;
}

static size_t offset_of(struct str text, const struct toml_value *v)
{
	size_t at = line_begin(text, v->line);

	return at + str_char_offset(str_skip(text, at), (size_t)v->column - 1);
}

/* Returns the offset of the end of the "[table]" line; SIZE_MAX if there is
 * none. */
static size_t find_header(const struct list_edit *e, struct str text)
{
	struct str rest = text;
	struct str line;
	char header[64];

	snprintf(header, sizeof(header), "[%s]", e->table);
	while (str_split(&rest, '\n', &line)) {
		struct str word = str_trim(line);

		if (str_starts(word, header) &&
		    (word.len == strlen(header) ||
		     str_trim(str_skip(word, strlen(header))).ptr[0] == '#'))
			return (size_t)(line.ptr - text.ptr) + line.len;
	}
	return SIZE_MAX;
}

static const struct toml_value *find_list(const struct list_edit *e,
					  const struct toml_value *root)
{
	const struct toml_value *table = toml_get(root, e->table);

	return table && table->kind == TOML_TABLE ? toml_get(table, e->key)
						  : NULL;
}

static bool has_item(const struct toml_value *list, struct str item)
{
	for (size_t i = 0; list && i < list->n_items; i++)
		if (list->items[i].kind == TOML_STRING &&
		    str_eq((struct str){ list->items[i].text,
					 list->items[i].text_len },
			   item))
			return true;
	return false;
}

/* Returns 0 if the text is TOML, its list has n items, and the list contains
 * item exactly if has is true; else -1. */
static int check_result(const struct list_edit *e, struct str text,
			struct str item, size_t n, bool has)
{
	struct toml_value root = { 0 };
	struct error ignored = { 0 };
	const struct toml_value *list;
	int rc = toml_parse(&root, text, e->name, &ignored);

	if (rc == 0) {
		list = find_list(e, &root);
		rc = list && list->n_items == n && has_item(list, item) == has
			     ? 0
			     : -1;
	}
	toml_release(&root);
	return rc;
}

static int fail_uneditable(const struct list_edit *e, struct error *err)
{
	return error_set(err, ERR_CONFIG,
			 "%s: dcode cannot edit %s.%s automatically in this "
			 "format. Edit it by hand",
			 e->name, e->table, e->key);
}

/* Appends the text to out, with middle inserted at offset `at`. */
static void append_spliced(struct str text, size_t at, struct str middle,
			   struct buf *out)
{
	buf_add(out, text.ptr, at);
	buf_addstr(out, middle);
	buf_addstr(out, str_skip(text, at));
}

/* Finds the offset where the item must be inserted, and the text to insert.
 * False if the key exists but is not a list. */
static bool find_insertion(const struct list_edit *e, struct str text,
			   const struct toml_value *list, struct str item,
			   size_t *at, struct buf *middle)
{
	size_t header = find_header(e, text);

	if (list) {
		*at = offset_of(text, list) + 1;
		buf_adds(middle, "\n  ");
		add_string(middle, item);
		buf_addc(middle, ',');
		if (*at == text.len || text.ptr[*at] != '\n')
			buf_adds(middle, list->n_items ? "\n  " : "\n");
		return list->kind == TOML_ARRAY;
	}
	*at = header == SIZE_MAX ? text.len : header;
	if (header != SIZE_MAX || (text.len && !str_ends(text, "\n")))
		buf_addc(middle, '\n');
	if (header == SIZE_MAX)
		buf_addf(middle, "%s[%s]\n", text.len ? "\n" : "", e->table);
	buf_addf(middle, "%s = [\n  ", e->key);
	add_string(middle, item);
	buf_adds(middle, ",\n]");
	if (header == SIZE_MAX)
		buf_addc(middle, '\n');
	return true;
}

int list_edit_add(const struct list_edit *e, struct str text, struct str item,
		  struct buf *out, struct error *err)
{
	struct buf middle = BUF_INIT(LARGEST);
	struct toml_value root = { 0 };
	const struct toml_value *list;
	size_t at;
	int rc = toml_parse(&root, text, e->name, err);

	if (rc == 0) {
		list = find_list(e, &root);
		if (has_item(list, item))
			buf_addstr(out, text);
		else if (!find_insertion(e, text, list, item, &at, &middle))
			rc = fail_uneditable(e, err);
		else
			append_spliced(text, at, buf_str(&middle), out);
		if (rc == 0 && !has_item(list, item) &&
		    check_result(e, buf_str(out), item,
				 list ? list->n_items + 1 : 1, true) < 0)
			rc = fail_uneditable(e, err);
	}
	toml_release(&root);
	buf_release(&middle);
	return rc;
}

int list_edit_remove(const struct list_edit *e, struct str text,
		     struct str item, struct buf *out, struct error *err)
{
	struct toml_value root = { 0 };
	const struct toml_value *list;
	int rc = toml_parse(&root, text, e->name, err);
	size_t begin;
	size_t end;

	if (rc < 0)
		return -1;
	list = find_list(e, &root);
	if (!has_item(list, item))
		rc = error_set(err, ERR_NOT_FOUND, "%s: not in %s.%s", e->name,
			       e->table, e->key);
	for (size_t i = 0; rc == 0 && i < list->n_items; i++) {
		const struct toml_value *v = &list->items[i];

		if (v->kind != TOML_STRING ||
		    !str_eq((struct str){ v->text, v->text_len }, item))
			continue;
		begin = line_begin(text, v->line);
		end = line_begin(text, v->line + 1);
		buf_add(out, text.ptr, begin);
		buf_addstr(out, str_skip(text, end));
		if (check_result(e, buf_str(out), item, list->n_items - 1,
				 false) < 0)
			rc = fail_uneditable(e, err);
		break;
	}
	toml_release(&root);
	return rc;
}

/* True if the text is TOML in which the key has this value, or is missing if
 * value is NULL. */
static bool has_value(const struct list_edit *e, struct str text,
		      const char *value)
{
	struct toml_value root = { 0 };
	struct error ignored = { 0 };
	const struct toml_value *v;
	bool ok = toml_parse(&root, text, e->name, &ignored) == 0;

	v = ok ? find_list(e, &root) : NULL;
	if (ok && value)
		ok = v && v->kind == TOML_STRING &&
		     str_is((struct str){ v->text, v->text_len }, value);
	else if (ok)
		ok = !v;
	toml_release(&root);
	return ok;
}

/* Adds "key = value" on its own line after the table's header. Adds the header
 * if it is missing. */
static void add_string_line(const struct list_edit *e, struct str text,
			    const char *value, struct buf *out)
{
	struct buf middle = BUF_INIT(LARGEST);
	size_t header = find_header(e, text);
	size_t at = header == SIZE_MAX ? text.len : header;

	if (header != SIZE_MAX || (text.len && !str_ends(text, "\n")))
		buf_addc(&middle, '\n');
	if (header == SIZE_MAX)
		buf_addf(&middle, "%s[%s]\n", text.len ? "\n" : "", e->table);
	buf_addf(&middle, "%s = ", e->key);
	add_string(&middle, str_of(value));
	if (header == SIZE_MAX)
		buf_addc(&middle, '\n');
	append_spliced(text, at, buf_str(&middle), out);
	buf_release(&middle);
}

int list_edit_string(const struct list_edit *e, struct str text,
		     const char *value, struct buf *out, struct error *err)
{
	struct toml_value root = { 0 };
	const struct toml_value *v;

	if (toml_parse(&root, text, e->name, err) < 0)
		return -1;
	v = find_list(e, &root);
	if (v) {
		size_t end = line_begin(text, v->line + 1);

		buf_add(out, text.ptr,
			value ? offset_of(text, v) : line_begin(text, v->line));
		if (value) {
			add_string(out, str_of(value));
			buf_addc(out, '\n');
		}
		buf_addstr(out, str_skip(text, end));
	} else if (value) {
		add_string_line(e, text, value, out);
	} else {
		buf_addstr(out, text);
	}
	toml_release(&root);
	return has_value(e, buf_str(out), value) ? 0 : fail_uneditable(e, err);
}
