/* rewrite_read.h - reads the user's last commits and filters what is sent. */
/* SPDX-License-Identifier: MIT */
#ifndef WORKTREE_REWRITE_READ_H
#define WORKTREE_REWRITE_READ_H

#include "sandbox/files/glob_match.h"
#include "worktree/name.h"
#include "worktree/select.h"

struct old_commit {
	char oid[GIT_OID];
	char tree[GIT_OID];
	char fresh[GIT_OID]; /* id of the new commit */
	/* owned: git's text of the commit, NUL-terminated */
	char *text;
	size_t text_len;
	size_t parents, n_parents; /* range in rewrite.parents */
	size_t changes, n_changes; /* range in rewrite.changes */
	size_t visited;            /* used by the sort: parents visited */
	bool reached;              /* used by the sort */
	/* its tree does not exist here: treated as cut off */
	bool absent;
	bool altered; /* an identity or the message was changed */
};

/* A change of a path in a commit, relative to its first available parent. */
struct tree_change {
	size_t path;   /* offset in rewrite.paths */
	size_t blob;   /* index in rewrite.blobs */
	unsigned mode; /* 0: deleted */
	bool asked;    /* --include matches it */
};

struct old_blob {
	char oid[GIT_OID];
	bool is_missing;
	bool is_secret; /* by its content or size */
};

struct rewrite {
	const struct workspace *w;
	int64_t most; /* maximum number of commits */
	const char *const *include;
	size_t n_include;
	const struct stop *stop;
	size_t missing; /* out: blobs that a partial clone does not contain */
	/* r and out: not used by rewrite_read() */
	const struct rewrite_request *r;
	struct rewritten *out;
	struct user_repo user;
	/* separate store, with the user's objects as alternates */
	struct git git;
	char *dir;     /* owned: directory of that store */
	char *objects; /* owned */
	struct glob **globs;
	struct old_commit *commits; /* in rev-list's order: newest first */
	size_t n;
	size_t *parents; /* indexes of commits */
	size_t n_parents;
	size_t *order; /* indexes of commits, parents before children */
	struct tree_change *changes;
	size_t n_changes;
	struct buf paths;       /* NUL-terminated */
	struct bare_repos bare; /* all paths that a commit adds */
	struct old_blob *blobs; /* sorted by oid after they are checked */
	size_t n_blobs;
};

/* Reads the commits, their order and their changes. Removes paths that are
 * never sent and marks blobs that are not sent. */
int rewrite_read(struct rewrite *k, struct error *err);
/* Returns the first parent that is available, or NULL. */
const struct old_commit *rewrite_parent(const struct rewrite *k,
					const struct old_commit *c);

#endif
