/* tool_schema.c - the parts of a JSON Schema. */
/* SPDX-License-Identifier: MIT */
#include "model/tool_schema.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"

const struct tool_union tool_unions[] = {
	{ "allOf", "all", true },
	{ "anyOf", "at least one", false },
	{ "oneOf", "exactly one", false },
	{ 0 },
};

enum holds { HOLDS_VALUE, HOLDS_ONE, HOLDS_LIST, HOLDS_MAP };

static const struct {
	const char *name;
	enum holds holds;
} keywords[] = {
	{ "properties", HOLDS_MAP },
	{ "patternProperties", HOLDS_MAP },
	{ "$defs", HOLDS_MAP },
	{ "definitions", HOLDS_MAP },
	{ "dependentSchemas", HOLDS_MAP },
	{ "anyOf", HOLDS_LIST },
	{ "oneOf", HOLDS_LIST },
	{ "allOf", HOLDS_LIST },
	{ "prefixItems", HOLDS_LIST },
	{ "items", HOLDS_ONE },
	{ "additionalProperties", HOLDS_ONE },
	{ "additionalItems", HOLDS_ONE },
	{ "contains", HOLDS_ONE },
	{ "propertyNames", HOLDS_ONE },
	{ "unevaluatedItems", HOLDS_ONE },
	{ "unevaluatedProperties", HOLDS_ONE },
	{ "not", HOLDS_ONE },
	{ "if", HOLDS_ONE },
	{ "then", HOLDS_ONE },
	{ "else", HOLDS_ONE },
};

static enum holds holds_of(const char *keyword)
{
	for (size_t i = 0; i < sizeof(keywords) / sizeof(keywords[0]); i++)
		if (strcmp(keywords[i].name, keyword) == 0)
			return keywords[i].holds;
	return HOLDS_VALUE;
}

void tool_schema_each(cJSON *schema, unsigned depth, tool_schema_visit *visit,
		      void *arg)
{
	cJSON *item;
	cJSON *next;

	for (item = schema->child; item; item = next) {
		enum holds holds = holds_of(item->string);
		cJSON *inner;
		cJSON *after;

		next = item->next;
		if (holds == HOLDS_ONE && cJSON_IsObject(item))
			visit(arg, item, depth + 1);
		if ((holds != HOLDS_MAP || !cJSON_IsObject(item)) &&
		    (holds != HOLDS_LIST || !cJSON_IsArray(item)))
			continue;
		for (inner = item->child; inner; inner = after) {
			after = inner->next;
			if (cJSON_IsObject(inner))
				visit(arg, inner, depth + 1);
		}
	}
}

/* A member of the root for each part; "~1" is "/", "~0" is "~" (RFC 6901). */
const cJSON *tool_schema_resolve(const cJSON *root, const char *ref)
{
	struct str rest = str_of(ref);
	struct str part;
	const cJSON *at = root;
	int64_t index;

	if (!str_starts(rest, "#"))
		return NULL;
	rest = str_skip(rest, 1);
	if (rest.len && rest.ptr[0] != '/')
		return NULL;
	rest = str_skip(rest, 1);
	while (at && str_split(&rest, '/', &part)) {
		char *name = xstrndup(part.ptr, part.len);
		char *to = name;

		for (const char *from = name; *from; from++) {
			if (from[0] == '~' &&
			    (from[1] == '0' || from[1] == '1'))
				*to++ = *++from == '0' ? '~' : '/';
			else
				*to++ = *from;
		}
		*to = '\0';
		if (!cJSON_IsArray(at))
			at = json_get(at, name);
		else if (str_to_int(str_of(name), &index) && index >= 0 &&
			 index < INT32_MAX)
			at = cJSON_GetArrayItem(at, (int)index);
		else
			at = NULL;
		free(name);
	}
	return at;
}
