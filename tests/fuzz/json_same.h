/* json_same.h - json_parse() accepts what cJSON's parser does, with the same
 * tree. */
/* SPDX-License-Identifier: MIT */
#ifndef FUZZ_JSON_SAME_H
#define FUZZ_JSON_SAME_H

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"

static bool same_text(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

static bool same_tree(const cJSON *a, const cJSON *b)
{
	const cJSON *before = NULL;

	if (!a || !b)
		return a == b;
	if (a->type != b->type || a->valueint != b->valueint ||
	    memcmp(&a->valuedouble, &b->valuedouble, sizeof(double)) != 0 ||
	    !same_text(a->valuestring, b->valuestring) ||
	    !same_text(a->string, b->string))
		return false;
	a = a->child;
	b = b->child;
	for (const cJSON *first = a; a && b; a = a->next, b = b->next) {
		if (!same_tree(a, b) || (before && a->prev != before))
			return false;
		if (!a->next && first->prev != a)
			return false;
		before = a;
	}
	return !a && !b;
}

/* cJSON takes "\uZZZZ" for NUL, which json_parse() refuses; and a mark of UTF-8
 * counts only in a text of five bytes. */
static bool is_known_difference(struct str text)
{
	if (text.len < 5 && str_starts(text, "\xEF\xBB\xBF"))
		return true;
	for (size_t i = 0; i + 1 < text.len; i++) {
		if (text.ptr[i] != '\\' || text.ptr[i + 1] != 'u')
			continue;
		for (size_t k = i + 2; k < i + 6 && k < text.len; k++)
			if (!isxdigit((unsigned char)text.ptr[k]))
				return true;
	}
	return false;
}

static cJSON *parse_with_cjson(struct str text)
{
	const char *end = NULL;
	cJSON *tree = text.len ? cJSON_ParseWithLengthOpts(text.ptr, text.len,
							   &end, false)
			       : NULL;

	if (!tree ||
	    !str_trim((struct str){ end, (size_t)(text.ptr + text.len - end) })
		     .len)
		return tree;
	cJSON_Delete(tree);
	return NULL;
}

/* Aborts if the parsers differ. A repaired document may be one that cJSON
 * refuses; without such strings it is the same, in the pool, too. */
static void json_same(struct json_pool *pool, struct str text)
{
	cJSON *theirs;
	cJSON *ours;
	cJSON *repaired;
	const cJSON *pooled;

	if (is_known_difference(text))
		return;
	theirs = parse_with_cjson(text);
	ours = json_parse(text);
	repaired = json_parse_repaired(text);
	pooled = json_parse_pooled(pool, text);
	if (!same_tree(ours, theirs) || !same_tree(repaired, pooled))
		abort();
	if (theirs && !memmem(text.ptr, text.len, "\\u0000", 6) &&
	    !same_tree(repaired, theirs))
		abort();
	cJSON_Delete(theirs);
	cJSON_Delete(ours);
	cJSON_Delete(repaired);
}

#endif
