/* git_impl.h - what git.c and git_args.c share; not for others. */
/* SPDX-License-Identifier: MIT */
#ifndef GIT_GIT_IMPL_H
#define GIT_GIT_IMPL_H

#include "git/git.h"

/* "git" with its settings, and argv; ends in NULL. git_free_list(). */
char **git_args(const struct git *g, const char *const *argv);
/* Its whole environment. */
char **git_env(const struct git *g);
void git_free_list(char **list);

#endif
