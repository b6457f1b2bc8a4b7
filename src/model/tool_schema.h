/* tool_schema.h - JSON Schemas of tools: vendors' limits, traversal,
 * renaming. */
/* SPDX-License-Identifier: MIT */
#ifndef MODEL_TOOL_SCHEMA_H
#define MODEL_TOOL_SCHEMA_H

#include <stdbool.h>

#include <cjson/cJSON.h>

#include "model/model.h"

typedef void tool_schema_visit(void *arg, cJSON *schema, unsigned depth);

/* Calls visit for each schema that is a direct part of the given one. depth is
 * that of the given one; visit gets depth + 1. visit may change the schema that
 * it receives, but no other. */
void tool_schema_each(cJSON *schema, unsigned depth, tool_schema_visit *visit,
		      void *arg);
/* Returns what a reference ("#/$defs/Page") refers to in root, or NULL. */
const cJSON *tool_schema_resolve(const cJSON *root, const char *ref);

/* A keyword whose value is a list of schemas: oneOf, anyOf or allOf. */
struct tool_union {
	const char *name, *how;
	bool all; /* a value must match every schema in the list */
};
extern const struct tool_union tool_unions[]; /* ends with a NULL name */

/* Limits of a vendor for tools. If one tool exceeds them, the vendor refuses
 * the whole request. */
struct tool_rules {
	/* The row applies to this wire, to this provider and to models whose
	 * name contains `model`. NULL: any. */
	const char *wire, *provider, *model;
	size_t tools; /* maximum per request; 0: no known limit */
	/* maximum length of a tool's name, which has only letters, digits, "_"
	 * and "-" */
	size_t name;
	bool name_letter;   /* a tool's name must begin with a letter or "_" */
	size_t description; /* maximum characters of a tool's description; 0:
			     * no limit */
	/* characters allowed in a property's name in addition to letters,
	 * digits and "_" */
	const char *key;
	size_t key_max;   /* maximum length of a property's name */
	bool key_letter;  /* a property's name must begin with a letter or
			   * "_" */
	bool top_unions;  /* allows oneOf, anyOf, allOf, not, enum, if at
			   * the top level */
	bool top_plain;   /* allows only type, properties and required at
			   * the top level */
	bool bare_arrays; /* allows arrays without "items" */
	bool refs;        /* allows $ref to an entry of $defs */
	bool type_lists;  /* allows "type": ["string", "null"] */
	bool any_enum;    /* allows const, and enum with values that are
			   * not strings */
	bool untyped;     /* allows a schema without a type */
	bool additional;  /* allows additionalProperties */
	unsigned depth;   /* maximum nesting of schemas */
	/* The only accepted keywords, NULL-terminated; NULL: any. */
	const char *const *keywords;
};

/* Returns the first row that applies; the last row applies to every model. */
const struct tool_rules *tool_rules_find(const struct model_choice *c);

struct tool_keys { /* initialize to { 0 }; free with tool_keys_release() */
	struct tool_key { /* a renamed property */
		/* the server's own name, and the name in requests */
		char *own, *sent;
	} * list;
	size_t n;
};

/* Renames properties at any depth whose names the vendor refuses: "filter[a]"
 * is sent as "filter_a". -1: there are too many. */
int tool_keys_fit(const struct tool_rules *rules, cJSON *schema,
		  struct tool_keys *keys);
/* Renames arguments. to_own: from the names in requests to the server's own;
 * else the other way. schema is the converted one; members that it does not
 * have keep their names. Owned; NULL: nothing to rename. */
char *tool_keys_args(const struct tool_keys *keys, const cJSON *schema,
		     const char *args, bool to_own);
void tool_keys_release(struct tool_keys *keys);

#endif
