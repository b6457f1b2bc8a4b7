/* bind.h - checks a host directory that is to be bound into a sandbox. */
/* SPDX-License-Identifier: MIT */
#ifndef SANDBOX_BIND_H
#define SANDBOX_BIND_H

#include <stdbool.h>

#include "config/settings.h"

/* Refuses a directory that is not a project: the home directory and its
 * parents, system and shared directories, and dcode's own. *real is the real
 * path, owned; it is set on -1 too, unless dir does not exist. */
int bind_check(const struct settings *set, const char *dir, char **real,
	       struct error *err);

/*
 * A linked worktree and a submodule have a file .git that names a directory
 * elsewhere. A subdirectory of a repository has its .git in a parent. If a
 * sandbox binds only the directory itself, git does not work in the sandbox. So
 * the sandbox also gets the git directory, at its original path, because its
 * files contain absolute paths.
 *
 * The tree is not trusted. Attack: an archive has a .git file that names
 * another repository of the user, so that the sandbox can write to that. So a
 * git directory is accepted only if it points back to the tree and belongs to
 * root, the user or the tree's owner (project_trusts() of base/project.h).
 */
struct settings;

struct bind_git {      /* all owned */
	char *root;    /* root of the working tree: dir or a parent */
	char *git_dir; /* git directory of this working tree */
	char *common;  /* shared by all working trees; may equal git_dir */
	char *branch;  /* "refs/heads/topic"; or NULL */
	/* Static text: why git will not work in the sandbox; or NULL. */
	const char *limit;
};

/*
 * dir: a real path. True: there is a git directory outside of dir, and it can
 * be bound. False: there is none, or it cannot be bound (limit says why).
 * Attack: a repository whose working tree is the home directory would let the
 * sandbox read all of it. So what bind_check() refuses is not bound here
 * either.
 */
bool bind_git_find(struct bind_git *b, const struct settings *set,
		   const char *dir);
void bind_git_release(struct bind_git *b);

/* What a sandbox may do with a part of the repository. BIND_GIT_NO_FILE and
 * BIND_GIT_NO_DIRECTORY: an existing one is read-only, and a missing one must
 * not be created. */
enum bind_git_use {
	BIND_GIT_READS,
	BIND_GIT_WRITES,
	BIND_GIT_NO_FILE,
	BIND_GIT_NO_DIRECTORY,
};
/*
 * Calls each for the parts of common whose use differs from that of common as a
 * whole. common is read-only if git_dir is another directory, else writable.
 * Writable are the paths that a commit writes: objects, the checkout's index
 * and HEAD, branches and their logs. Of the existing branches only the checked
 * out one is writable. path is relative to common. Creates the log directories
 * that git would create.
 */
void bind_git_each(const struct bind_git *b,
		   void (*each)(void *arg, const char *path,
				enum bind_git_use use),
		   void *arg);

#endif
