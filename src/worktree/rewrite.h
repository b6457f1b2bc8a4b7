/* rewrite.h - the last commits of the user's repository, without what is never
 * sent. */
/* SPDX-License-Identifier: MIT */
#ifndef WORKTREE_REWRITE_H
#define WORKTREE_REWRITE_H

#include "base/mask/mask.h"
#include "worktree/select.h"

struct rewrite_request { /* all borrowed */
	int64_t most;    /* commits */
	const char *const *include;
	size_t n_include;
	const struct mask *mask;       /* for messages and names; or NULL */
	const struct selection *files; /* what is sent of the tree */
};

struct rewritten {          /* start from { 0 }; rewritten_release() after */
	int fd;             /* a file without a name: names, then a pack */
	int64_t size;       /* bytes in it; 0: there are no commits */
	int64_t names_size; /* of the names: what the tree lacks that the last
			       commit has, one a line as in a listing, sorted */
	char head[GIT_OID]; /* the last commit, as the pack has it */
	size_t commits;
	size_t changed;  /* of them: files, links or words were left out */
	size_t missing;  /* blobs that a partial clone does not have */
	bool is_shallow; /* it ends where the clone does */
};

/*
 * Makes new commits of the last ones that HEAD has. Their trees lack whatever
 * select_files() would not send, by name or by content, and links to
 * submodules. Signatures and tags are dropped, parents beyond the last commit
 * cut off, known secrets in messages and names masked. The pack has all that
 * these commits need, and nothing else. The user's repository is read without
 * its settings, replacements and grafts; nothing is fetched.
 */
int rewrite_commits(struct rewritten *out, const struct workspace *w,
		    const struct rewrite_request *r, const struct stop *stop,
		    struct error *err);
void rewritten_release(struct rewritten *out);

#endif
