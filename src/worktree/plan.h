/* plan.h - the changes of an apply or undo, determined before writing. */
/* SPDX-License-Identifier: MIT */
#ifndef WORKTREE_PLAN_H
#define WORKTREE_PLAN_H

#include "base/buf.h"
#include "worktree/git.h"
#include "worktree/treefile.h"

struct plan_change {
	unsigned id; /* its contents are in before/ID and after/ID */
	char *path;  /* owned; relative to the root */
	struct treefile before, after;
};

struct plan_dir {
	char *path; /* owned */
	mode_t perm;
};

struct plan_dirs {
	struct plan_dir *list;
	size_t n;
};

/* Initialise with { 0 }. Strings are owned, or NULL. */
struct apply_plan {
	char *root; /* real path of the tree */
	/* label of the sandbox whose base is updated; NULL: none */
	char *label;
	char *token; /* part of the names of temporary files */
	/* the user's index, if it is to be replaced; or NULL */
	char *index;
	/* number of the record that this plan undoes; 0: none */
	unsigned undoes;
	/* the tree already has all changes: no record for undo is made */
	bool unrecorded;
	char base_before[GIT_OID], base_after[GIT_OID]; /* or "" */
	struct plan_change *changes;
	size_t n, cap;
	struct plan_dirs make; /* created if missing, parents first */
	struct plan_dirs drop; /* removed if empty, in reverse order */
};

/* Adds a change; path is copied. Borrowed until the next addition. */
struct plan_change *plan_add(struct apply_plan *p, const char *path);
/* Returns the change of a path, or NULL. */
struct plan_change *plan_find(const struct apply_plan *p, const char *path);
void plan_remove(struct apply_plan *p, size_t i);
/* Sorts both lists of directories, parents first. */
void plan_sort(struct apply_plan *p);
/* Turns the plan into the one that undoes it. */
void plan_reverse(struct apply_plan *p);
void plan_write(const struct apply_plan *p, struct buf *out);
int plan_read(struct apply_plan *p, struct str text, struct error *err);
void plan_release(struct apply_plan *p);

struct plan_report {
	/* Called if something unknown to the merge is at a path that the plan
	 * writes. */
	void (*blocked)(void *arg, const char *path);
	/* Called if path has changed since the merge read it. */
	void (*changed)(void *arg, const char *path);
	void *arg;
};

/*
 * Completes the plan from the tree: permissions and times of files, directories
 * to create and to remove. Removes changes that the tree already has. perm:
 * permissions of a new executable (0777 without the umask).
 */
int plan_check(struct apply_plan *p, int root, mode_t perm,
	       const struct plan_report *r, struct error *err);

/* Reports everything in the directory at path, where a file will be written,
 * that the plan does not remove. */
int plan_check_directory(struct apply_plan *p, int root, const char *path,
			 const struct plan_report *r, struct error *err);

#endif
