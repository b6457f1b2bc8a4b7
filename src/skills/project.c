/* project.c - where the project of a directory begins, and whose it is. */
/* SPDX-License-Identifier: MIT */
#include "skills/project.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"

enum { MOST_LEVELS = 64 }; /* directories up to the root */

uid_t project_owner(const char *cwd)
{
	struct stat st;

	return stat(cwd, &st) == 0 ? st.st_uid : geteuid();
}

bool project_trusts(const struct stat *st, uid_t owner)
{
	return st->st_uid == 0 || st->st_uid == geteuid() ||
	       st->st_uid == owner;
}

size_t project_root(const char *cwd, uid_t owner)
{
	size_t len = strlen(cwd);

	for (int level = 0; level < MOST_LEVELS && len; level++) {
		char *git = xasprintf("%.*s/.git", (int)len, cwd);
		struct stat st;
		bool found = lstat(git, &st) == 0 && project_trusts(&st, owner);

		free(git);
		if (found)
			return len;
		while (len && cwd[--len] != '/')
			;
	}
	return strlen(cwd);
}
