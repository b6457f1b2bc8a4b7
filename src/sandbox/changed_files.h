/* changed_files.h - writes which files a command changed. */
/* SPDX-License-Identifier: MIT */
#ifndef SANDBOX_CHANGED_FILES_H
#define SANDBOX_CHANGED_FILES_H

#include "base/buf.h"

/* The text is "a.c, b.c and 3 more (+12 -3)", with a minus sign (U+2212).
 * Initialise with { .out = the buffer for the text }. */
struct changed_files {
	struct buf *out; /* borrowed */
	size_t n;        /* changed files */
	size_t shown;    /* those of them whose names are in out */
	size_t added, removed;
	bool counted; /* added and removed are known */
};

/* Adds a file. Its name, relative to the tree, may be any bytes. Only the first
 * five are written. */
void changed_files_add(struct changed_files *l, struct str path);
/* Call at the end: appends how many more there are, and the lines. */
void changed_files_end(struct changed_files *l);

#endif
