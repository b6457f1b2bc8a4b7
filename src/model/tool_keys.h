/* tool_keys.h - properties of a schema whose names a vendor refuses. */
/* SPDX-License-Identifier: MIT */
#ifndef MODEL_TOOL_KEYS_H
#define MODEL_TOOL_KEYS_H

#include <cjson/cJSON.h>

#include "model/tool_rules.h"

struct tool_key { /* a property's name: the server's, and as it is sent */
	char *own, *sent;
};
struct tool_keys { /* from { 0 }; tool_keys_release() */
	struct tool_key *list;
	size_t n;
};

/* Gives the properties of a schema, at any depth, names that the vendor takes:
 * "filter[a]" is sent as "filter_a". -1: there are too many of them. */
int tool_keys_fit(const struct tool_rules *rules, cJSON *schema,
		  struct tool_keys *keys);
/* Arguments of the fitted schema with the server's names for those that were
 * sent, or (to_own false) the other way; owned. NULL: nothing changes. Members
 * that the schema does not name are left alone. */
char *tool_keys_args(const struct tool_keys *keys, const cJSON *schema,
		     const char *args, bool to_own);
void tool_keys_release(struct tool_keys *keys);

#endif
