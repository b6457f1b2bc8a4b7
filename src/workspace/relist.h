/* relist.h - a listing brought from one commit to another. */
/* SPDX-License-Identifier: MIT */
#ifndef WORKSPACE_RELIST_H
#define WORKSPACE_RELIST_H

#include "git/git.h"
#include "git/listing.h"

/* Makes the listing of before that of after. before NULL: l is empty, and all
 * of after is read. On -1 l is as it was. */
int relist_commit(struct listing *l, const struct git *g, const char *before,
		  const char *after, const struct stop *stop,
		  struct error *err);

#endif
