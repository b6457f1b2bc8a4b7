/* copy_incoming.h - the names that a copy out of a sandbox leaves out unasked.
 */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_SESSION_COPY_INCOMING_H
#define CMD_SESSION_COPY_INCOMING_H

#include "archive/archive.h"
#include "worktree/name.h"
#include "worktree/treefile.h"

/*
 * The config and hooks of a git repository run commands as soon as git is
 * started in it. So a .git, at any depth and in any spelling of it
 * (worktree/name.h), and what makes a directory a repository without one
 * (worktree/name.h), come in only when --bring names them.
 */
struct incoming {                 /* start from { 0 }, with bring */
	const char *const *bring; /* names that are asked for; borrowed */
	size_t n_bring;
	struct bare_repos made; /* what came of repositories without .git */
	struct tree_dir disk;   /* the directory that a tree goes to */
	bool opened;
	bool follows;    /* who writes there may follow its links */
	char *directory; /* owned: that directory's path */
	char *told;      /* owned: the last name that was left out */
};

/* A tree goes to this directory, which is there. incoming_close() in any case.
 */
int incoming_open(struct incoming *in, const char *directory,
		  struct error *err);
/* A tree goes to nobody knows where: to the working directory, as far as what
 * is there already counts, by a tar that follows the links there. source: the
 * directory that it comes from. */
int incoming_open_stream(struct incoming *in, const char *source,
			 struct error *err);
/* Whether this entry of the tree is left out. *told: name and reason, the
 * first time that something below the name is left out; else NULL. */
bool incoming_leaves_out(struct incoming *in, const struct archive_item *item,
			 struct str *name, const char **why);
/* Whether a copy may go to this path of the user's; ERR_POLICY. */
int incoming_check(struct incoming *in, const char *target, struct error *err);
void incoming_close(struct incoming *in);

#endif
