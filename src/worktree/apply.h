/* apply.h - brings what a sandbox changed onto the user's tree, and undoes it.
 */
/* SPDX-License-Identifier: MIT */
#ifndef WORKTREE_APPLY_H
#define WORKTREE_APPLY_H

#include "base/mask/mask.h"
#include "worktree/journal.h"
#include "worktree/merge.h"

struct apply_file {
	char *path;    /* owned */
	char letter;   /* 'A', 'M' or 'D' */
	bool secret;   /* it holds a value that is masked */
	bool unstaged; /* --index left it out */
};

struct apply_request {
	const struct git *git; /* with base, ours and theirs */
	const char *label;     /* of the sandbox; NULL: no base changes */
	const char *base;      /* commits or trees */
	const char *ours;      /* of the tree as it is now */
	const char *theirs;    /* the sandbox's */
	struct merge_attributes attributes;
	const char *base_before; /* what label's base is; with label */
	const struct mask *mask; /* known secrets, or NULL */
	bool conflicts;          /* write them with markers */
	/* With --index: the user's index (absolute), and a function that makes
	 * the new one, in the file after, from it and the written tree. It may
	 * mark files as unstaged. Else NULL. */
	const char *index;
	int (*stage)(void *arg, const char *before, const char *after,
		     struct apply_file *files, size_t n, struct error *err);
	void *stage_arg;
};

struct apply_result {       /* start from { 0 }; apply_result_release() */
	bool applied;       /* the tree is now as merged */
	struct merge merge; /* its conflicts */
	char **blocked;     /* files that are in the way, not in the merge */
	size_t n_blocked;
	char **changed; /* since ours was read */
	size_t n_changed;
	char **kept; /* the sandbox's version is not in the written tree:
			the base does not move there */
	size_t n_kept;
	bool index_changed;       /* so that it was not restored */
	bool unstaged;            /* an undo has replaced the index */
	struct apply_file *files; /* written, or what would have been */
	size_t n;
};

/*
 * Merges, and writes the result through the open journal j. Nothing is written
 * if there are conflicts (unless asked for), files in the way, or files that
 * changed meanwhile: the result is 0, without r->applied. On -1 everything is
 * undone.
 */
int apply_merge(struct apply_result *r, struct journal *j,
		const struct apply_request *q, const struct stop *stop,
		struct error *err);

/* Three indexes, for an apply with --index whose index has changed since. */
struct apply_unstage {
	const char *before;  /* the index before that apply; may be missing */
	const char *applied; /* as it wrote it */
	const char *to;      /* the new one, to be made of the user's */
};

struct apply_undo_request { /* all borrowed */
	bool force;
	/* 1: it made q->to; 0: the index stays unchanged; -1. */
	int (*unstage)(void *arg, const struct apply_unstage *q,
		       struct error *err);
	void *arg;
};

/*
 * Undoes the last apply: bytes, permissions, times, the index. Files that the
 * user changed since are listed in r->changed and left; with force they are
 * restored, too. An index that changed since stays (r->index_changed). Another
 * undo can undo what was left. The base becomes what it was before that apply,
 * so that the next apply brings the changes again.
 */
int apply_undo(struct apply_result *r, struct journal *j,
	       const struct apply_undo_request *q, struct error *err);

void apply_result_release(struct apply_result *r);
void apply_add_path(char ***list, size_t *n, const char *path);

#endif
