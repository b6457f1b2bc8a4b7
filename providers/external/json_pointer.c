/* json_pointer.c - RFC 6901: where in a JSON document a value stands. */
/* SPDX-License-Identifier: MIT */
#include "providers/external/json_pointer.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/str.h"

bool json_pointer_ok(const char *pointer)
{
	if (pointer[0] && pointer[0] != '/')
		return false;
	for (const char *c = pointer; *c; c++)
		if (*c == '~' && c[1] != '0' && c[1] != '1')
			return false;
	return true;
}

static char *unescape(struct str token)
{
	char *out = xcalloc(token.len + 1, 1);
	size_t n = 0;

	for (size_t i = 0; i < token.len; i++) {
		out[n] = token.ptr[i];
		if (token.ptr[i] == '~' && i + 1 < token.len)
			out[n] = token.ptr[++i] == '1' ? '/' : '~';
		n++;
	}
	return out;
}

const cJSON *json_pointer_get(const cJSON *tree, const char *pointer)
{
	struct str rest = str_of(pointer);

	while (tree && rest.len) {
		struct str token;
		char *name;
		int64_t index;

		rest = str_skip(rest, 1);
		token = (struct str){ rest.ptr, str_find(rest, '/') };
		rest = str_skip(rest, token.len);
		name = unescape(token);
		if (cJSON_IsObject(tree))
			tree = cJSON_GetObjectItemCaseSensitive(tree, name);
		else if (cJSON_IsArray(tree) && str_to_int(token, &index) &&
			 index >= 0 && index <= 1000000)
			tree = cJSON_GetArrayItem(tree, (int)index);
		else
			tree = NULL;
		free(name);
	}
	return tree;
}

char *json_pointer_text(const cJSON *tree, const char *pointer)
{
	const cJSON *v = json_pointer_get(tree, pointer);

	if (cJSON_IsString(v))
		return xstrdup(v->valuestring);
	if (cJSON_IsNumber(v))
		return xasprintf("%.0f", v->valuedouble);
	if (cJSON_IsBool(v))
		return xstrdup(cJSON_IsTrue(v) ? "true" : "false");
	return NULL;
}
