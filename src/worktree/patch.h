/* patch.h - writes changes as a git patch; finds those to review. */
/* SPDX-License-Identifier: MIT */
#ifndef WORKTREE_PATCH_H
#define WORKTREE_PATCH_H

#include "config/protect.h"
#include "worktree/fetch.h"

struct patch_output {
	git_sink *sink;
	void *arg;
};
/* Prints the exact patch between two commits, with renames, modes, links,
 * deletions and binary files. `git apply` accepts it. */
int patch_write(const struct git *g, const char *before, const char *after,
		const struct patch_output *to, const struct stop *stop,
		struct error *err);

struct patch_save {            /* all borrowed */
	const char *directory; /* .../patches, created if missing */
	const char *thread;    /* id of the thread */
	const struct workspace *workspace;
	const struct fetch *fetch; /* from fetch_changes() */
	const char *replace; /* a patch to replace by the new one, or NULL */
};
/*
 * Writes the differences from the base, after a head that lists what was
 * refused and left, to a new file DIRECTORY/THREAD-N.patch, 0600. The file
 * appears only when it is complete. If the thread's newest patch has the same
 * content, *path is that one. *path is owned.
 */
int patch_save(const struct patch_save *s, char **path, const struct stop *stop,
	       struct error *err);
/* Returns the newest patch of a thread, owned; or NULL. */
char *patch_newest(const char *directory, const char *thread);
/* Deletes patches older than days; the newest one of a thread only when it is
 * twelve times as old. Then deletes the oldest until the total is at most
 * bytes: the newest patches of threads last, and only those older than days.
 * Returns the number of deleted patches. */
size_t patch_sweep(const char *directory, int64_t days, int64_t bytes);

/* Returns why a user should review a change of this path: programs execute the
 * file's contents, on the user's machine or with a server's secrets. NULL if
 * that is not necessary. Static text that completes "PATH ...": "runs in CI". p
 * may be NULL. */
const char *review_path(const struct protect *p, struct str path);

struct review_file {
	char status;      /* git's: A, D, M, R (renamed), T (type) */
	char *path;       /* owned */
	char *from;       /* owned: old name of a renamed file, or NULL */
	const char *loud; /* review_path() of either name; or NULL */
};
struct review {
	/* set by the caller; borrowed, or NULL */
	const struct protect *protect;
	struct review_file *files; /* sorted by path */
	size_t n;
	size_t n_loud;
};

/* Lists the differences between two commits of dcode's repository, with
 * renames. */
int review_read(struct review *v, const struct git *g, const char *before,
		const char *after, const struct stop *stop, struct error *err);
void review_release(struct review *v);

#endif
