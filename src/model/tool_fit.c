/* tool_fit.c - converts a tool's schema to a form that a vendor accepts. */
/* SPDX-License-Identifier: MIT */
/* Begin reading at tool_fit(), at the end. Its steps, in order: references are
 * resolved; unions (oneOf, anyOf, allOf) at the top level become properties;
 * each schema is corrected for the vendor; properties get names that the vendor
 * accepts. The schema comes from a server and is untrusted, so every step is
 * bounded. */
#include "model/tool_fit.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "model/tool_schema.h"

enum {
	MOST_NODES = 20000, /* JSON values in a converted schema */
	MOST_CHAIN = 32,    /* depth of references */
	MOST_DEPTH = 40,    /* depth of schemas */
	MOST_UNIONS = 8,    /* depth of top-level unions */
	/* bytes of JSON in a keyword that is moved into a description */
	MOST_RULE = 400,
	MOST_NOTES = 4000,       /* bytes added to a tool's description */
	MOST_SCHEMA = 512 << 10, /* bytes */
	MOST_TEXT = 64 << 10,    /* bytes of a description */
	MOST_COUNT = 1 << 30,    /* minLength and the like */
};

struct fit {
	const struct tool_rules *rules;
	/* the server's own schema, in which references are resolved */
	const cJSON *root;
	size_t nodes;
	struct buf notes; /* text to append to the tool's description */
	/* references followed from the root to the current schema */
	const struct chain *up;
};

/* ---- small helpers ---- */

static cJSON *get_member(cJSON *object, const char *key)
{
	return cJSON_GetObjectItemCaseSensitive(object, key);
}

/* A server's JSON may have a member twice. */
static void delete_member(cJSON *object, const char *key)
{
	while (get_member(object, key))
		cJSON_DeleteItemFromObjectCaseSensitive(object, key);
}

/* Returns the schema's properties; NULL if they are not an object. */
static const cJSON *properties_of(const cJSON *schema)
{
	const cJSON *properties = json_get(schema, "properties");

	return cJSON_IsObject(properties) ? properties : NULL;
}

static void set_member(cJSON *object, const char *key, cJSON *value)
{
	delete_member(object, key);
	cJSON_AddItemToObject(object, key, value);
}

static void clear_object(cJSON *object)
{
	while (object->child)
		cJSON_Delete(cJSON_DetachItemViaPointer(object, object->child));
}

static bool has_text(const cJSON *list, const char *text)
{
	const cJSON *item;

	cJSON_ArrayForEach (item, list)
		if (cJSON_IsString(item) && !strcmp(item->valuestring, text))
			return true;
	return false;
}

static void add_text(cJSON *list, const char *text)
{
	if (!has_text(list, text))
		cJSON_AddItemToArray(list, cJSON_CreateString(text));
}

static size_t count_nodes(const cJSON *tree)
{
	const cJSON *item;
	size_t n = 1;

	cJSON_ArrayForEach (item, tree)
		n += count_nodes(item);
	return n;
}

/* Appends words to the description of a schema. */
static void append_description(cJSON *schema, struct str words)
{
	const char *old = json_string(schema, "description", "");
	char *text = xasprintf("%s%s%.*s", old, old[0] ? " " : "",
			       (int)words.len, words.ptr ? words.ptr : "");

	set_member(schema, "description", cJSON_CreateString(text));
	free(text);
}

/* Appends a keyword that the vendor refuses to the schema's description:
 * "(pattern: "^a$")". A keyword with a long value is left out. */
static void describe_member(cJSON *schema, const cJSON *item)
{
	struct buf words = BUF_INIT(MOST_RULE);

	buf_addf(&words, "(%s: ", item->string);
	json_print(&words, item);
	buf_addc(&words, ')');
	if (!words.over)
		append_description(schema, buf_str(&words));
	buf_release(&words);
}

static cJSON *array_of(cJSON *schema, const char *key)
{
	if (!cJSON_IsArray(get_member(schema, key)))
		set_member(schema, key, cJSON_CreateArray());
	return get_member(schema, key);
}

static cJSON *object_of(cJSON *schema, const char *key)
{
	if (!cJSON_IsObject(get_member(schema, key)))
		set_member(schema, key, cJSON_CreateObject());
	return get_member(schema, key);
}

/* Adds a property. If there is one of that name with another schema, a value
 * may match either of the two. */
static void merge_property(cJSON *properties, const cJSON *from)
{
	cJSON *there = get_member(properties, from->string);
	cJSON *either = there ? get_member(there, "anyOf") : NULL;
	cJSON *both;

	if (!there) {
		cJSON_AddItemToObject(properties, from->string,
				      cJSON_Duplicate(from, true));
		return;
	}
	if (cJSON_Compare(there, from, true))
		return;
	if (cJSON_IsArray(either) && !there->child->next) {
		const cJSON *item;

		cJSON_ArrayForEach (item, either)
			if (cJSON_Compare(item, from, true))
				return;
		cJSON_AddItemToArray(either, cJSON_Duplicate(from, true));
		return;
	}
	both = cJSON_CreateObject();
	either = cJSON_AddArrayToObject(both, "anyOf");
	cJSON_AddItemToArray(either, cJSON_Duplicate(there, true));
	cJSON_AddItemToArray(either, cJSON_Duplicate(from, true));
	cJSON_ReplaceItemInObjectCaseSensitive(properties, from->string, both);
}

/* Adds the members of another schema that describes the same value. Members
 * that exist stay as they are. */
static void merge_rest(cJSON *schema, const cJSON *other)
{
	const cJSON *item;

	cJSON_ArrayForEach (item, other)
		if (!get_member(schema, item->string))
			cJSON_AddItemToObject(schema, item->string,
					      cJSON_Duplicate(item, true));
	cJSON_ArrayForEach (item, properties_of(other))
		merge_property(object_of(schema, "properties"), item);
}

/* ---- references ---- */

struct chain {
	const char *ref;
	const struct chain *up;
	int length;
};

static bool is_in_chain(const struct chain *c, const char *ref)
{
	for (; c; c = c->up)
		if (strcmp(c->ref, ref) == 0)
			return true;
	return false;
}

/* True if a reference may contain the definition's name without escaping. */
static bool is_plain(const char *name)
{
	return name[0] && strspn(name, "abcdefghijklmnopqrstuvwxyz"
				       "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				       "0123456789_.-") == strlen(name);
}

/* True if the vendor accepts this reference: then it is not resolved. */
static bool is_accepted_ref(const struct fit *f, const char *ref)
{
	static const char *const places[] = { "#/$defs/", "#/definitions/" };

	if (!f->rules->refs ||
	    !cJSON_IsObject(tool_schema_resolve(f->root, ref)))
		return false;
	for (size_t i = 0; i < 2; i++)
		if (str_starts(str_of(ref), places[i]) &&
		    is_plain(ref + strlen(places[i])))
			return true;
	return false;
}

/* Replaces a reference by the members of the schema that it refers to. */
static void insert_target(struct fit *f, cJSON *schema, const char *ref,
			  const struct chain *up)
{
	const cJSON *target = tool_schema_resolve(f->root, ref);
	size_t size;

	if (!cJSON_IsObject(target) || is_in_chain(up, ref)) {
		if (cJSON_IsObject(target))
			append_description(schema,
					   STR("(the same form as above)"));
		return;
	}
	size = count_nodes(target);
	if (f->nodes + size > MOST_NODES)
		return;
	f->nodes += size;
	merge_rest(schema, target);
}

/* Resolves references in a schema and all its parts. A schema that is nested
 * deeper than any vendor accepts is emptied. */
static void resolve_refs(void *arg, cJSON *schema, unsigned depth)
{
	struct fit *f = arg;
	const struct chain *before = f->up;
	const char *ref = json_string(schema, "$ref", NULL);
	struct chain link = { NULL, before, before ? before->length + 1 : 1 };
	char *text;

	if (depth > MOST_DEPTH) {
		clear_object(schema);
		return;
	}
	if (ref && is_accepted_ref(f, ref)) {
		tool_schema_each(schema, depth, resolve_refs, f);
		return;
	}
	text = xstrdup(ref);
	delete_member(schema, "$ref");
	if (text && link.length < MOST_CHAIN) {
		insert_target(f, schema, text, before);
		link.ref = text;
		f->up = &link;
		/* The target may itself be a reference. */
		resolve_refs(f, schema, depth);
	} else {
		tool_schema_each(schema, depth, resolve_refs, f);
	}
	f->up = before;
	free(text);
}

/* Resolves only the reference of this schema itself, even if the vendor accepts
 * references. */
static void resolve_here(struct fit *f, cJSON *schema)
{
	for (int i = 0; i < MOST_CHAIN; i++) {
		const char *ref = json_string(schema, "$ref", NULL);
		char *text = xstrdup(ref);

		delete_member(schema, "$ref");
		if (text)
			insert_target(f, schema, text, NULL);
		free(text);
		if (!ref)
			return;
	}
	delete_member(schema, "$ref");
}

/* ---- top-level unions ---- */

/* Notes each property with a constant value, which tells what branch of the
 * union it is: "kind": {"const": "page"}. */
static void note_constants(struct fit *f, const cJSON *properties)
{
	const cJSON *item;

	cJSON_ArrayForEach (item, properties) {
		const cJSON *value = json_get(item, "const");
		const cJSON *list = json_get(item, "enum");

		if (!value && cJSON_GetArraySize(list) == 1)
			value = list->child;
		if (!value)
			continue;
		buf_addf(&f->notes, " (%s = ", item->string);
		json_print(&f->notes, value);
		buf_addc(&f->notes, ')');
	}
}

/* Notes what a branch of a union looks like: its required names ("page_id,
 * kind"), else its properties, else its JSON. */
static void note_branch(struct fit *f, const cJSON *branch)
{
	const cJSON *required = json_get(branch, "required");
	const cJSON *properties = properties_of(branch);
	const cJSON *item;
	size_t n = 0;

	cJSON_ArrayForEach (item, required)
		if (cJSON_IsString(item))
			buf_addf(&f->notes, "%s%s", n++ ? ", " : "",
				 item->valuestring);
	if (!n)
		cJSON_ArrayForEach (item, properties)
			buf_addf(&f->notes, "%s%s", n++ ? ", " : "",
				 item->string);
	if (n) {
		note_constants(f, properties);
	} else {
		struct buf json = BUF_INIT(MOST_RULE);

		json_print(&json, branch);
		buf_addstr(&f->notes,
			   json.over ? STR("(another form)") : buf_str(&json));
		buf_release(&json);
	}
}

/* Notes the branches of a union, so that the model knows which arguments belong
 * together. */
static void note_branches(struct fit *f, const cJSON *list, const char *how)
{
	const cJSON *branch;
	size_t n = 0;

	if (cJSON_GetArraySize(list) < 2)
		return;
	buf_addf(&f->notes, "\nArguments: %s of these sets: ", how);
	cJSON_ArrayForEach (branch, list) {
		buf_adds(&f->notes, n++ ? "; " : "");
		note_branch(f, branch);
	}
	buf_addc(&f->notes, '.');
}

/* Notes a keyword about the whole object as JSON Schema text. */
static void note_rule(struct fit *f, const cJSON *item)
{
	struct buf json = BUF_INIT(MOST_RULE);

	json_print(&json, item);
	if (!json.over)
		buf_addf(&f->notes,
			 "\nRule for the arguments (JSON Schema): "
			 "{\"%s\":%s}",
			 item->string ? item->string : "allOf", json.ptr);
	buf_release(&json);
}

/* Marks as required the names that every branch requires. */
static void require_common(cJSON *schema, const cJSON *list)
{
	const cJSON *first = json_get(list->child, "required");
	const cJSON *name;
	const cJSON *branch;

	cJSON_ArrayForEach (name, first) {
		bool all = cJSON_IsString(name);

		cJSON_ArrayForEach (branch, list)
			all = all && has_text(json_get(branch, "required"),
					      name->valuestring);
		if (all)
			add_text(array_of(schema, "required"),
				 name->valuestring);
	}
}

/* Keywords that restrict a whole object, other than properties and required. */
static const char *const conditions[] = { "not",
					  "if",
					  "then",
					  "else",
					  "enum",
					  "const",
					  "dependentRequired",
					  "dependentSchemas",
					  "dependencies",
					  NULL };

static void flatten_unions(struct fit *f, cJSON *schema, int level);

/* Merges the properties of a union's branch into schema. all: a value must
 * match every branch, so the names that this one requires are required too. */
static void merge_branch(struct fit *f, cJSON *schema, cJSON *branch, bool all,
			 int level)
{
	const cJSON *item;

	if (!cJSON_IsObject(branch))
		return;
	resolve_here(f, branch);
	if (level < MOST_UNIONS)
		flatten_unions(f, branch, level + 1);
	cJSON_ArrayForEach (item, properties_of(branch))
		merge_property(object_of(schema, "properties"), item);
	if (!all)
		return;
	cJSON_ArrayForEach (item, json_get(branch, "required"))
		if (cJSON_IsString(item))
			add_text(array_of(schema, "required"),
				 item->valuestring);
	merge_rest(schema, branch);
}

/* Merges the branches of one kind of union (oneOf, anyOf or allOf) into the
 * schema. */
static void merge_union(struct fit *f, cJSON *schema,
			const struct tool_union *u, int level)
{
	cJSON *list = cJSON_DetachItemFromObjectCaseSensitive(schema, u->name);
	cJSON *branch;

	cJSON_ArrayForEach (branch, list)
		merge_branch(f, schema, branch, u->all, level);
	if (cJSON_IsArray(list) && list->child && !u->all) {
		require_common(schema, list);
		note_branches(f, list, u->how);
	}
	cJSON_Delete(list);
}

/* Merges all unions of a schema into one object schema. */
static void flatten_unions(struct fit *f, cJSON *schema, int level)
{
	for (const struct tool_union *u = tool_unions; u->name; u++)
		merge_union(f, schema, u, level);
	for (size_t i = 0; conditions[i]; i++) {
		cJSON *item = cJSON_DetachItemFromObjectCaseSensitive(
			schema, conditions[i]);

		if (item && f->notes.len < MOST_NOTES)
			note_rule(f, item);
		cJSON_Delete(item);
	}
}

/* ---- correcting one schema ---- */

static const struct {
	const char *name, *is;
} types[] = {
	{ "object", "object" },
	{ "array", "array" },
	{ "string", "string" },
	{ "number", "number" },
	{ "integer", "integer" },
	{ "boolean", "boolean" },
	{ "null", "null" },
	/* type names from programming languages */
	{ "int", "integer" },
	{ "long", "integer" },
	{ "float", "number" },
	{ "double", "number" },
	{ "str", "string" },
	{ "text", "string" },
	{ "bool", "boolean" },
	{ "list", "array" },
	{ "dict", "object" },
	{ "map", "object" },
};

static const char *type_named(const cJSON *item)
{
	if (cJSON_IsString(item))
		for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
			if (!strcasecmp(types[i].name, item->valuestring))
				return types[i].is;
	return NULL;
}

/* Removes the type of a schema and returns it as a list without duplicates;
 * nullable adds "null". The caller owns the list. */
static cJSON *detach_types(cJSON *schema)
{
	cJSON *type = cJSON_DetachItemFromObjectCaseSensitive(schema, "type");
	cJSON *list = cJSON_CreateArray();
	const cJSON *item;
	const char *name = type_named(type);

	if (name)
		add_text(list, name);
	if (cJSON_IsArray(type))
		cJSON_ArrayForEach (item, type)
			if (type_named(item))
				add_text(list, type_named(item));
	if (list->child && json_bool(schema, "nullable", false))
		add_text(list, "null");
	delete_member(schema, "nullable");
	cJSON_Delete(type);
	return list;
}

static bool has_any_form(const cJSON *schema)
{
	static const char *const forms[] = { "type",  "anyOf", "oneOf",
					     "allOf", "$ref",  "enum",
					     "const", "not",   NULL };

	for (size_t i = 0; forms[i]; i++)
		if (json_get(schema, forms[i]))
			return true;
	return false;
}

/* Returns the type of a schema without "type" if its keywords allow only one;
 * NULL: any type. */
static const char *guess_type(const cJSON *schema)
{
	const cJSON *list = json_get(schema, "enum");
	const cJSON *item;
	bool texts = list && list->child;

	if (properties_of(schema))
		return "object";
	if (cJSON_IsObject(json_get(schema, "items")))
		return "array";
	cJSON_ArrayForEach (item, list)
		texts = texts && cJSON_IsString(item);
	return texts ? "string" : NULL;
}

/* Moves an enum into the description ("(enum: [1,2])") if the vendor accepts
 * only strings and it has other values. */
static void fit_enum(const struct fit *f, cJSON *schema, cJSON *list)
{
	cJSON *item = get_member(schema, "enum");
	cJSON *value;
	cJSON *next;
	bool texts = true;

	if (item && (!cJSON_IsArray(item) || !item->child)) {
		delete_member(schema, "enum");
		item = NULL;
	}
	if (f->rules->any_enum)
		return;
	/* "const" means an enum of one value */
	value = cJSON_DetachItemFromObjectCaseSensitive(schema, "const");
	if (value && !item) {
		item = cJSON_AddArrayToObject(schema, "enum");
		cJSON_AddItemToArray(item, value);
	} else {
		cJSON_Delete(value);
	}
	for (value = item ? item->child : NULL; value; value = next) {
		next = value->next;
		/* null is expressed by the type instead */
		if (cJSON_IsNull(value)) {
			cJSON_Delete(cJSON_DetachItemViaPointer(item, value));
			add_text(list, "null");
		} else {
			texts = texts && cJSON_IsString(value);
		}
	}
	if (!item)
		return;
	if (texts && item->child &&
	    (has_text(list, "string") || !list->child ||
	     !strcmp(list->child->valuestring, "null")))
		add_text(list, "string");
	else
		texts = false;
	if (texts)
		return;
	/* Without the enum the schema needs a type: that of its first value. */
	if (!list->child && item->child)
		add_text(list, cJSON_IsBool(item->child)     ? "boolean"
			       : cJSON_IsNumber(item->child) ? "number"
							     : "string");
	describe_member(schema, item);
	delete_member(schema, "enum");
}

/* Corrects "items". Before draft 2020-12 it may be a list with one schema per
 * position. */
static void fit_items(const struct fit *f, cJSON *schema, bool is_array)
{
	cJSON *items = get_member(schema, "items");

	if (cJSON_IsArray(items)) {
		cJSON *either = cJSON_DetachItemFromObjectCaseSensitive(
			schema, "items");
		cJSON *item;
		cJSON *next;

		for (item = either->child; item; item = next) {
			next = item->next;
			if (!cJSON_IsObject(item))
				cJSON_Delete(cJSON_DetachItemViaPointer(either,
									item));
		}
		if (either->child) {
			items = cJSON_AddObjectToObject(schema, "items");
			cJSON_AddItemToObject(items, "anyOf", either);
			append_description(
				schema,
				STR("(one for each position, in this order)"));
		} else {
			cJSON_Delete(either);
		}
		delete_member(schema, "additionalItems");
	} else if (items && !cJSON_IsObject(items)) {
		delete_member(schema, "items");
	}
	if (is_array && !f->rules->bare_arrays && !get_member(schema, "items"))
		cJSON_AddObjectToObject(schema, "items");
}

/* Keywords by the values that draft 2020-12 gives them. tool_schema_each()
 * checks those whose values are schemas. */
enum value { VALUE_NUMBER, VALUE_COUNT, VALUE_TEXT, VALUE_FLAG, VALUE_LIST };

static const struct {
	const char *name;
	enum value value;
} values[] = {
	{ "minimum", VALUE_NUMBER },
	{ "maximum", VALUE_NUMBER },
	{ "exclusiveMinimum", VALUE_NUMBER },
	{ "exclusiveMaximum", VALUE_NUMBER },
	{ "minLength", VALUE_COUNT },
	{ "maxLength", VALUE_COUNT },
	{ "minItems", VALUE_COUNT },
	{ "maxItems", VALUE_COUNT },
	{ "minContains", VALUE_COUNT },
	{ "maxContains", VALUE_COUNT },
	{ "minProperties", VALUE_COUNT },
	{ "maxProperties", VALUE_COUNT },
	{ "description", VALUE_TEXT },
	{ "title", VALUE_TEXT },
	{ "format", VALUE_TEXT },
	{ "pattern", VALUE_TEXT },
	{ "contentEncoding", VALUE_TEXT },
	{ "contentMediaType", VALUE_TEXT },
	{ "uniqueItems", VALUE_FLAG },
	{ "deprecated", VALUE_FLAG },
	{ "readOnly", VALUE_FLAG },
	{ "writeOnly", VALUE_FLAG },
	{ "examples", VALUE_LIST },
};

static bool is_value(const cJSON *item, enum value value)
{
	double number = cJSON_IsNumber(item) ? item->valuedouble : -1;

	switch (value) {
	case VALUE_NUMBER:
		return cJSON_IsNumber(item);
	case VALUE_COUNT:
		return number >= 0 && number < MOST_COUNT &&
		       number == (double)(int64_t)number;
	case VALUE_TEXT:
		return cJSON_IsString(item);
	case VALUE_FLAG:
		return cJSON_IsBool(item);
	default:
		return cJSON_IsArray(item);
	}
}

/* True for what draft 2020-12 allows in dependentRequired: lists of names. */
static bool has_lists_of_names(const cJSON *map)
{
	const cJSON *list;
	const cJSON *name;

	cJSON_ArrayForEach (list, map) {
		if (!cJSON_IsArray(list))
			return false;
		cJSON_ArrayForEach (name, list)
			if (!cJSON_IsString(name))
				return false;
	}
	return cJSON_IsObject(map);
}

/* Keywords that have no effect here or would make the converted schema
 * invalid. */
static const char *const noise[] = { "$schema",          "$id",
				     "$anchor",          "$comment",
				     "$vocabulary",      "$dynamicAnchor",
				     "$dynamicRef",      "$recursiveRef",
				     "$recursiveAnchor", NULL };

/* Converts the exclusive limits of draft 4, which are booleans. Removes
 * keywords with a value of the wrong type. */
static void fit_values(cJSON *schema)
{
	static const struct {
		const char *limit, *flag;
	} old[] = { { "minimum", "exclusiveMinimum" },
		    { "maximum", "exclusiveMaximum" } };
	const cJSON *multiple;

	for (size_t i = 0; i < 2; i++) { /* exclusive limits of draft 4 */
		cJSON *limit = get_member(schema, old[i].limit);

		if (!cJSON_IsTrue(get_member(schema, old[i].flag)) ||
		    !cJSON_IsNumber(limit))
			continue;
		set_member(schema, old[i].flag,
			   cJSON_CreateNumber(limit->valuedouble));
		delete_member(schema, old[i].limit);
	}
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		if (!is_value(get_member(schema, values[i].name),
			      values[i].value))
			delete_member(schema, values[i].name);
	multiple = get_member(schema, "multipleOf");
	if (!cJSON_IsNumber(multiple) || multiple->valuedouble <= 0)
		delete_member(schema, "multipleOf");
	if (!has_lists_of_names(get_member(schema, "dependentRequired")))
		delete_member(schema, "dependentRequired");
	for (size_t i = 0; noise[i]; i++)
		delete_member(schema, noise[i]);
}

/* Moves "required": true of draft 3, which is in the property, to the list of
 * names that later drafts have in the object. */
static void fit_required(cJSON *schema)
{
	cJSON *properties = get_member(schema, "properties");
	cJSON *old =
		cJSON_DetachItemFromObjectCaseSensitive(schema, "required");
	cJSON *item;
	cJSON *next;

	if (properties && !cJSON_IsObject(properties)) {
		delete_member(schema, "properties");
		properties = NULL;
	}
	if (cJSON_IsArray(old))
		cJSON_ArrayForEach (item, old)
			if (cJSON_IsString(item))
				add_text(array_of(schema, "required"),
					 item->valuestring);
	cJSON_Delete(old);
	for (item = properties ? properties->child : NULL; item; item = next) {
		next = item->next;
		if (cJSON_IsFalse(item))
			cJSON_Delete(
				cJSON_DetachItemViaPointer(properties, item));
		else if (!cJSON_IsObject(item))
			cJSON_ReplaceItemInObjectCaseSensitive(
				properties, item->string, cJSON_CreateObject());
	}
	for (item = properties ? properties->child : NULL; item;
	     item = item->next) {
		if (!cJSON_IsTrue(get_member(item, "required")))
			continue;
		delete_member(item, "required");
		add_text(array_of(schema, "required"), item->string);
	}
}

/* Removes the names of missing properties from "required": some vendors refuse
 * such names. */
static void drop_unknown(cJSON *schema)
{
	const cJSON *properties = get_member(schema, "properties");
	cJSON *required = get_member(schema, "required");
	cJSON *item;
	cJSON *next;

	for (item = required ? required->child : NULL; item; item = next) {
		next = item->next;
		if (!json_get(properties, item->valuestring))
			cJSON_Delete(
				cJSON_DetachItemViaPointer(required, item));
	}
	if (required && !required->child)
		delete_member(schema, "required");
}

/* Keywords, each with the only type that it applies to. */
static const struct {
	const char *type, *name;
} of_type[] = {
	{ "object", "properties" },
	{ "object", "required" },
	{ "object", "additionalProperties" },
	{ "object", "minProperties" },
	{ "object", "maxProperties" },
	{ "object", "patternProperties" },
	{ "object", "propertyNames" },
	{ "array", "items" },
	{ "array", "prefixItems" },
	{ "array", "minItems" },
	{ "array", "maxItems" },
	{ "array", "uniqueItems" },
	{ "array", "contains" },
	{ "string", "enum" },
	{ "string", "pattern" },
	{ "string", "minLength" },
	{ "string", "maxLength" },
	{ "string", "format" },
	{ "number", "minimum" },
	{ "number", "maximum" },
	{ "number", "multipleOf" },
	{ "number", "exclusiveMinimum" },
	{ "number", "exclusiveMaximum" },
};

/* Converts a list of types to {"anyOf": [{"type": "string", ...}, {"type":
 * "null"}]}. */
static void split_types(cJSON *schema, const cJSON *list)
{
	cJSON *either = cJSON_CreateArray();
	const cJSON *type;

	cJSON_ArrayForEach (type, list) {
		cJSON *one = cJSON_CreateObject();
		const char *name = type->valuestring;
		const char *kind = strcmp(name, "integer") ? name : "number";

		cJSON_AddStringToObject(one, "type", name);
		for (size_t i = 0; i < sizeof(of_type) / sizeof(of_type[0]);
		     i++) {
			cJSON *item;

			if (strcmp(of_type[i].type, kind) != 0)
				continue;
			item = cJSON_DetachItemFromObjectCaseSensitive(
				schema, of_type[i].name);
			if (item)
				cJSON_AddItemToObject(one, of_type[i].name,
						      item);
		}
		cJSON_AddItemToArray(either, one);
	}
	cJSON_AddItemToObject(schema, "anyOf", either);
}

static void set_types(const struct fit *f, cJSON *schema, const cJSON *list)
{
	const cJSON *first = list->child;

	if (!first)
		return;
	if (!first->next)
		cJSON_AddStringToObject(schema, "type", first->valuestring);
	else if (f->rules->type_lists)
		cJSON_AddItemToObject(schema, "type",
				      cJSON_Duplicate(list, true));
	else if (get_member(schema, "anyOf"))
		return; /* the types are in anyOf already */
	else
		split_types(schema, list);
}

static bool is_taken(const struct tool_rules *r, const char *keyword)
{
	if (!r->additional && strcmp(keyword, "additionalProperties") == 0)
		return false;
	for (size_t i = 0; r->keywords && r->keywords[i]; i++)
		if (strcmp(r->keywords[i], keyword) == 0)
			return true;
	return !r->keywords;
}

/* Removes keywords that the vendor refuses and writes them into the description
 * instead. */
static void drop_keywords(const struct fit *f, cJSON *schema)
{
	/* Describing one replaces "description", which may be the next item. */
	cJSON *dropped = cJSON_CreateArray();
	cJSON *item;
	cJSON *next;

	for (item = schema->child; item; item = next) {
		next = item->next;
		if (!is_taken(f->rules, item->string) ||
		    !str_is_visible(str_of(item->string)))
			cJSON_AddItemToArray(
				dropped,
				cJSON_DetachItemViaPointer(schema, item));
	}
	cJSON_ArrayForEach (item, dropped)
		if (strcmp(item->string, "definitions") != 0 &&
		    strcmp(item->string, "additionalProperties") != 0)
			describe_member(schema, item);
	cJSON_Delete(dropped);
}

/* Makes the schema accept values of all types, for vendors that require a
 * type. */
static void set_any_type(cJSON *schema)
{
	static const char *const any[] = { "string", "number", "boolean" };
	cJSON *either = cJSON_AddArrayToObject(schema, "anyOf");

	for (size_t i = 0; i < sizeof(any) / sizeof(any[0]); i++) {
		cJSON *one = cJSON_CreateObject();

		cJSON_AddStringToObject(one, "type", any[i]);
		cJSON_AddItemToArray(either, one);
	}
}

/* Corrects one schema and its parts for the vendor. */
static void correct_schema(void *arg, cJSON *schema, unsigned depth)
{
	struct fit *f = arg;
	const struct tool_rules *r = f->rules;
	cJSON *list;
	const char *guess;

	if (depth > r->depth || ++f->nodes > MOST_NODES) {
		clear_object(schema);
		append_description(schema,
				   STR("(nested too deeply to be described)"));
		if (!r->untyped)
			set_any_type(schema);
		return;
	}
	if (depth && !is_taken(r, "allOf"))
		merge_union(f, schema, &tool_unions[0], MOST_UNIONS);
	fit_values(schema);
	fit_required(schema);
	list = detach_types(schema);
	guess = list->child ? NULL : guess_type(schema);
	if (guess && (!has_any_form(schema) || get_member(schema, "enum")))
		add_text(list, guess);
	fit_enum(f, schema, list);
	fit_items(f, schema, has_text(list, "array"));
	if (!r->untyped)
		drop_unknown(schema);
	set_types(f, schema, list);
	cJSON_Delete(list);
	drop_keywords(f, schema);
	if (!r->untyped && !has_any_form(schema))
		set_any_type(schema);
	tool_schema_each(schema, depth, correct_schema, f);
}

/* ---- the whole schema ---- */

static const char *const definitions[] = { "$defs", "definitions", NULL };

/* Adds a property that accepts any type for each required name that is not a
 * property. */
static void add_required(cJSON *top)
{
	cJSON *properties = object_of(top, "properties");
	const cJSON *item;

	cJSON_ArrayForEach (item, json_get(top, "required"))
		if (cJSON_IsString(item) &&
		    !get_member(properties, item->valuestring))
			cJSON_AddObjectToObject(properties, item->valuestring);
}

/* Removes definitions that cannot be the target of a reference: see
 * is_accepted_ref(). */
static void drop_definitions(const struct fit *f, cJSON *top, const char *key)
{
	cJSON *map = get_member(top, key);
	cJSON *item;
	cJSON *next;

	if (!f->rules->refs || !cJSON_IsObject(map)) {
		delete_member(top, key);
		return;
	}
	for (item = map->child; item; item = next) {
		next = item->next;
		if (!is_plain(item->string) || !cJSON_IsObject(item))
			cJSON_Delete(cJSON_DetachItemViaPointer(map, item));
	}
}

/* Removes all keywords that a vendor with top_plain refuses at the top
 * level. */
static void filter_keywords(cJSON *schema)
{
	static const char *const plain[] = { "type", "properties", "required",
					     NULL };
	cJSON *item;
	cJSON *next;

	for (item = schema->child; item; item = next) {
		size_t i = 0;

		next = item->next;
		while (plain[i] && strcmp(plain[i], item->string) != 0)
			i++;
		if (!plain[i])
			cJSON_Delete(cJSON_DetachItemViaPointer(schema, item));
	}
}

/* Returns the length in bytes of the longest prefix with at most this many
 * characters. */
static size_t prefix_chars(struct str s, size_t chars)
{
	size_t at = str_char_offset(s, chars);

	return at < s.len ? at : s.len;
}

/* Returns the tool's description, cut to the vendor's limit; owned. If it was
 * cut, the full text becomes the description of the schema, for which there is
 * no limit. */
static char *fit_description(const struct fit *f, const char *own, cJSON *top)
{
	struct buf all = BUF_INIT(MOST_TEXT);
	size_t most = f->rules->description;
	struct str text;
	char *cut;

	buf_adds(&all, own);
	buf_addstr(&all, buf_str(&f->notes));
	text = buf_str(&all);
	text.len = str_utf8_prefix(text);
	if (most && str_chars(text) > most) {
		cut = xstrndup(text.ptr, text.len);
		set_member(top, "description", cJSON_CreateString(cut));
		free(cut);
		text.len = prefix_chars(text, most - 3);
		cut = xasprintf("%.*s...", (int)text.len, text.ptr);
	} else {
		cut = xstrndup(text.ptr ? text.ptr : "", text.len);
	}
	buf_release(&all);
	return cut;
}

int tool_fit(const struct tool_rules *rules, const struct tool_spec *spec,
	     struct tool_fit *fit)
{
	cJSON *root = json_parse(str_of(spec->schema));
	cJSON *top = cJSON_IsObject(root) ? cJSON_Duplicate(root, true)
					  : cJSON_CreateObject();
	struct fit f = { .rules = rules,
			 .root = root,
			 .notes = BUF_INIT(MOST_NOTES) };
	struct buf out = BUF_INIT(MOST_SCHEMA);
	int rc;

	*fit = (struct tool_fit){ 0 };
	resolve_here(&f, top);
	if (!rules->top_unions)
		flatten_unions(&f, top, 0);
	resolve_refs(&f, top, 0);
	for (size_t i = 0; definitions[i]; i++)
		drop_definitions(&f, top, definitions[i]);
	set_member(top, "type", cJSON_CreateString("object"));
	add_required(top);
	f.nodes = 0;
	correct_schema(&f, top, 0);
	set_member(top, "type", cJSON_CreateString("object"));
	(void)object_of(top, "properties");
	if (rules->top_plain)
		filter_keywords(top);
	rc = tool_keys_fit(rules, top, &fit->keys);
	fit->description = fit_description(&f, spec->description, top);
	json_print(&out, top);
	if (out.over)
		rc = -1;
	fit->schema = buf_detach(&out);
	if (fit->keys.n)
		fit->tree = top;
	else
		cJSON_Delete(top);
	cJSON_Delete(root);
	buf_release(&f.notes);
	return rc;
}

void tool_fit_release(struct tool_fit *fit)
{
	tool_keys_release(&fit->keys);
	free(fit->schema);
	free(fit->description);
	cJSON_Delete(fit->tree);
	*fit = (struct tool_fit){ 0 };
}
