/* user_index.h - replaces the index of the user's repository, as git does. */
/* SPDX-License-Identifier: MIT */
#ifndef TREE_USER_INDEX_H
#define TREE_USER_INDEX_H

#include <stdbool.h>

#include "base/error.h"

/* Makes INDEX.lock, so that no git writes meanwhile; ERR_BUSY where one does.
 * The token is in it. */
int user_index_lock(const char *index, const char *token, struct error *err);
/* Removes the lock that has this token, and what a crash left beside it. */
void user_index_unlock(const char *index, const char *token);
/* Copies a whole index file; from missing: to is removed. */
int user_index_copy(const char *from, const char *to, struct error *err);
/* True when both are there with the same bytes, or neither is. */
bool user_index_same(const char *a, const char *b);

#endif
