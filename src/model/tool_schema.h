/* tool_schema.h - JSON Schemas of tools: vendors' limits, traversal,
 * renaming. */
/* SPDX-License-Identifier: MIT */
#ifndef MODEL_TOOL_SCHEMA_H
#define MODEL_TOOL_SCHEMA_H

#include <stdbool.h>

#include <cjson/cJSON.h>

#include "model/model.h"

typedef void tool_schema_visit(void *arg, cJSON *schema, unsigned depth);

/* Calls visit for each schema that is a direct part of this one, which is at
 * depth. visit may change the schema that it receives, but no other. */
void tool_schema_each(cJSON *schema, unsigned depth, tool_schema_visit *visit,
		      void *arg);
/* Returns the target of a reference within root ("#/$defs/Page"), or NULL. */
const cJSON *tool_schema_resolve(const cJSON *root, const char *ref);

/* Keywords with a list of schemas that a value must match. */
struct tool_union {
	const char *name, *how;
	bool all; /* the value must match every schema in the list */
};
extern const struct tool_union tool_unions[]; /* ends with a NULL name */

/* Limits of a vendor. One tool outside them makes it refuse the whole
 * request. */
struct tool_rules {
	/* The row applies to this wire, this provider and models whose name
	 * contains this text; NULL: any. */
	const char *wire, *provider, *model;
	size_t tools;       /* maximum per request; 0: no known limit */
	size_t name;        /* maximum length of a tool's name, of letters,
			     * digits, "_" and "-" */
	bool name_letter;   /* a name must begin with a letter or "_" */
	size_t description; /* maximum characters of a tool's description; 0:
			     * no limit */
	const char *key;    /* characters allowed in a property's name
			     * besides letters, digits and "_" */
	size_t key_max;     /* maximum length of a property's name */
	bool key_letter;    /* a property's name must begin with a letter or
			     * "_" */
	bool top_unions;    /* allows oneOf, anyOf, allOf, not, enum, if at
			     * the top level */
	bool top_plain;     /* allows only type, properties and required at
			     * the top level */
	bool bare_arrays;   /* allows arrays without "items" */
	bool refs;          /* allows $ref to an entry of $defs */
	bool type_lists;    /* allows "type": ["string", "null"] */
	bool any_enum;      /* allows const, and enum with values that are
			     * not strings */
	bool untyped;       /* allows a schema without a type */
	bool additional;    /* allows additionalProperties */
	unsigned depth;     /* maximum nesting of schemas */
	/* The only accepted keywords, NULL-terminated; NULL: any. */
	const char *const *keywords;
};

/* Returns the first row that matches; every wire has one. */
const struct tool_rules *tool_rules_find(const struct model_choice *c);

struct tool_keys {                /* initialize to { 0 }; tool_keys_release() */
	struct tool_key {         /* a renamed property */
		char *own, *sent; /* the server's name, and the one in
				   * requests */
	} * list;
	size_t n;
};

/* Renames properties at any depth to names that the vendor accepts: "filter[a]"
 * is sent as "filter_a". -1: there are too many. */
int tool_keys_fit(const struct tool_rules *rules, cJSON *schema,
		  struct tool_keys *keys);
/* Translates argument names from those in requests to the server's, or back
 * (to_own false). schema is the fitted one; members that it does not name are
 * unchanged. Owned; NULL: no change. */
char *tool_keys_args(const struct tool_keys *keys, const cJSON *schema,
		     const char *args, bool to_own);
void tool_keys_release(struct tool_keys *keys);

#endif
