/* tool_fit.h - converts a tool's schema to a form that a vendor accepts. */
/* SPDX-License-Identifier: MIT */
#ifndef MODEL_TOOL_FIT_H
#define MODEL_TOOL_FIT_H

#include <cjson/cJSON.h>

#include "model/tool_schema.h"

struct tool_fit { /* tool_fit_release() */
	char *schema;
	char *description;
	/* Properties that have another name in requests. If there are any: the
	 * schema used to find them, else NULL. */
	struct tool_keys keys;
	cJSON *tree;
};

/* Converts a schema for a vendor. Top-level unions become one list of
 * properties and a sentence in the description. Properties with refused names
 * get others. Missing keywords are added; refused ones are removed or
 * described. The schema comes from a server and is untrusted. -1: it cannot be
 * converted. */
int tool_fit(const struct tool_rules *rules, const struct tool_spec *spec,
	     struct tool_fit *fit);
void tool_fit_release(struct tool_fit *fit);

#endif
