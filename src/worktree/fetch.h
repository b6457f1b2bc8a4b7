/* fetch.h - fetches a sandbox's changes into dcode's own repository. */
/* SPDX-License-Identifier: MIT */
#ifndef WORKTREE_FETCH_H
#define WORKTREE_FETCH_H

#include "worktree/fetched.h"

/*
 * Makes w->theirs_ref a commit on top of the base with the sandbox's current
 * files. It takes one command and at most one download. If the sandbox has no
 * git, or with --include patterns, it takes one more of each, and again if
 * there are new .gitignore files. If uploads are not fetched, it takes one more
 * command. The user's tree is not written. ERR_LIMIT: more than total_max would
 * be fetched. Release f in any case.
 */
int fetch_changes(struct workspace *w, const struct fetch_request *r,
		  struct fetch *f, const struct stop *stop, struct error *err);
/*
 * Gets the files of f->later, smallest first, until total_max is reached or
 * stop ends the fetch. Then f->theirs and w->theirs_ref contain all files that
 * were fetched, the rest is in f->left, and f->later is empty. -1 with err: why
 * it ended early.
 */
int fetch_later(struct workspace *w, const struct fetch_request *r,
		struct fetch *f, const struct stop *stop, struct error *err);
void fetch_release(struct fetch *f);

/* For a sandbox that is gone: reads which files the last fetch_changes()
 * refused and left, as stored with the commit that it made. The caller sets
 * f->theirs; nothing is added if that is another commit. A bare repository that
 * an earlier version of dcode accepted is refused now: f->theirs is then a
 * commit without it. */
int fetch_recall(struct workspace *w, struct fetch *f, const struct stop *stop,
		 struct error *err);

#endif
