/* library.h - loads a shared library at run time into a table of functions. */
/* SPDX-License-Identifier: MIT */
#ifndef BASE_LIBRARY_H
#define BASE_LIBRARY_H

#include <stddef.h>

#include "base/error.h"

/* A library that is not linked, because loading it would take most of dcode's
 * start time. It is loaded when first needed. */
struct library {
	const char *name;     /* the name in messages: "libcurl" */
	const char *files[2]; /* sonames to try in order, or NULL */
	const char *package;  /* the Debian package */
	const char *needed;   /* the first version that has all symbols */
};

struct library_symbol {
	const char *name;
	size_t offset; /* of the function pointer in the table */
};

/* Loads the library and fills the n members of *table. On -1 (ERR_SYSTEM) err
 * says what to install, and *table may be partly filled. Any thread. The
 * library stays loaded, since its exit handlers need it. */
int library_load(const struct library *l, const struct library_symbol *symbols,
		 size_t n, void *table, struct error *err);

#endif
