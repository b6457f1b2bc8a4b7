/* toml_fuzz.c - any document is refused with a place, or reads back the same.
 */
/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "config/toml.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool fact)
{
	if (!fact)
		abort();
}

static void write_string(struct buf *out, const char *text, size_t len)
{
	require(str_is_utf8((struct str){ text, len }));
	buf_addc(out, '"');
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)text[i];

		if (c < ' ' || c == '"' || c == '\\' || c == 0x7F)
			buf_addf(out, "\\u%04X", c);
		else
			buf_addc(out, (char)c);
	}
	buf_addc(out, '"');
}

static void write_float(struct buf *out, double real)
{
	if (isnan(real))
		buf_adds(out, "nan");
	else if (isinf(real))
		buf_adds(out, real < 0 ? "-inf" : "inf");
	else
		buf_addf(out, "%.17e", real);
}

static void write_value(struct buf *out, const struct toml_value *v);

/* Tables of every kind become inline ones. */
static void write_items(struct buf *out, const struct toml_value *v)
{
	bool table = v->kind == TOML_TABLE;

	buf_addc(out, table ? '{' : '[');
	for (size_t i = 0; i < v->n_items; i++) {
		const struct toml_value *item = &v->items[i];

		buf_adds(out, i ? "," : "");
		require(!table == !item->key);
		if (table) {
			write_string(out, item->key, item->key_len);
			buf_addc(out, '=');
		}
		write_value(out, item);
	}
	buf_addc(out, table ? '}' : ']');
}

static void write_value(struct buf *out, const struct toml_value *v)
{
	require(v->line >= 1 && v->column >= 1);
	switch (v->kind) {
	case TOML_TABLE:
	case TOML_ARRAY:
		write_items(out, v);
		break;
	case TOML_STRING:
		write_string(out, v->text, v->text_len);
		break;
	case TOML_INT:
		buf_addf(out, "%" PRId64, v->integer);
		break;
	case TOML_FLOAT:
		write_float(out, v->real);
		break;
	case TOML_BOOL:
		buf_adds(out, v->integer ? "true" : "false");
		break;
	default:
		buf_add(out, v->text, v->text_len);
	}
}

static void write_root(struct buf *out, const struct toml_value *root)
{
	for (size_t i = 0; i < root->n_items; i++) {
		write_string(out, root->items[i].key, root->items[i].key_len);
		buf_addc(out, '=');
		write_value(out, &root->items[i]);
		buf_addc(out, '\n');
	}
}

static void check_again(const struct toml_value *root)
{
	struct buf once = BUF_INIT(64 << 20);
	struct buf twice = BUF_INIT(64 << 20);
	struct toml_value other;
	struct error err = { 0 };

	write_root(&once, root);
	require(toml_parse(&other, buf_str(&once), "again", &err) == 0);
	write_root(&twice, &other);
	require(str_eq(buf_str(&once), buf_str(&twice)));
	toml_release(&other);
	buf_release(&once);
	buf_release(&twice);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct toml_value root;
	struct error err = { 0 };
	int line = 0;
	int column = 0;

	if (toml_parse(&root, (struct str){ (const char *)data, size }, "f",
		       &err) == 0) {
		check_again(&root);
	} else {
		require(sscanf(err.message, "f:%d:%d: ", &line, &column) == 2);
		require(line >= 1 && (size_t)line <= size + 1);
		require(column >= 1 && (size_t)column <= size + 1);
		require(!root.items);
		require(str_is_utf8(str_of(err.message)));
	}
	toml_release(&root);
	return 0;
}
