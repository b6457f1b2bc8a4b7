/* git_impl.h - what the parts of git share; not for others. */
/* SPDX-License-Identifier: MIT */
#ifndef GIT_GIT_IMPL_H
#define GIT_GIT_IMPL_H

#include "git/git.h"

/* "git" with its settings, and argv; ends in NULL. git_free_list(). */
char **git_args(const struct git *g, const char *const *argv);
/* Its whole environment. */
char **git_env(const struct git *g);
void git_free_list(char **list);

/* Removes locks of references in the repository dir that a killed git left, so
 * that they can be written again; waits for those that may be held. */
void git_locks_drop(const char *dir, const struct stop *stop);

#endif
