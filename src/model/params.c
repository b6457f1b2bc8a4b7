/* params.c - what the user wants in every request, from all layers. */
/* SPDX-License-Identifier: MIT */
#include "model/params.h"

#include <math.h>
#include <string.h>

#include "base/json.h"
#include "base/str.h"

static cJSON *convert(const struct toml_value *v);

static cJSON *convert_items(const struct toml_value *v)
{
	bool table = v->kind == TOML_TABLE;
	cJSON *out = table ? cJSON_CreateObject() : cJSON_CreateArray();

	for (size_t i = 0; i < v->n_items; i++) {
		cJSON *item = convert(&v->items[i]);

		if (table)
			cJSON_AddItemToObject(out, v->items[i].key, item);
		else
			cJSON_AddItemToArray(out, item);
	}
	return out;
}

static cJSON *convert(const struct toml_value *v)
{
	switch (v->kind) {
	case TOML_TABLE:
	case TOML_ARRAY:
		return convert_items(v);
	case TOML_INT:
		return cJSON_CreateNumber((double)v->integer);
	case TOML_FLOAT: /* JSON has no word for the others */
		return isfinite(v->real) ? cJSON_CreateNumber(v->real)
					 : cJSON_CreateNull();
	case TOML_BOOL:
		return cJSON_CreateBool(v->integer != 0);
	default:
		return cJSON_CreateString(v->text);
	}
}

static void put(cJSON *out, const char *key, cJSON *value)
{
	cJSON_DeleteItemFromObjectCaseSensitive(out, key);
	cJSON_AddItemToObject(out, key, value);
}

static bool is_word(const char *key)
{
	return key[strspn(key, "abcdefghijklmnopqrstuvwxyz_")] == '\0';
}

static void add_table(cJSON *out, const struct toml_value *table,
		      const char *model, bool flat)
{
	for (size_t i = 0; i < table->n_items; i++) {
		const struct toml_value *v = &table->items[i];
		bool named = v->kind == TOML_TABLE && model &&
			     (strcmp(v->key, model) == 0 || !is_word(v->key));

		if (!named || !flat)
			put(out, v->key, convert(v));
	}
}

static int add_json(cJSON *out, const char *json, struct error *err)
{
	cJSON *tree = json_parse(str_of(json));
	const cJSON *item;

	if (!cJSON_IsObject(tree)) {
		if (tree)
			(void)error_set(err, ERR_CONFIG,
					"--model-params must be a JSON object");
		else
			(void)error_set(err, ERR_CONFIG,
					"--model-params is not valid JSON: "
					"%.80s",
					json);
		error_hint(err, "for example: --model-params "
				"'{\"temperature\": 0.2}'");
		cJSON_Delete(tree);
		return -1;
	}
	cJSON_ArrayForEach (item, tree)
		put(out, item->string, cJSON_Duplicate(item, true));
	cJSON_Delete(tree);
	return 0;
}

int params_merge(cJSON **out, const struct toml_value *table, const char *model,
		 const char *json, struct error *err)
{
	const struct toml_value *own;

	if (table && table->kind != TOML_TABLE)
		return error_set(err, ERR_CONFIG,
				 "config.toml:%d:%d: params must be a table, "
				 "not %s",
				 table->line, table->column,
				 toml_kind_name(table->kind));
	*out = cJSON_CreateObject();
	if (table) {
		add_table(*out, table, model, true);
		own = toml_get(table, model);
		if (own && own->kind == TOML_TABLE)
			add_table(*out, own, model, false);
	}
	if (!json || add_json(*out, json, err) == 0)
		return 0;
	cJSON_Delete(*out);
	*out = NULL;
	return -1;
}
