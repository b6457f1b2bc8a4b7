/* listing.h - what files a tree has: a sorted text that both sides hash. */
/* SPDX-License-Identifier: MIT */
#ifndef WORKTREE_LISTING_H
#define WORKTREE_LISTING_H

#include "base/buf.h"

/*
 * One line for each file or link, "MODE SHA256 PATH\n", the lines sorted
 * bytewise (LC_ALL=C sort): MODE is 100644, 100755 or 120000, SHA256 that of
 * the bytes (of the target for a link), PATH relative to the root of the tree.
 * A line end in a path is written as the byte 1; a path that holds this byte
 * cannot be listed. The root hash is the SHA-256 of the text.
 */
enum {
	LISTING_MAX = 256 << 20, /* bytes of a text */
	LISTING_FILES = 1000000, /* lines */
	LISTING_PATH = 4095,     /* bytes of a path */
	LISTING_FILE = 0100644,  /* the modes */
	LISTING_PROGRAM = 0100755,
	LISTING_LINK = 0120000,
	LISTING_HASH = 65, /* hexadecimal digits and NUL */
};

struct listing_entry {
	char *path; /* owned by the listing */
	unsigned mode;
	char hash[LISTING_HASH];
};

struct listing {                       /* start from { 0 } */
	struct listing_entry *entries; /* by path once sorted; owned */
	size_t n;
	size_t cap;
	bool unsorted; /* listing_sort() has work */
};

/* SHA-256 of some bytes as it stands in a listing. */
void listing_digest(struct str bytes, char out[LISTING_HASH]);
/* Whether a path can be in a listing: relative, not empty, without empty, "."
 * and ".." components, NUL and the byte 1. */
bool listing_path_ok(struct str path);
/* Adds an entry, or replaces it where the path was the last added. */
void listing_add(struct listing *l, unsigned mode, const char *hash,
		 struct str path);
/* By path; of several entries with one path the last stays. The functions
 * below do it where it is needed. */
void listing_sort(struct listing *l);
/* Adds the entries of an untrusted text. ERR_PROTOCOL if it is not a listing,
 * or names a path twice. */
int listing_parse(struct listing *l, struct str text, struct error *err);
/* The entry of a path, or NULL. Borrowed until the next addition. */
const struct listing_entry *listing_find(struct listing *l, const char *path);
/* Takes a path out when the listing is sorted next, once for any number of
 * them; one that is not there is fine. */
void listing_drop(struct listing *l, const char *path);
/* Appends the text. */
void listing_write(struct listing *l, struct buf *out);
void listing_root(struct listing *l, char out[LISTING_HASH]);
/* Reports what differs, by path: before or after is NULL if that side lacks the
 * path. -1 of the callback (err filled) ends it. */
int listing_compare(struct listing *before, struct listing *after,
		    int (*each)(void *arg, const struct listing_entry *before,
				const struct listing_entry *after,
				struct error *err),
		    void *arg, struct error *err);
void listing_release(struct listing *l);

#endif
