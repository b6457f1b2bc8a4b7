/* apply.h - applies a sandbox's changes to the user's tree, and undoes that. */
/* SPDX-License-Identifier: MIT */
#ifndef WORKTREE_APPLY_H
#define WORKTREE_APPLY_H

#include "base/mask/mask.h"
#include "worktree/journal.h"
#include "worktree/merge.h"

struct apply_file {
	char *path;    /* owned */
	char letter;   /* 'A', 'M' or 'D' */
	bool secret;   /* it contains a known secret */
	bool unstaged; /* with --index: its change is not in the index */
};

struct apply_request {
	const struct git *git; /* repository with the merge and its sides */
	/* label of the sandbox whose base is updated; NULL: none */
	const char *label;
	const char *base;        /* these three are commits or trees */
	const char *ours;        /* the tree's current state */
	const char *theirs;      /* the sandbox's state */
	const char *base_before; /* current base of label; only with label */
	const struct mask *mask; /* known secrets, or NULL */
	bool conflicts;          /* write conflicts with markers */
	/* For --index: the user's index (absolute path), and a function that
	 * writes a new index to the file `after`, made from the index in the
	 * file `before` and the written tree. It may set unstaged in files.
	 * NULL without --index. */
	const char *index;
	int (*stage)(void *arg, const char *before, const char *after,
		     struct apply_file *files, size_t n, struct error *err);
	void *stage_arg;
};

/* initialise with { 0 }; call apply_result_release() at the end */
struct apply_result {
	bool applied; /* the merged tree was written */
	/* merge of the request's three sides, computed by the caller before
	 * apply_merge() */
	struct merge merge;
	/* files that are in the way of the merge but not part of it */
	char **blocked;
	size_t n_blocked;
	char **changed; /* files that changed after request.ours was read */
	size_t n_changed;
	/* paths whose sandbox version was not written: their base stays
	 * unchanged */
	char **kept;
	size_t n_kept;
	/* the user has changed the index since the apply, so the undo did not
	 * restore it */
	bool index_changed;
	bool unstaged; /* the undo replaced the user's index */
	/* files that were written, or would have been */
	struct apply_file *files;
	size_t n;
};

/*
 * Writes r->merge through the open journal j. If there are conflicts (without
 * q->conflicts), files in the way, or files that changed meanwhile, nothing is
 * written: the result is 0 without r->applied. On -1 everything is undone.
 */
int apply_merge(struct apply_result *r, struct journal *j,
		const struct apply_request *q, const struct stop *stop,
		struct error *err);

/* Three index files, to undo an apply with --index if the user has changed the
 * index since. */
struct apply_unstage {
	const char *before;  /* index before that apply; may not exist */
	const char *applied; /* index written by that apply */
	/* new index file, to be made from the user's current one */
	const char *to;
};

struct apply_undo_request { /* all borrowed */
	bool force;
	/* Writes the index q->to. Returns 1; 0 if the index must stay
	 * unchanged; -1. */
	int (*unstage)(void *arg, const struct apply_unstage *q,
		       struct error *err);
	void *arg;
};

/*
 * Undoes the last apply: contents, permissions, times, the index. Files that
 * the user has changed since are listed in r->changed and stay; with force they
 * are restored too. If the index was changed since, it stays
 * (r->index_changed). Another undo can undo what was left. The base is reset to
 * what it was before that apply, so that the next apply offers the changes
 * again.
 */
int apply_undo(struct apply_result *r, struct journal *j,
	       const struct apply_undo_request *q, struct error *err);

void apply_result_release(struct apply_result *r);
void apply_add_path(char ***list, size_t *n, const char *path);

#endif
