/* project.h - where the project of a directory begins, and whose it is. */
/* SPDX-License-Identifier: MIT */
#ifndef SKILLS_PROJECT_H
#define SKILLS_PROJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

/* The owner of the working directory; ours where that cannot be told. */
uid_t project_owner(const char *cwd);
/* Above the working directory somebody else may own what lies there: a
 * /tmp/AGENTS.md must not instruct what runs in /tmp/mine. True for what is
 * root's, our own, or that owner's. */
bool project_trusts(const struct stat *st, uid_t owner);
/* Bytes of cwd that name the nearest directory upwards with a .git in it; all
 * of it outside of a repository. */
size_t project_root(const char *cwd, uid_t owner);

#endif
