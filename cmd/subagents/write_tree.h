/* write_tree.h - makes a sandbox's files those of another commit. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_SUBAGENTS_WRITE_TREE_H
#define CMD_SUBAGENTS_WRITE_TREE_H

#include "git/git.h"
#include "git/merge.h"
#include "sandbox/sandbox.h"

struct write_tree { /* borrowed, but for the counts */
	const struct git *git;
	const char *before; /* what is there now: a commit or tree */
	const char *after;
	const struct merge *skip; /* paths of its conflicts stay; or NULL */
	struct sandbox *sandbox;
	struct buf *names;       /* gets "M path\n" of each; or NULL */
	size_t changed, deleted; /* out */
};

/* Deletes what after has not, then writes what differs; links last. */
int write_tree(struct write_tree *w, const struct stop *stop,
	       struct error *err);

#endif
