/* fetched.h - request and result of a fetch. */
/* SPDX-License-Identifier: MIT */
#ifndef WORKTREE_FETCHED_H
#define WORKTREE_FETCHED_H

#include "sandbox/sandbox.h"
#include "worktree/workspace.h"

struct fetch_request { /* all borrowed */
	struct sandbox *sandbox;
	/* the user's ignore patterns, in addition to .gitignore */
	struct str exclude;
	/* Patterns as in .gitignore: new files to fetch although they are
	 * ignored. */
	const char *const *include;
	size_t n_include;
	int64_t file_max;  /* maximum bytes of one file */
	int64_t total_max; /* maximum bytes of all files */
	/* NULL: the work of the agent is fetched into workspace.theirs_ref.
	 * Else all files are fetched into this ref, also those that the user
	 * has uploaded, and LABEL.seen stays as it is. */
	const char *ref;
	/* Large files are only listed in fetch.later, so that the first answer
	 * stays small; fetch_later() gets them. */
	bool small_first;
};

struct fetch_item {      /* a file that was not fetched */
	char *path;      /* owned; untrusted */
	const char *why; /* static; completes "PATH ...": "is a pipe ..." */
	/* bytes of a file that is too large or in fetch.later; else 0 */
	int64_t size;
};

struct fetch {                /* initialise with { 0 } */
	bool same;            /* nothing differs from the base */
	char theirs[GIT_OID]; /* commit of the sandbox's files, or the base */
	/* Files with an unsafe name, link target or mode, and files in a bare
	 * repository: they are never written to the user's tree. */
	struct fetch_item *refused;
	size_t n_refused;
	/* files that are too large, unreadable, not regular, or in another
	 * repository */
	struct fetch_item *left;
	size_t n_left;
	struct fetch_item *later; /* with small_first: not fetched yet */
	size_t n_later;
	int64_t bytes;   /* bytes of the fetched files */
	int64_t ignored; /* number of new files that git ignores */
	/* The first 1,000 ignored files. A directory of which nothing is
	 * fetched is one item, "dir/", and its size is the number of its files;
	 * a file's size is 0. */
	struct fetch_item *ignored_names;
	size_t n_ignored_names;
	char *recalled; /* owned: buffer of the recalled items' reasons */
};

/* Reason for files that moved from later to left. */
#define FETCH_NO_TIME "was not fetched in time"

#endif
