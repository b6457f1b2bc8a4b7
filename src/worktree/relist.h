/* relist.h - a listing brought from one commit to another. */
/* SPDX-License-Identifier: MIT */
#ifndef WORKTREE_RELIST_H
#define WORKTREE_RELIST_H

#include "worktree/git.h"
#include "worktree/listing.h"

/* Makes the listing of before that of after. before NULL: l is empty, and all
 * of after is read. On -1 l is as it was. */
int relist_commit(struct listing *l, const struct git *g, const char *before,
		  const char *after, const struct stop *stop,
		  struct error *err);

#endif
