/* library.h - loads a shared library at run time into a table of functions. */
/* SPDX-License-Identifier: MIT */
#ifndef BASE_LIBRARY_H
#define BASE_LIBRARY_H

#include <stddef.h>

#include "base/error.h"

/* A library that is loaded when first needed. If dcode were linked with it,
 * loading it would take most of dcode's start time. */
struct library {
	const char *name; /* the name in messages: "libcurl" */
	/* file names (sonames) to try in order; the second may be NULL */
	const char *files[2];
	/* Sonames of libraries that the first file needs, each NULL or one that
	 * may be missing. They are loaded by themselves before: the loader
	 * looks for each symbol in all libraries that are loaded together, so
	 * alone is faster. */
	const char *needs[2];
	/* Debian package, for the message that says what to install */
	const char *package;
	/* version of the library that has all symbols, for that message */
	const char *needed;
};

struct library_symbol {
	const char *name;
	size_t offset; /* of the function pointer in the table */
};

/* Loads the library and writes the addresses of the n functions into *table. On
 * -1 (ERR_SYSTEM) err says what to install, and *table may be partly filled.
 * Any thread. The library stays loaded, because its exit handlers need it. */
int library_load(const struct library *l, const struct library_symbol *symbols,
		 size_t n, void *table, struct error *err);

#endif
