/* tool_schema.h - the parts of a JSON Schema. */
/* SPDX-License-Identifier: MIT */
#ifndef MODEL_TOOL_SCHEMA_H
#define MODEL_TOOL_SCHEMA_H

#include <stdbool.h>

#include <cjson/cJSON.h>

typedef void tool_schema_visit(void *arg, cJSON *schema, unsigned depth);

/* Calls visit with each schema that is a direct part of this one, which is
 * itself at depth. visit may change what it is given, and nothing else. */
void tool_schema_each(cJSON *schema, unsigned depth, tool_schema_visit *visit,
		      void *arg);
/* What a reference within root leads to ("#/$defs/Page"), or NULL. */
const cJSON *tool_schema_resolve(const cJSON *root, const char *ref);

/* The keywords of lists of schemas that a value has to match. */
struct tool_union {
	const char *name, *how;
	bool all; /* of them count */
};
extern const struct tool_union tool_unions[]; /* a NULL name ends */

#endif
