/* git_files.h - what git reads of a working tree without being told to. */
/* SPDX-License-Identifier: MIT */
#ifndef WORKTREE_GIT_FILES_H
#define WORKTREE_GIT_FILES_H

#include "base/error.h"

/*
 * Attack: a pipe or a device named .gitignore, below which git waits for
 * somebody who writes. ERR_CONFIG that names the first one. Looks at
 * GIT_FILES_MOST entries at most: in a larger tree git's own deadline is what
 * is left.
 */
enum { GIT_FILES_MOST = 300000 };
int git_files_check(const char *root, struct error *err);

#endif
