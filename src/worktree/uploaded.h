/* uploaded.h - files that the user put into a sandbox's tree himself. */
/* SPDX-License-Identifier: MIT */
#ifndef WORKTREE_UPLOADED_H
#define WORKTREE_UPLOADED_H

#include "worktree/workspace.h"

/* LABEL.uploaded: paths of the tree and what was put there, as a listing. A
 * fetch takes them for the agent's work only where they are different. Adds to
 * l, which starts from { 0 }. */
int uploaded_read(struct listing *l, const struct workspace *w,
		  struct error *err);
/* Adds what is in l, or replaces it; two dcodes at once do not undo each
 * other's. */
int uploaded_add(const struct listing *l, const struct workspace *w,
		 const struct stop *stop, struct error *err);

#endif
