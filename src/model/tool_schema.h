/* tool_schema.h - JSON Schemas of tools: vendors' limits, and their parts. */
/* SPDX-License-Identifier: MIT */
#ifndef MODEL_TOOL_SCHEMA_H
#define MODEL_TOOL_SCHEMA_H

#include <stdbool.h>

#include <cjson/cJSON.h>

#include "model/model.h"

typedef void tool_schema_visit(void *arg, cJSON *schema, unsigned depth);

/* Calls visit with each schema that is a direct part of this one, which is
 * itself at depth. visit may change the schema that it gets, and no other. */
void tool_schema_each(cJSON *schema, unsigned depth, tool_schema_visit *visit,
		      void *arg);
/* What a reference within root leads to ("#/$defs/Page"), or NULL. */
const cJSON *tool_schema_resolve(const cJSON *root, const char *ref);

/* The keywords of lists of schemas that a value has to match. */
struct tool_union {
	const char *name, *how;
	bool all; /* the value has to match every schema of the list */
};
extern const struct tool_union tool_unions[]; /* a NULL name ends */

/* A request with one tool outside these limits is refused as a whole. */
struct tool_rules {
	/* Which requests the row is for: of this wire, of this provider, of
	 * models whose name contains this text; NULL: any. */
	const char *wire, *provider, *model;
	size_t tools;       /* most in one request; 0: no known limit */
	size_t name;        /* most characters of a tool's name, which has only
			       letters, digits, "_" and "-" */
	bool name_letter;   /* it must begin with a letter or "_" */
	size_t description; /* most characters of a tool's; 0: no limit */
	const char *key;    /* characters of a property's name, beside letters,
			       digits and "_" */
	size_t key_max;     /* most characters of it */
	bool key_letter;    /* it must begin with a letter or "_" */
	bool top_unions;    /* oneOf, anyOf, allOf, not, enum, if on top */
	bool top_plain;     /* on top only type, properties and required */
	bool bare_arrays;   /* arrays without "items" */
	bool refs;          /* $ref to an entry of $defs */
	bool type_lists;    /* "type": ["string", "null"] */
	bool any_enum;      /* enum of values that are not strings, and const */
	bool untyped;       /* a schema that has no type */
	bool additional;    /* additionalProperties */
	unsigned depth;     /* most schemas within each other */
	/* The only accepted keywords, NULL-terminated; NULL: any. */
	const char *const *keywords;
};

/* The first row that matches; every wire has one. */
const struct tool_rules *tool_rules_find(const struct model_choice *c);

struct tool_keys {                /* from { 0 }; tool_keys_release() */
	struct tool_key {         /* a property's name */
		char *own, *sent; /* the server's, and the one in requests */
	} * list;
	size_t n;
};

/* Gives the properties of a schema, at any depth, names that the vendor
 * accepts: "filter[a]" is sent as "filter_a". -1: there are too many of them.
 */
int tool_keys_fit(const struct tool_rules *rules, cJSON *schema,
		  struct tool_keys *keys);
/* Translates arguments from the sent names to the server's, or (to_own false)
 * back. schema is the fitted one; members that it does not name stay. Owned;
 * NULL: nothing changes. */
char *tool_keys_args(const struct tool_keys *keys, const cJSON *schema,
		     const char *args, bool to_own);
void tool_keys_release(struct tool_keys *keys);

#endif
