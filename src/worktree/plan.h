/* plan.h - what one apply or undo changes, known before anything is written. */
/* SPDX-License-Identifier: MIT */
#ifndef WORKTREE_PLAN_H
#define WORKTREE_PLAN_H

#include "base/buf.h"
#include "worktree/git.h"
#include "worktree/treefile.h"

struct plan_change {
	unsigned id; /* its files are before/ID and after/ID */
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

/* Start from { 0 }. Texts are owned, or NULL. */
struct apply_plan {
	char *root;      /* real path of the tree */
	char *label;     /* of the sandbox whose base changes; NULL: none */
	char *token;     /* names of temporary files have it */
	char *index;     /* the user's index, to be replaced; or NULL */
	unsigned undoes; /* the record that it undoes; 0: none */
	bool unrecorded; /* the tree has all of it: there is nothing to undo */
	char base_before[GIT_OID], base_after[GIT_OID]; /* or "" */
	struct plan_change *changes;
	size_t n, cap;
	struct plan_dirs make; /* made where missing, parents first */
	struct plan_dirs drop; /* removed where empty, from the last on */
};

/* path is copied. Borrowed until the next addition. */
struct plan_change *plan_add(struct apply_plan *p, const char *path);
/* The change of a path, or NULL. */
struct plan_change *plan_find(const struct apply_plan *p, const char *path);
void plan_remove(struct apply_plan *p, size_t i);
/* Orders both lists of directories, parents first. */
void plan_sort(struct apply_plan *p);
/* Makes it the plan that undoes it. */
void plan_reverse(struct apply_plan *p);
void plan_write(const struct apply_plan *p, struct buf *out);
int plan_read(struct apply_plan *p, struct str text, struct error *err);
void plan_release(struct apply_plan *p);

struct plan_report {
	/* At path, where the plan writes, is something that the merge has not
	 * seen. */
	void (*blocked)(void *arg, const char *path);
	/* path changed after the merge has seen it. */
	void (*changed)(void *arg, const char *path);
	void *arg;
};

/*
 * Completes the plan from the tree: permissions and times of files,
 * directories to make and to drop. A change that the tree has already leaves
 * the plan. perm: of a new program (0777 without the umask).
 */
int plan_check(struct apply_plan *p, int root, mode_t perm,
	       const struct plan_report *r, struct error *err);

/* Reports what is in the directory at path, where a file shall be, and is not
 * removed by the plan. */
int plan_check_directory(struct apply_plan *p, int root, const char *path,
			 const struct plan_report *r, struct error *err);

#endif
