/* patch.h - changes as a git patch: printed, and saved before a sandbox goes.
 */
/* SPDX-License-Identifier: MIT */
#ifndef WORKTREE_PATCH_H
#define WORKTREE_PATCH_H

#include "worktree/fetch.h"

struct patch_output {
	git_sink *sink;
	void *arg;
};
/* The exact patch between two commits: renames, modes, links, deletions and
 * binary files; `git apply` takes it. */
int patch_write(const struct git *g, const char *before, const char *after,
		const struct patch_output *to, const struct stop *stop,
		struct error *err);

struct patch_save {            /* all borrowed */
	const char *directory; /* .../patches, made when missing */
	const char *thread;    /* its id */
	const struct workspace *workspace;
	const struct fetch *fetch; /* from fetch_changes() */
	const char *replace; /* a patch that the new one takes the place of, or
				NULL */
};
/*
 * Writes what differs from the base, after a head that names what was refused
 * and left, to a new file DIRECTORY/THREAD-N.patch,
 * 0600, under a name that no file has: it appears whole or not at all. Where
 * the newest of the thread says the same, that one is it. *path is owned.
 */
int patch_save(const struct patch_save *s, char **path, const struct stop *stop,
	       struct error *err);
/* The newest of a thread, owned; NULL: there is none. */
char *patch_newest(const char *directory, const char *thread);
/* Deletes those older than days, the newest of a thread when it is twelve times
 * as old; then the oldest until all are no more than bytes, at last the newest
 * of threads, but none of these that is not older than days. How many went. */
size_t patch_sweep(const char *directory, int64_t days, int64_t bytes);

#endif
