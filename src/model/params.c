/* params.c - merges the user's request parameters from all layers. */
/* SPDX-License-Identifier: MIT */
/*
 * First the layers of the configuration become one object: params_merge(). Then
 * that object becomes what a vendor's wire accepts: begin reading at
 * params_clean(). The wires call params_rename() and params_nest() for their
 * own names.
 */
#include "model/params.h"

#include <math.h>
#include <string.h>

#include "base/json.h"
#include "base/str.h"
#include "model/wire.h"

static cJSON *convert_value(const struct toml_value *v);

static cJSON *convert_items(const struct toml_value *v)
{
	bool table = v->kind == TOML_TABLE;
	cJSON *out = table ? cJSON_CreateObject() : cJSON_CreateArray();

	for (size_t i = 0; i < v->n_items; i++) {
		cJSON *item = convert_value(&v->items[i]);

		if (table)
			cJSON_AddItemToObject(out, v->items[i].key, item);
		else
			cJSON_AddItemToArray(out, item);
	}
	return out;
}

static cJSON *convert_value(const struct toml_value *v)
{
	switch (v->kind) {
	case TOML_TABLE:
	case TOML_ARRAY:
		return convert_items(v);
	case TOML_INT:
		return cJSON_CreateNumber((double)v->integer);
	case TOML_FLOAT: /* JSON has neither infinity nor NaN */
		return isfinite(v->real) ? cJSON_CreateNumber(v->real)
					 : cJSON_CreateNull();
	case TOML_BOOL:
		return cJSON_CreateBool(v->integer != 0);
	default:
		return cJSON_CreateString(v->text);
	}
}

/* Takes ownership of value. A later layer replaces a member of an earlier one.
 */
static void set_member(cJSON *out, const char *key, cJSON *value)
{
	cJSON_DeleteItemFromObjectCaseSensitive(out, key);
	cJSON_AddItemToObject(out, key, value);
}

/* True for the name of a parameter, such as "thinking". A model's name has
 * digits, dots or hyphens. */
static bool is_word(const char *key)
{
	return key[strspn(key, "abcdefghijklmnopqrstuvwxyz_")] == '\0';
}

/* Adds the keys of a table of config.toml. flat: leaves out the sub-tables of
 * models. */
static void add_table(cJSON *out, const struct toml_value *table,
		      const char *model, bool flat)
{
	for (size_t i = 0; i < table->n_items; i++) {
		const struct toml_value *v = &table->items[i];
		bool named = v->kind == TOML_TABLE && model &&
			     (strcmp(v->key, model) == 0 || !is_word(v->key));

		if (!named || !flat)
			set_member(out, v->key, convert_value(v));
	}
}

/* Merges the JSON of --model-params into out. */
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
		error_hint(
			err,
			"For example: --model-params '{\"temperature\": 0.2}'");
		cJSON_Delete(tree);
		return -1;
	}
	cJSON_ArrayForEach (item, tree)
		set_member(out, item->string, cJSON_Duplicate(item, true));
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

/* Not sent: parameters of dcode and of the Python clients. */
static const char *const not_sent[] = {
	"model",           "messages",
	"stream",          "tools",
	"system",          "stream_options",
	"max_retries",     "timeout",
	"streaming",       "stream_usage",
	"base_url",        "api_key",
	"default_headers", "default_query",
	"betas",           "use_responses_api",
	"output_version",  "disable_streaming",
	"verbose",         "cache",
	"extra_body",      "model_kwargs",
	"rate_limiter",
};

/* Moves the members of an inner object into params and removes the object. */
static void merge_inner(cJSON *params, const char *key)
{
	cJSON *inner = cJSON_DetachItemFromObjectCaseSensitive(params, key);
	cJSON *item = cJSON_IsObject(inner) ? inner->child : NULL;

	while (item) {
		cJSON *next = item->next;

		cJSON_DetachItemViaPointer(inner, item);
		cJSON_DeleteItemFromObjectCaseSensitive(params, item->string);
		cJSON_AddItemToObject(params, item->string, item);
		item = next;
	}
	cJSON_Delete(inner);
}

/* Names under which users, Python's clients and vendors write the output
 * limit. */
static const char *const limit_names[] = {
	"max_tokens", "max_completion_tokens", "max_output_tokens",
	"maxTokens",  "maxOutputTokens",       NULL
};

/* Removes all output limits from object, except the one named keep (may be
 * NULL). Returns the lowest of them, or 0. */
static int64_t remove_limits(cJSON *object, const char *keep)
{
	int64_t limit = 0;

	for (size_t i = 0; limit_names[i]; i++) {
		int64_t found = json_int(object, limit_names[i], 0);

		if (found > 0 && found < INT32_MAX && (!limit || found < limit))
			limit = found;
		if (!keep || strcmp(keep, limit_names[i]) != 0)
			cJSON_DeleteItemFromObjectCaseSensitive(object,
								limit_names[i]);
	}
	return limit;
}

static const char *find_limit(const cJSON *params)
{
	size_t i = 0;

	while (limit_names[i] && !json_get(params, limit_names[i]))
		i++;
	return limit_names[i];
}

bool params_have_limit(const cJSON *params)
{
	static const char *const groups[] = { "generationConfig",
					      "generation_config",
					      "inferenceConfig", "model_kwargs",
					      "extra_body" };

	if (find_limit(params))
		return true;
	for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++)
		if (find_limit(json_get(params, groups[i])))
			return true;
	return false;
}

/* Leaves one output limit, under the name that the user used, and sets it to
 * the mark. options->limit becomes the user's limit. */
static void mark_limit(cJSON *params, struct params_options *options)
{
	static const char *const groups[] = { "generationConfig",
					      "inferenceConfig", NULL };
	const char *name = find_limit(params);
	int64_t limit = remove_limits(params, name);

	for (size_t i = 0; groups[i]; i++) {
		cJSON *group =
			cJSON_GetObjectItemCaseSensitive(params, groups[i]);
		int64_t inner = group ? remove_limits(group, NULL) : 0;

		if (inner && (!limit || inner < limit))
			limit = inner;
	}
	options->limit = limit;
	set_member(params, name ? name : "max_tokens",
		   cJSON_CreateNumber((double)options->mark));
}

void params_clean(const struct wire *wire, const struct model_choice *choice,
		  cJSON *params, struct params_options *options)
{
	const struct wire_option *o = wire->options;
	cJSON *item;
	cJSON *next;

	merge_inner(params, "model_kwargs");
	merge_inner(params, "extra_body");
	/* dcode uses all four cache marks that a request may have: remove the
	 * user's. */
	if (wire->mark)
		cJSON_DeleteItemFromObjectCaseSensitive(params,
							"cache_control");
	for (size_t i = 0; i < sizeof(not_sent) / sizeof(not_sent[0]); i++)
		cJSON_DeleteItemFromObjectCaseSensitive(params, not_sent[i]);
	if (options->mark)
		mark_limit(params, options);
	if (wire->params)
		wire->params(choice, params);
	for (unsigned bit = 1; o && o->name; o++, bit <<= 1) {
		if (!json_get(params, o->name))
			continue;
		options->decided |= bit;
		options->turned |= o->at_first ? bit : 0;
	}
	for (item = params->child; item; item = next) {
		next = item->next;
		if (cJSON_IsNull(item))
			cJSON_Delete(cJSON_DetachItemViaPointer(params, item));
	}
}

void params_rename(cJSON *params, const char *from, const char *to)
{
	cJSON *item = cJSON_DetachItemFromObjectCaseSensitive(params, from);

	if (!item || json_get(params, to))
		cJSON_Delete(item);
	else
		cJSON_AddItemToObject(params, to, item);
}

void params_nest(cJSON *params, const char *from, const char *group,
		 const char *to)
{
	cJSON *item = cJSON_DetachItemFromObjectCaseSensitive(params, from);
	cJSON *object = cJSON_GetObjectItemCaseSensitive(params, group);

	if (item && !object)
		object = cJSON_AddObjectToObject(params, group);
	if (!item || !cJSON_IsObject(object) || json_get(object, to))
		cJSON_Delete(item);
	else
		cJSON_AddItemToObject(object, to, item);
}
