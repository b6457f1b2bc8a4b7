/* select.h - selects the files of the user's tree that a sandbox gets. */
/* SPDX-License-Identifier: MIT */
#ifndef WORKTREE_SELECT_H
#define WORKTREE_SELECT_H

#include "worktree/user_repo.h"
#include "worktree/workspace.h"

struct selected {
	char *path;            /* relative to the root; owned */
	unsigned mode;         /* a mode of listing.h */
	int64_t size;          /* bytes when it was selected */
	struct timespec ctime; /* ctime when it was selected */
	bool keyless;          /* its content was searched: no private key */
};

/* a file that is not sent, or only with an --include pattern */
struct select_left {
	char *path;      /* owned */
	const char *why; /* static: "a file of secrets" */
	bool asked;      /* --include with a matching pattern would send it */
};

struct selection {              /* initialise with { 0 } */
	struct selected *files; /* sorted by path, as bytes */
	size_t n;
	size_t cap;
	int64_t bytes;
	struct select_left *left;
	size_t n_left;
	/* Files that are sent only because of an --include pattern, and bare
	 * repositories (by their directory). Sorted by path. */
	struct select_left *asked;
	size_t n_asked;
	size_t sparse; /* tracked files that a sparse checkout leaves out */
	/* number of submodules, whose files are sent as plain files */
	size_t submodules;
	bool is_repository;
	const char *refused; /* why the tree's .git is not used; or NULL */
};

struct select_request {   /* all borrowed */
	const char *home; /* for the user's core.excludesFile */
	/* --include patterns (glob); without "/" they match the name only */
	const char *const *include;
	size_t n_include;
	/* Paths that an earlier send listed in selection.asked; sorted. They
	 * are sent again without --include. */
	const char *const *allowed;
	size_t n_allowed;
	/* Paths to check even if they are ignored. */
	const char *const *extra;
	size_t n_extra;
	/* secrets and large files among them are left out too */
	bool guard_extra;
};

/*
 * Selects the current versions of tracked files, and files that are neither
 * tracked nor ignored, also in submodules. Without git: all files that
 * .gitignore and .dcodeignore do not match. Left out unless an --include
 * pattern matches: files that by their name contain secrets, private keys (by
 * content), files over 100 MiB, bare repositories. Always left out: .git, other
 * repositories, and files that the user may not read. ERR_USAGE inside a bare
 * repository. Reads names, and the first MiB of files that are not in w->cache.
 * The user's tree is not written.
 */
int select_files(struct selection *s, const struct workspace *w,
		 const struct select_request *r, const struct stop *stop,
		 struct error *err);
/* Counts Git LFS pointers: their contents are not in the tree. */
size_t select_count_pointers(const struct selection *s,
			     const struct workspace *w);
void select_release(struct selection *s);
/* True for a path below dcode's own directory, ~/.deepagents, which is never
 * sent. */
bool select_is_own(const struct workspace *w, const char *path);

enum { SELECT_HEAD = 1 << 20 }; /* bytes that are searched for a key */

struct select_look { /* one file to check; all borrowed */
	struct stat_cache *cache;
	int dir; /* descriptor of the file's directory */
	const char *path;
	const struct stat *st;
	char *head; /* buffer of SELECT_HEAD bytes */
};
/* Returns why the file is not sent without --include, or NULL. Reads the file
 * unless the cache knows that it contains no private key. *keyless: set if that
 * is known now. */
const char *select_find_secret(const struct select_look *look, bool *keyless);
/* a reason that an --include pattern does not override */
extern const char select_unreadable[];
/* Returns why a file of this name and size, which begins with head, is not sent
 * without --include; or NULL. */
const char *select_secret(const char *path, int64_t size, struct str head);

#endif
