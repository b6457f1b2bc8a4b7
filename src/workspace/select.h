/* select.h - which files of the user's tree a sandbox gets. */
/* SPDX-License-Identifier: MIT */
#ifndef WORKSPACE_SELECT_H
#define WORKSPACE_SELECT_H

#include "tree/user_repo.h"
#include "workspace/workspace.h"

struct selected {
	char *path;    /* below the root; owned */
	unsigned mode; /* a mode of listing.h */
	int64_t size;  /* bytes when it was looked at */
};

struct select_left {     /* what is not sent unasked */
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
	/* Paths that are looked at though they may be ignored. */
	const char *const *extra;
	size_t n_extra;
	bool guard_extra; /* secrets and sizes leave them out too */
};

/*
 * Tracked files as they are now, and those that are neither tracked nor
 * ignored; of submodules too. Without git, all that .gitignore and .dcodeignore
 * do not name. Left out unless included: files of secrets by name, private
 * keys by content, files over 100 MiB; .git always. Reads names and the
 * first MiB of files; writes nothing of the user's.
 */
int select_files(struct selection *s, const struct workspace *w,
		 const struct select_request *r, const struct stop *stop,
		 struct error *err);
void select_release(struct selection *s);
/* Below the directory of dcode's own files, ~/.deepagents: never sent. */
bool select_is_own(const struct workspace *w, const char *path);
/* Why a file is not sent unasked, or NULL; head is how its bytes begin. */
const char *select_secret(const char *path, int64_t size, struct str head);

#endif
