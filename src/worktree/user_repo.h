/* user_repo.h - the user's own repository, read as data. */
/* SPDX-License-Identifier: MIT */
#ifndef WORKTREE_USER_REPO_H
#define WORKTREE_USER_REPO_H

#include <stdbool.h>

#include "worktree/git.h"

/* The nearest directory from path upwards that has a .git which counts
 * (base/project.h); path itself if none has (*is_repository false). Owned, a
 * real path; NULL with err. */
char *user_repo_root(const char *path, bool *is_repository, struct error *err);

struct user_repo {           /* all owned */
	char *git_dir;       /* of this working tree; or NULL */
	char *common;        /* what its working trees share */
	char *branch;        /* or "" */
	char head[GIT_OID];  /* "" before the first commit */
	const char *refused; /* static: why a .git that is there has no git_dir,
				as "has a .git that is a link"; else NULL */
};
/*
 * Finds it for the working tree at root. A .git file (a worktree's, a
 * submodule's) is followed only to a directory that points back, and that one's
 * commondir only to the repository that has it as a worktree: else, as for a
 * .git that is a link, git_dir is NULL. g runs git, to read files.
 */
int user_repo_open(struct user_repo *u, const char *root, const struct git *g,
		   const struct stop *stop, struct error *err);
void user_repo_release(struct user_repo *u);
/* Appends a file below directory (a git directory), through no link. 1: there
 * is none. ERR_USAGE if it is not a regular file, ERR_LIMIT. */
int user_repo_read(const char *directory, const char *name, struct buf *out,
		   struct error *err);
/* Appends a value of directory's own file config, without included files. 1:
 * it has none. */
int user_repo_config(const char *directory, const char *key,
		     const struct git *g, struct buf *out,
		     const struct stop *stop, struct error *err);
/* Copies the index to a file of ours, and its shared half into g->dir. If the
 * repository has none, there is no file then. */
int user_repo_copy_index(const struct user_repo *u, const struct git *g,
			 const char *index, struct error *err);
/* Appends the patterns that count beside .gitignore: info/exclude, and the
 * user's own core.excludesFile. home may be NULL. */
int user_repo_excludes(const struct user_repo *u, const struct git *g,
		       const char *home, struct buf *out,
		       const struct stop *stop, struct error *err);

/* Attributes that count beside the .gitattributes files of the tree. */
struct user_attributes {
	struct buf info;   /* info/attributes of the repository */
	struct buf global; /* core.attributesFile of the user's own settings */
};
/* home as above. What cannot be read does not count. */
void user_repo_attributes(const struct user_repo *u, const struct git *g,
			  const char *home, struct user_attributes *a,
			  const struct stop *stop);
void user_repo_attributes_release(struct user_attributes *a);

/*
 * The directory for struct git's objects, owned; NULL without a repository, or
 * with err. It and its alternates hold only regular files: git would wait for
 * good when it opens a pipe.
 */
char *user_repo_objects(const struct user_repo *u, struct error *err);

/* Makes INDEX.lock, with the token in it, so that no git writes meanwhile.
 * ERR_BUSY if one does. */
int user_index_lock(const char *index, const char *token, struct error *err);
/* Removes the lock that has this token, and what a crash left beside it. */
void user_index_unlock(const char *index, const char *token);
/* Copies a whole index file. If from is missing, to is removed. */
int user_index_copy(const char *from, const char *to, struct error *err);
/* True when both are there with the same bytes, or neither is. */
bool user_index_same(const char *a, const char *b);

#endif
