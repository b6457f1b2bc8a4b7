/* fetched.h - what a fetch is asked for, and what came of it. */
/* SPDX-License-Identifier: MIT */
#ifndef WORKTREE_FETCHED_H
#define WORKTREE_FETCHED_H

#include "sandbox/sandbox.h"
#include "worktree/workspace.h"

struct fetch_request { /* all borrowed */
	struct sandbox *sandbox;
	struct str exclude; /* the user's patterns, beside .gitignore */
	/* Patterns as in .gitignore: new files that come although ignored. */
	const char *const *include;
	size_t n_include;
	int64_t file_max;  /* bytes of one file */
	int64_t total_max; /* of all that come */
	/* Files that would make the first answer large are only listed in
	 * fetch.later; fetch_later() gets them. */
	bool small_first;
};

struct fetch_item {      /* a file that does not come */
	char *path;      /* owned; untrusted */
	const char *why; /* static; follows the path: "is a pipe ..." */
	int64_t size;    /* of a file that is too large, else 0 */
};

struct fetch {                /* start from { 0 } */
	bool same;            /* nothing differs from the base */
	char theirs[GIT_OID]; /* the commit of what is there, or the base */
	/* Names, links and modes that must not be written to the user's tree.
	 */
	struct fetch_item *refused;
	size_t n_refused;
	/* Too large, unreadable, not a file, or another repository. */
	struct fetch_item *left;
	size_t n_left;
	struct fetch_item *later; /* with small_first: not come yet */
	size_t n_later;
	int64_t bytes;   /* of the files that came */
	int64_t ignored; /* new files that git ignores */
	/* The first of these. A directory that nothing comes from is one item,
	 * "dir/", with the number of its files as size; a file's size is 0. */
	struct fetch_item *ignored_names;
	size_t n_ignored_names;
	char *recalled; /* owned: the text that why of recalled items is in */
};

/* Why a file that was in later is in left. */
#define FETCH_NO_TIME "was not fetched in time"

#endif
