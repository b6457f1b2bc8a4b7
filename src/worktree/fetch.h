/* fetch.h - brings what changed in a sandbox into dcode's own repository. */
/* SPDX-License-Identifier: MIT */
#ifndef WORKTREE_FETCH_H
#define WORKTREE_FETCH_H

#include "worktree/fetched.h"

/*
 * Makes w->theirs_ref a commit on top of the base with what the sandbox has
 * now. It takes one command and at most one download there; one more of each
 * if the image has no git, or with include, and again if there are new
 * .gitignore files then; and a command if uploads stay behind. The user's tree
 * is not written.
 * ERR_LIMIT: more than total_max would come. Release f in any case.
 */
int fetch_changes(struct workspace *w, const struct fetch_request *r,
		  struct fetch *f, const struct stop *stop, struct error *err);
/*
 * Gets the files of f->later, the smallest first, until total_max or until
 * stop ends: f->theirs and w->theirs_ref then have all that came. The rest is
 * in f->left, and f->later is empty. -1 with err: why it ended early.
 */
int fetch_later(struct workspace *w, const struct fetch_request *r,
		struct fetch *f, const struct stop *stop, struct error *err);
void fetch_release(struct fetch *f);

/* fetch_changes() remembers what it refused and left, beside the commit theirs.
 * This reads it again, for a sandbox that is gone: the caller sets f->theirs,
 * and nothing is added if another commit was remembered. A bare repository
 * that an earlier dcode let in is refused now: f->theirs is then a commit
 * without it. */
int fetch_recall(struct workspace *w, struct fetch *f, const struct stop *stop,
		 struct error *err);

#endif
