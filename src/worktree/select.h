/* select.h - which files of the user's tree a sandbox gets. */
/* SPDX-License-Identifier: MIT */
#ifndef WORKTREE_SELECT_H
#define WORKTREE_SELECT_H

#include "worktree/user_repo.h"
#include "worktree/workspace.h"

struct selected {
	char *path;            /* below the root; owned */
	unsigned mode;         /* a mode of listing.h */
	int64_t size;          /* bytes when it was looked at */
	struct timespec ctime; /* and its change then */
	bool keyless;          /* its bytes were looked at: no private key */
};

struct select_left {     /* a file that is not sent unasked */
	char *path;      /* owned */
	const char *why; /* static: "a file of secrets" */
	bool asked;      /* --include PATTERN sends it */
};

struct selection {              /* start from { 0 } */
	struct selected *files; /* by path, bytewise */
	size_t n;
	size_t cap;
	int64_t bytes;
	struct select_left *left;
	size_t n_left;
	/* Files that only an include sends, and bare repositories by their
	 * directory. By path. */
	struct select_left *asked;
	size_t n_asked;
	size_t sparse;     /* tracked, and left out by a sparse checkout */
	size_t submodules; /* whose files go in as plain files */
	bool is_repository;
	const char *refused; /* why its .git does not count; or NULL */
};

struct select_request {             /* all borrowed */
	const char *home;           /* for the user's core.excludesFile */
	const char *const *include; /* patterns of --include, as glob has them;
				       without "/" of the name alone */
	size_t n_include;
	/* Paths of "asked" above that an earlier include has sent; sorted. */
	const char *const *allowed;
	size_t n_allowed;
	/* Paths that are looked at even if they are ignored. */
	const char *const *extra;
	size_t n_extra;
	bool guard_extra; /* secrets and sizes leave them out too */
};

/*
 * Selects tracked files as they are now, and files that are neither tracked nor
 * ignored; of submodules too. Without git, all that .gitignore and .dcodeignore
 * do not name. Left out unless included: files of secrets by name, private
 * keys by content, files over 100 MiB, bare repositories. Always left out:
 * .git, other repositories, and files that the user may not read.
 * ERR_USAGE inside a bare repository. Reads names, and the first MiB of files
 * that w->cache does not know; the user's tree is not written.
 */
int select_files(struct selection *s, const struct workspace *w,
		 const struct select_request *r, const struct stop *stop,
		 struct error *err);
/* Files that are pointers of Git LFS: their contents are elsewhere. */
size_t select_count_pointers(const struct selection *s,
			     const struct workspace *w);
void select_release(struct selection *s);
/* True for a path below the directory of dcode's own files, ~/.deepagents:
 * never sent. */
bool select_is_own(const struct workspace *w, const char *path);

enum { SELECT_HEAD = 1 << 20 }; /* bytes in which a key is looked for */

struct select_look { /* at one file; all borrowed */
	struct stat_cache *cache;
	int dir; /* the file's */
	const char *path;
	const struct stat *st;
	char *head; /* room for SELECT_HEAD bytes */
};
/* Why it is not sent unasked, or NULL. Reads the file unless the cache knows
 * that no private key is in it. keyless: that is known now. */
const char *select_find_secret(const struct select_look *look, bool *keyless);
extern const char select_unreadable[]; /* a reason that no include changes */
/* Why a file of this name and size, which begins with head, is not sent
 * unasked; or NULL. */
const char *select_secret(const char *path, int64_t size, struct str head);

#endif
