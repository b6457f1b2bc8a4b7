/* tree_index.h - an index of dcode's own, to make one tree of another. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_SESSION_TREE_INDEX_H
#define CMD_SESSION_TREE_INDEX_H

#include "git/git.h"

struct tree_index {
	struct git git;
	char *file;      /* owned */
	struct buf info; /* changes not made yet */
};

/* As a file of this name in a directory of dcode's. */
void tree_index_init(struct tree_index *t, const struct git *g,
		     const char *directory, const char *name);
void tree_index_release(struct tree_index *t);
/* Fills it from a tree or commit. */
int tree_index_read(struct tree_index *t, const char *tree,
		    const struct stop *stop, struct error *err);
/* These take effect with tree_index_update(). */
void tree_index_forget(struct tree_index *t, struct str path);
void tree_index_set(struct tree_index *t, struct str mode, struct str oid,
		    struct str path);
int tree_index_update(struct tree_index *t, const struct stop *stop,
		      struct error *err);
int tree_index_write(struct tree_index *t, char tree[GIT_OID],
		     const struct stop *stop, struct error *err);

#endif
