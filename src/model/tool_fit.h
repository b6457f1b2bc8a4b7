/* tool_fit.h - a tool's schema in the form that a vendor accepts. */
/* SPDX-License-Identifier: MIT */
#ifndef MODEL_TOOL_FIT_H
#define MODEL_TOOL_FIT_H

#include <cjson/cJSON.h>

#include "model/tool_schema.h"

struct tool_fit { /* tool_fit_release() */
	char *schema;
	char *description;
	/* Properties with another name in requests. If there are any: the
	 * schema by which they are found; else NULL. */
	struct tool_keys keys;
	cJSON *tree;
};

/*
 * Makes a schema fit a vendor: unions on top become one list of properties and
 * a sentence in the description, properties with names that the vendor refuses
 * get others, missing keywords are added, refused ones are removed or
 * described. A server wrote the schema: it may be anything. -1: it cannot be
 * made to fit.
 */
int tool_fit(const struct tool_rules *rules, const struct tool_spec *spec,
	     struct tool_fit *fit);
void tool_fit_release(struct tool_fit *fit);

#endif
