/* user_repo.h - reads the user's own repository without running git in it. */
/* SPDX-License-Identifier: MIT */
#ifndef WORKTREE_USER_REPO_H
#define WORKTREE_USER_REPO_H

#include <stdbool.h>

#include "worktree/git.h"

/* Returns the nearest directory from path upwards with a trusted .git
 * (base/project.h), or path itself if there is none (*is_repository is false).
 * A real path, owned; NULL with err. */
char *user_repo_root(const char *path, bool *is_repository, struct error *err);

struct user_repo {          /* all owned */
	char *git_dir;      /* of this working tree; or NULL */
	char *common;       /* shared by its working trees */
	char *branch;       /* or "" */
	char head[GIT_OID]; /* "" before the first commit */
	/* static: why an existing .git is not used, such as "has a .git that is
	 * a link"; else NULL */
	const char *refused;
};
/*
 * Opens the repository of the working tree at root. A .git file (of a worktree
 * or submodule) is followed only to a directory that points back to the tree,
 * and that directory's commondir only to the repository that has it as a
 * worktree. Otherwise, and if .git is a link, git_dir is NULL. g runs git to
 * parse files.
 */
int user_repo_open(struct user_repo *u, const char *root, const struct git *g,
		   const struct stop *stop, struct error *err);
void user_repo_release(struct user_repo *u);
/* Appends a file below directory (a git directory), without following links. 1:
 * it does not exist. ERR_USAGE if it is not a regular file, ERR_LIMIT if it is
 * too large. */
int user_repo_read(const char *directory, const char *name, struct buf *out,
		   struct error *err);
/* Appends a value of the repository's own files config and, where git would
 * read it, config.worktree, without included files. 1: it is not set. key NULL:
 * appends all values as "KEY\nVALUE\0", with section and variable in lower
 * case. */
int user_repo_config(const struct user_repo *u, const char *key,
		     const struct git *g, struct buf *out,
		     const struct stop *stop, struct error *err);
/* Copies the index to the file index, and its shared part into g->dir. If the
 * repository has no index, the file does not exist afterwards. */
int user_repo_copy_index(const struct user_repo *u, const struct git *g,
			 const char *index, struct error *err);
/* Appends the ignore patterns that apply in addition to .gitignore:
 * info/exclude, and the user's core.excludesFile. home may be NULL. */
int user_repo_excludes(const struct user_repo *u, const struct git *g,
		       const char *home, struct buf *out,
		       const struct stop *stop, struct error *err);

/* Attributes that apply in addition to the tree's .gitattributes files. */
struct user_attributes {
	struct buf info;   /* info/attributes of the repository */
	struct buf global; /* core.attributesFile of the user's settings */
};
/* home may be NULL. Files that cannot be read are ignored. */
void user_repo_attributes(const struct user_repo *u, const struct git *g,
			  const char *home, struct user_attributes *a,
			  const struct stop *stop);
void user_repo_attributes_release(struct user_attributes *a);

/*
 * Returns the directory for struct git's objects, owned; NULL without a
 * repository, or with err. Checks that it and its alternates contain only
 * regular files: git would wait forever if it opened a pipe.
 */
char *user_repo_objects(const struct user_repo *u, struct error *err);

/* Creates INDEX.lock with the token in it, so that no git writes the index.
 * ERR_BUSY if one is writing. */
int user_index_lock(const char *index, const char *token, struct error *err);
/* Removes the lock with this token, and temporary files of a crash. */
void user_index_unlock(const char *index, const char *token);
/* Copies a whole index file. If from does not exist, removes to. */
int user_index_copy(const char *from, const char *to, struct error *err);
/* True if both exist with the same content, or neither exists. */
bool user_index_same(const char *a, const char *b);

/*
 * Replaces out by the value of key in ~/.gitconfig and in the file git/config
 * of the user's configuration directory, as git would find it in this
 * repository: with included files, and those of the includeIf conditions
 * gitdir, gitdir/i and onbranch. Empty values do not count. False if there is
 * none. g runs git to parse files, outside of the repository.
 */
bool user_config_value(const struct user_repo *u, const char *home,
		       const char *key, const struct git *g, struct buf *out,
		       const struct stop *stop);

/* Returns the author as git would: "Ann <ann@example.org>". Uses
 * GIT_AUTHOR_NAME and GIT_AUTHOR_EMAIL, else user.name and user.email of the
 * repository's config (without includes), else of the user's config. Owned.
 * ERR_CONFIG if there is none. */
int user_repo_identity(const struct user_repo *u, const char *home,
		       const struct git *g, char **identity,
		       const struct stop *stop, struct error *err);

#endif
