/* bind.h - a directory of this machine that a sandbox gets as it is. */
/* SPDX-License-Identifier: MIT */
#ifndef SANDBOX_BIND_H
#define SANDBOX_BIND_H

#include <stdbool.h>

#include "config/settings.h"

/* Refuses a directory that is no project: the home directory and those above
 * it, the system's, what everybody shares, and dcode's own. *real (also on -1,
 * unless it does not exist) is its real path, owned. */
int bind_check(const struct settings *set, const char *dir, char **real,
	       struct error *err);

/*
 * A linked worktree and a submodule have a file .git, which names a directory
 * elsewhere; a directory of a repository has its .git above. A sandbox that
 * binds the directory alone has no git then, so it gets that git directory,
 * too: at its own path, since files in there name each other by theirs.
 *
 * The tree is not trusted. Attack: a .git file of an archive that names another
 * repository of the user's, for the sandbox to write to. So a git directory
 * counts only if it names the tree in turn, and belongs to nobody else
 * (base/project.h).
 */
struct settings;

struct bind_git {      /* all owned */
	char *root;    /* of the working tree: dir, or above it */
	char *git_dir; /* of this working tree */
	char *common;  /* what its working trees share; may be git_dir */
	char *branch;  /* "refs/heads/topic"; or NULL */
	/* Static: why git will not work in the sandbox; or NULL. */
	const char *limit;
};

/*
 * dir: a real path. True: there is such a git directory outside of dir. False:
 * there is none, or it cannot be had (limit). Attack: a repository whose
 * working tree is the home directory, which the sandbox would read with the
 * directory: what may not be bound by itself (bind_check()) is not bound with
 * another one.
 */
bool bind_git_find(struct bind_git *b, const struct settings *set,
		   const char *dir);
void bind_git_release(struct bind_git *b);

/* What a sandbox may do with a part of the repository. Of a path that is not
 * there the last two say that it must not come into being. */
enum bind_git_use {
	BIND_GIT_READS,
	BIND_GIT_WRITES,
	BIND_GIT_NO_FILE,
	BIND_GIT_NO_DIRECTORY,
};
/*
 * Calls each for the parts that differ from common as a whole: which is for
 * reading where git_dir is another directory, else for writing. Written is what
 * a commit writes: objects, the checkout's index and HEAD, branches and their
 * logs; of the branches that exist only the checkout's. path: relative to
 * common. Makes the directories of logs that git would make.
 */
void bind_git_each(const struct bind_git *b,
		   void (*each)(void *arg, const char *path,
				enum bind_git_use use),
		   void *arg);

#endif
