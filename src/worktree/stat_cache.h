/* stat_cache.h - caches file hashes, so that files need not be read again. */
/* SPDX-License-Identifier: MIT */
#ifndef WORKTREE_STAT_CACHE_H
#define WORKTREE_STAT_CACHE_H

#include <stdbool.h>
#include <sys/stat.h>

#include "worktree/listing.h"

/*
 * A file of dcode's own. For each path of a tree it stores the result of stat()
 * when the file was read, and the SHA-256 of its content. While size, both
 * times, inode, device and mode are unchanged, so is the content. A file whose
 * times are less than two seconds (the precision of FAT) before its reading is
 * not cached, because a later change may not change them.
 */
struct stat_cache;

struct stat_cached {
	char hash[LISTING_HASH];
	bool keyless; /* no private key was found in it */
};

/* Opens a cache without reading the file yet. A file that is missing, damaged
 * or owned by another user counts as empty. */
struct stat_cache *stat_cache_open(const char *file);
/* Returns true, with the cached values, if the file at path is unchanged. */
bool stat_cache_get(struct stat_cache *c, const char *path,
		    const struct stat *st, struct stat_cached *known);
/* Stores the values of the file at path. st: from before the first byte was
 * read; began: when reading began. The caller checks that the file did not
 * change meanwhile. */
void stat_cache_put(struct stat_cache *c, const char *path,
		    const struct stat *st, const struct stat_cached *read,
		    const struct timespec *began);
/* If something was put, writes the file, mode 0600, with the new entries and
 * those that were found. Frees c, which may be NULL. */
void stat_cache_close(struct stat_cache *c);

#endif
