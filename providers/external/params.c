/* params.c - tables of config.toml as JSON. */
/* SPDX-License-Identifier: MIT */
#include "providers/external/params.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/str.h"

static int wrong(const struct toml_value *v, const char *what,
		 struct error *err)
{
	return error_set(err, ERR_CONFIG, "config.toml:%d:%d: params: %s",
			 v->line, v->column, what);
}

static int add_value(const struct toml_value *v,
		     const struct params_strings *strings, struct buf *out,
		     struct error *err);

static int add_items(const struct toml_value *v,
		     const struct params_strings *strings, struct buf *out,
		     struct error *err)
{
	bool table = v->kind == TOML_TABLE;
	const char *between = "";

	buf_addc(out, table ? '{' : '[');
	for (size_t i = 0; i < v->n_items; i++) {
		const struct toml_value *item = &v->items[i];

		if (strings && item->kind == TOML_STRING &&
		    strings->omit(strings->arg, item->text))
			continue;
		buf_adds(out, between);
		between = ",";
		if (table) {
			json_quote(out,
				   (struct str){ item->key, item->key_len });
			buf_addc(out, ':');
		}
		if (add_value(item, strings, out, err) < 0)
			return -1;
	}
	buf_addc(out, table ? '}' : ']');
	return 0;
}

static int add_value(const struct toml_value *v,
		     const struct params_strings *strings, struct buf *out,
		     struct error *err)
{
	switch (v->kind) {
	case TOML_TABLE:
	case TOML_ARRAY:
		return add_items(v, strings, out, err);
	case TOML_INT:
		buf_addf(out, "%" PRId64, v->integer);
		return 0;
	case TOML_BOOL:
		buf_adds(out, v->integer ? "true" : "false");
		return 0;
	case TOML_FLOAT:
		if (!isfinite(v->real))
			return wrong(v, "a number that is not finite", err);
		buf_addf(out, "%.17g", v->real);
		return 0;
	default:
		if (v->text_len && memchr(v->text, 0, v->text_len))
			return wrong(v, "a string with NUL in it", err);
		if (strings && v->kind == TOML_STRING)
			return strings->add(strings->arg, v->text, out, err);
		json_quote(out, (struct str){ v->text, v->text_len });
		return 0;
	}
}

int params_json(const struct toml_value *table,
		const struct params_strings *strings, struct buf *out,
		struct error *err)
{
	if (table)
		return add_value(table, strings, out, err);
	buf_adds(out, "{}");
	return 0;
}

static bool fits(const struct toml_value *v, const char *type)
{
	switch (v->kind) {
	case TOML_TABLE:
		return !strcmp(type, "object");
	case TOML_ARRAY:
		return !strcmp(type, "array");
	case TOML_INT:
		return !strcmp(type, "integer") || !strcmp(type, "number");
	case TOML_FLOAT:
		return !strcmp(type, "number");
	case TOML_BOOL:
		return !strcmp(type, "boolean");
	default:
		return !strcmp(type, "string");
	}
}

int params_check(const struct toml_value *table, const cJSON *known,
		 const char *provider, struct error *err)
{
	for (size_t i = 0; table && i < table->n_items; i++) {
		const struct toml_value *v = &table->items[i];
		const char *type = json_string(known, v->key, NULL);

		if (!type)
			return error_set(err, ERR_CONFIG,
					 "config.toml:%d:%d: provider '%s' "
					 "has no setting '%.64s'",
					 v->line, v->column, provider, v->key);
		if (!fits(v, type))
			return error_set(err, ERR_CONFIG,
					 "config.toml:%d:%d: provider '%s': "
					 "%.64s must be of type %.16s, not %s",
					 v->line, v->column, provider, v->key,
					 type, toml_kind_name(v->kind));
	}
	return 0;
}
