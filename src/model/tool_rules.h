/* tool_rules.h - what each vendor takes of tools, as data. */
/* SPDX-License-Identifier: MIT */
#ifndef MODEL_TOOL_RULES_H
#define MODEL_TOOL_RULES_H

#include "model/model.h"

/* A request with one tool outside these limits is refused as a whole. */
struct tool_rules {
	/* The requests that the row is for: those of this wire and, where they
	 * are not NULL, of this provider and of models whose name has this
	 * text in it. */
	const char *wire, *provider, *model;
	size_t tools;       /* most in one request; 0: no limit is known */
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
	bool bare_arrays;   /* arrays that do not say what is in them */
	bool refs;          /* $ref to an entry of $defs */
	bool type_lists;    /* "type": ["string", "null"] */
	bool any_enum;      /* enum of values that are not strings, and const */
	bool untyped;       /* a schema that has no type */
	bool additional;    /* additionalProperties */
	unsigned depth;     /* most schemas within each other */
	/* The only keywords that are taken, NULL-terminated; NULL: any. */
	const char *const *keywords;
};

/* The first row that fits; every wire has one. */
const struct tool_rules *tool_rules_find(const struct model_choice *c);

#endif
