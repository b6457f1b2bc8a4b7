/* json_parse.h - parses JSON into cJSON trees. */
/* SPDX-License-Identifier: MIT */
#ifndef BASE_JSON_PARSE_H
#define BASE_JSON_PARSE_H

#include <stddef.h>

#include <cjson/cJSON.h>

#include "base/str.h"

/* Parses exactly one document; white space may follow. NULL on a syntax error,
 * other trailing bytes, or nesting beyond cJSON's limit. Like cJSON's own
 * parser it also accepts control characters in strings, invalid UTF-8 and
 * numbers like 01. Free with cJSON_Delete(). */
cJSON *json_parse(struct str text);
/* Like json_parse(), but also accepts strings that contain NUL or half a
 * surrogate pair, as after a cut between two UTF-16 code units: U+FFFD replaces
 * them. */
cJSON *json_parse_repaired(struct str text);

/* Memory for the trees of many documents, one after the other, such as the
 * events of a stream. Initialize to { 0 }. */
struct json_pool {
	struct json_block *block; /* owned: the newest one; or NULL */
	size_t used;              /* bytes of it */
};
/* Like json_parse_repaired(), with the tree in the pool: valid until the next
 * call for it, and not to be deleted or changed. */
const cJSON *json_parse_pooled(struct json_pool *pool, struct str text);
void json_parse_release(struct json_pool *pool);

/* Returns the line number of the first syntax error. */
size_t json_parse_error_line(struct str text);

#endif
