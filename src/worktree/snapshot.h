/* snapshot.h - the user's tree as it is now, as a commit of dcode's own. */
/* SPDX-License-Identifier: MIT */
#ifndef WORKTREE_SNAPSHOT_H
#define WORKTREE_SNAPSHOT_H

#include "worktree/select.h"

struct snapshot {
	const char *ref;      /* names the commit from then on */
	struct listing *read; /* out: what is in it; NULL is fine */
	char commit[GIT_OID]; /* out */
};
/*
 * The selection that a sandbox would get, with r->extra, as a commit whose
 * parent is the base (if there is one): raw bytes.
 */
int workspace_snapshot(struct workspace *w, const struct select_request *r,
		       struct snapshot *snapshot, const struct stop *stop,
		       struct error *err);

#endif
