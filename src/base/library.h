/* library.h - a shared library as a table of functions, loaded at run time. */
/* SPDX-License-Identifier: MIT */
#ifndef BASE_LIBRARY_H
#define BASE_LIBRARY_H

#include <stddef.h>

#include "base/error.h"

/* A library that costs more than the rest of a start is not linked: what
 * needs it loads it. */
struct library {
	const char *name;     /* as messages have it: "libcurl" */
	const char *files[2]; /* sonames, the first that is there; or NULL */
	const char *package;  /* of Debian, that has it */
	const char *needed;   /* the oldest version that has all symbols */
};

struct library_symbol {
	const char *name;
	size_t offset; /* in the table, of a pointer to a function */
};

/* Fills the n members of *table. -1 with what to install (ERR_SYSTEM); *table
 * may then be filled in part. Any thread; the library stays loaded, for its
 * own exit handlers need it. */
int library_load(const struct library *l, const struct library_symbol *symbols,
		 size_t n, void *table, struct error *err);

#endif
