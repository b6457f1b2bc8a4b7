/* patch.h - changes as a git patch, and which of them deserve a look. */
/* SPDX-License-Identifier: MIT */
#ifndef WORKTREE_PATCH_H
#define WORKTREE_PATCH_H

#include "config/protect.h"
#include "worktree/fetch.h"

struct patch_output {
	git_sink *sink;
	void *arg;
};
/* Prints the exact patch between two commits: renames, modes, links, deletions
 * and binary files. `git apply` takes it. */
int patch_write(const struct git *g, const char *before, const char *after,
		const struct patch_output *to, const struct stop *stop,
		struct error *err);

struct patch_save {            /* all borrowed */
	const char *directory; /* .../patches, made when missing */
	const char *thread;    /* its id */
	const struct workspace *workspace;
	const struct fetch *fetch; /* from fetch_changes() */
	const char *replace; /* a patch that the new one replaces, or NULL */
};
/*
 * Writes what differs from the base, after a head that names what was refused
 * and left, to a new file DIRECTORY/THREAD-N.patch, 0600. It appears whole or
 * not at all, under a name that no file has. If the newest patch of the thread
 * says the same, *path is that one. *path is owned.
 */
int patch_save(const struct patch_save *s, char **path, const struct stop *stop,
	       struct error *err);
/* The newest patch of a thread, owned; or NULL. */
char *patch_newest(const char *directory, const char *thread);
/* Deletes patches older than days; the newest of a thread only when it is
 * twelve times as old. Then deletes the oldest until all have at most bytes,
 * the newest of threads last, but none of these that is younger than days.
 * Returns how many were deleted. */
size_t patch_sweep(const char *directory, int64_t days, int64_t bytes);

/* Why a user should look at a change of this path: programs run what such a
 * file says, on his machine or with a server's secrets. NULL if he need not.
 * Static text that follows the path: "runs in CI". p may be NULL. */
const char *review_path(const struct protect *p, struct str path);

struct review_file {
	char status;      /* git's: A, D, M, R (renamed), T (type) */
	char *path;       /* owned */
	char *from;       /* owned: the old name of a renamed one, or NULL */
	const char *loud; /* review_path() of either name, or NULL */
};
struct review {
	const struct protect *protect; /* set before; borrowed, or NULL */
	struct review_file *files;     /* by path */
	size_t n;
	size_t n_loud;
};

/* Lists what differs between two commits of dcode's repository, with renames.
 */
int review_read(struct review *v, const struct git *g, const char *before,
		const char *after, const struct stop *stop, struct error *err);
void review_release(struct review *v);

#endif
