/* rewrite.h - copies the user's last commits without files that are never
 * sent. */
/* SPDX-License-Identifier: MIT */
#ifndef WORKTREE_REWRITE_H
#define WORKTREE_REWRITE_H

#include "base/mask/mask.h"
#include "worktree/select.h"

struct rewrite_request { /* all borrowed */
	int64_t most;    /* maximum number of commits */
	const char *const *include;
	size_t n_include;
	/* secrets to mask in messages and names; or NULL */
	const struct mask *mask;
	const struct selection *files; /* files of the tree that are sent */
};

/* initialise with { 0 }; call rewritten_release() at the end */
struct rewritten {
	int fd;       /* unnamed file: names, then a pack */
	int64_t size; /* total bytes; 0: there are no commits */
	/* bytes of the names: paths that are in the last commit but not in the
	 * tree, one per line as in a listing, sorted */
	int64_t names_size;
	char head[GIT_OID]; /* new id of the last commit */
	size_t commits;
	/* commits that differ from the user's: files, links or secrets were
	 * removed */
	size_t changed;
	size_t missing;  /* blobs that a partial clone does not contain */
	bool is_shallow; /* the history ends where a shallow clone does */
};

/*
 * Makes new versions of the last commits of HEAD. Their trees do not contain
 * files that select_files() would not send, by name or by content, or links to
 * submodules. Signatures and tags are dropped, parents beyond the oldest commit
 * are cut off, and known secrets in messages and names are masked. The pack
 * contains exactly the objects that these commits need. The user's repository
 * is read without its settings, replacements and grafts; nothing is fetched
 * from the network.
 */
int rewrite_commits(struct rewritten *out, const struct workspace *w,
		    const struct rewrite_request *r, const struct stop *stop,
		    struct error *err);
void rewritten_release(struct rewritten *out);

#endif
