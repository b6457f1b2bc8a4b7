/* snapshot.h - the user's tree as it is now, as a commit of dcode's own. */
/* SPDX-License-Identifier: MIT */
#ifndef WORKSPACE_SNAPSHOT_H
#define WORKSPACE_SNAPSHOT_H

#include "workspace/select.h"

/*
 * The selection that a sandbox would get, with r->extra, as a commit whose
 * parent is the base (if there is one): raw bytes. ref names it from then on.
 * read: gets what is in it; NULL is fine.
 */
int workspace_snapshot(struct workspace *w, const struct select_request *r,
		       const char *ref, struct listing *read,
		       char commit[GIT_OID], const struct stop *stop,
		       struct error *err);

#endif
