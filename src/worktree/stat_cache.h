/* stat_cache.h - hashes of files that need not be read again. */
/* SPDX-License-Identifier: MIT */
#ifndef WORKTREE_STAT_CACHE_H
#define WORKTREE_STAT_CACHE_H

#include <stdbool.h>
#include <sys/stat.h>

#include "worktree/listing.h"

/*
 * A file of dcode's own: for each path of a tree what stat() said of it when it
 * was read, and the SHA-256 of its bytes. As long as size, both times, inode,
 * device and mode are the same, so are the bytes. A file whose times are less
 * than two seconds (FAT's precision) older than its reading is not kept: a
 * later change need not show in them.
 */
struct stat_cache;

struct stat_cached {
	char hash[LISTING_HASH];
	bool keyless; /* no private key was found in it */
};

/* Reads nothing yet; a file that is missing, cut, another user's or not ours
 * in any way is as good as empty. */
struct stat_cache *stat_cache_open(const char *file);
/* True, with what is known, when the file at path is as it was. */
bool stat_cache_get(struct stat_cache *c, const char *path,
		    const struct stat *st, struct stat_cached *known);
/* Notes what was read at path: st from before the first byte, reading began at
 * the time began. Whether it is the same afterwards is the caller's to see. */
void stat_cache_put(struct stat_cache *c, const char *path,
		    const struct stat *st, const struct stat_cached *read,
		    const struct timespec *began);
/* Writes the file, mode 0600, when something was put: what was put, and what
 * was asked for and found. Frees c; NULL is fine. */
void stat_cache_close(struct stat_cache *c);

#endif
