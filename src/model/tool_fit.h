/* tool_fit.h - converts a tool's schema to a form that a vendor accepts. */
/* SPDX-License-Identifier: MIT */
#ifndef MODEL_TOOL_FIT_H
#define MODEL_TOOL_FIT_H

#include <cjson/cJSON.h>

#include "model/tool_schema.h"

struct tool_fit { /* free with tool_fit_release() */
	char *schema;
	char *description;
	/* Properties that have another name in requests. tree: if there are
	 * any, the schema to find them in arguments; else NULL. */
	struct tool_keys keys;
	cJSON *tree;
};

/* Converts a tool's schema for a vendor. Unions at the top level become one
 * list of properties, and a sentence in the description explains them.
 * Properties with names that the vendor refuses get others. Missing keywords
 * are added. Keywords that the vendor refuses are removed or written into the
 * description. The schema comes from a server and is untrusted. -1: it cannot
 * be converted. */
int tool_fit(const struct tool_rules *rules, const struct tool_spec *spec,
	     struct tool_fit *fit);
void tool_fit_release(struct tool_fit *fit);

#endif
