/* rewrite_read.h - the last commits of the user's repository, and what of them
 * may be sent. */
/* SPDX-License-Identifier: MIT */
#ifndef WORKTREE_REWRITE_READ_H
#define WORKTREE_REWRITE_READ_H

#include "sandbox/files/glob_match.h"
#include "worktree/name.h"
#include "worktree/select.h"

struct old_commit {
	char oid[GIT_OID];
	char tree[GIT_OID];
	char fresh[GIT_OID]; /* the new one */
	char *text;          /* owned: as git has it, ends in NUL */
	size_t text_len;
	size_t parents, n_parents; /* in rewrite.parents */
	size_t changes, n_changes; /* in rewrite.changes */
	size_t visited;            /* parents, by the sort */
	bool reached;              /* by the sort */
	bool absent;               /* its tree is not here: as if cut off */
	bool altered;              /* a name or the message was changed */
};

/* One path of a commit, against its first parent here. */
struct tree_change {
	size_t path;   /* in rewrite.paths */
	size_t blob;   /* in rewrite.blobs */
	unsigned mode; /* 0: deleted */
	bool asked;    /* --include names it */
};

struct old_blob {
	char oid[GIT_OID];
	bool is_missing;
	bool is_secret; /* by content or size */
};

struct rewrite {
	const struct workspace *w;
	int64_t most; /* commits */
	const char *const *include;
	size_t n_include;
	const struct stop *stop;
	size_t missing; /* out: blobs that a partial clone does not have */
	/* Not for rewrite_read(). */
	const struct rewrite_request *r;
	struct rewritten *out;
	struct user_repo user;
	struct git git; /* of a store of its own, with the user's objects */
	char *dir;      /* owned: that store */
	char *objects;  /* owned */
	struct glob **globs;
	struct old_commit *commits; /* as rev-list has them: newest first */
	size_t n;
	size_t *parents; /* indexes of commits */
	size_t n_parents;
	size_t *order; /* indexes of commits, parents before children */
	struct tree_change *changes;
	size_t n_changes;
	struct buf paths;       /* each with NUL */
	struct bare_repos bare; /* of every path that a commit brings */
	struct old_blob *blobs; /* sorted by oid once they are checked */
	size_t n_blobs;
};

/* Reads the commits and their order, and what each changes, without the paths
 * that are never sent; and marks the blobs that are not. */
int rewrite_read(struct rewrite *k, struct error *err);
/* The first parent that is here, or NULL. */
const struct old_commit *rewrite_parent(const struct rewrite *k,
					const struct old_commit *c);

#endif
