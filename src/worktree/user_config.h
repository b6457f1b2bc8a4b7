/* user_config.h - reads the user's own git configuration. */
/* SPDX-License-Identifier: MIT */
#ifndef WORKTREE_USER_CONFIG_H
#define WORKTREE_USER_CONFIG_H

#include <stdbool.h>

#include "worktree/user_repo.h"

/*
 * Replaces out by the value of key in ~/.gitconfig and in the file git/config
 * of the user's configuration directory, as git would find it in this
 * repository: with included files, and those of the includeIf conditions
 * gitdir, gitdir/i and onbranch. Empty values do not count. False if there is
 * none. g runs git to parse files, outside of the repository.
 */
bool user_config_value(const struct user_repo *u, const char *home,
		       const char *key, const struct git *g, struct buf *out,
		       const struct stop *stop);

#endif
