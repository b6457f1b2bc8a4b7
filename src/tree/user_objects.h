/* user_objects.h - the objects of the user's repository, for git to read. */
/* SPDX-License-Identifier: MIT */
#ifndef TREE_USER_OBJECTS_H
#define TREE_USER_OBJECTS_H

#include "tree/user_repo.h"

/*
 * The directory for struct git's objects, owned; NULL without a repository, or
 * with err. It and its alternates hold regular files alone: git waits for good
 * where it opens a pipe.
 */
char *user_objects_open(const struct user_repo *u, struct error *err);

#endif
