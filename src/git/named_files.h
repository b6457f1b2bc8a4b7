/* named_files.h - the files of one name in a tree, written to a directory. */
/* SPDX-License-Identifier: MIT */
#ifndef GIT_NAMED_FILES_H
#define GIT_NAMED_FILES_H

#include <stdbool.h>

#include "git/git.h"

struct named_files {      /* all borrowed */
	const char *name; /* ".gitignore" */
	const char *tree; /* or commit */
	struct str first; /* what goes before the lines of the top one; with it
			     that file is always made */
	/* Paths that are left out; NULL: none. */
	bool (*skip)(const char *path);
};

/*
 * Writes them below directory, which holds no links and is made, for git to
 * read; links of that name are left out, as git does. Of a file the first MiB,
 * of a tree the first 10,000 and what of these is in its first 64 MiB of such
 * files. Three gits in all. *n, which may be NULL, counts them.
 */
int named_files_write(const struct named_files *f, const struct git *g,
		      const char *directory, size_t *n, const struct stop *stop,
		      struct error *err);

#endif
