/* gitlinks.h - the submodules of an index: their files are no part of it. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_SESSION_GITLINKS_H
#define CMD_SESSION_GITLINKS_H

#include "git/git.h"

struct gitlinks {
	char **paths; /* owned */
	size_t n;
};

/* Adds those of g's index. */
int gitlinks_read(struct gitlinks *l, const struct git *g,
		  const struct stop *stop, struct error *err);
/* Whether path is a submodule, or in one, or, as a file, would be in its
 * place: to add such a path to an index removes the submodule from it. */
bool gitlinks_touch(const struct gitlinks *l, const char *path);
void gitlinks_release(struct gitlinks *l);

#endif
