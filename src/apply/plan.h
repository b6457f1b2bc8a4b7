/* plan.h - what one apply or undo changes: written down before it begins. */
/* SPDX-License-Identifier: MIT */
#ifndef APPLY_PLAN_H
#define APPLY_PLAN_H

#include "base/buf.h"
#include "git/git.h"
#include "tree/treefile.h"

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
	char *index;     /* the user's index, to be replaced; NULL: it is not */
	unsigned undoes; /* the record that it takes back; 0: none */
	bool unrecorded; /* it finds all of it there: nothing to take back */
	char base_before[GIT_OID], base_after[GIT_OID]; /* or "" */
	struct plan_change *changes;
	size_t n, cap;
	struct plan_dirs make; /* made where missing, parents first */
	struct plan_dirs drop; /* removed where empty, from the last on */
};

/* path is copied. Borrowed until the next addition. */
struct plan_change *plan_add(struct apply_plan *p, const char *path);
void plan_add_dir(struct plan_dirs *d, const char *path, mode_t perm);
/* Takes those that other has, too, out of d. */
void plan_subtract_dirs(struct plan_dirs *d, const struct plan_dirs *other);
void plan_release_dirs(struct plan_dirs *d);
/* The change of a path, or NULL. */
struct plan_change *plan_find(const struct apply_plan *p, const char *path);
void plan_remove(struct apply_plan *p, size_t i);
/* Both directory lists parents first. */
void plan_sort(struct apply_plan *p);
/* The plan that takes it back. */
void plan_reverse(struct apply_plan *p);
void plan_write(const struct apply_plan *p, struct buf *out);
int plan_read(struct apply_plan *p, struct str text, struct error *err);
void plan_release(struct apply_plan *p);

#endif
