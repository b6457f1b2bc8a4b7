/* listing.h - the list of a tree's files: a sorted text that both sides
 * hash. */
/* SPDX-License-Identifier: MIT */
#ifndef WORKTREE_LISTING_H
#define WORKTREE_LISTING_H

#include "base/buf.h"

/*
 * One line for each file or link, "MODE SHA256 PATH\n", sorted by bytes
 * (LC_ALL=C sort). MODE is 100644, 100755 or 120000, SHA256 the hash of the
 * content (of a link's target), PATH relative to the tree's root. A newline in
 * a path is written as the byte 1; a path that contains this byte cannot be
 * listed. The root hash is the SHA-256 of the text.
 */
enum {
	LISTING_MAX = 256 << 20, /* bytes of the text */
	LISTING_FILES = 1000000, /* lines */
	LISTING_PATH = 4095,     /* bytes of a path */
	LISTING_FILE = 0100644,  /* the three modes of a listing */
	LISTING_PROGRAM = 0100755,
	LISTING_LINK = 0120000,
	LISTING_HASH = 65, /* hexadecimal digits and NUL */
};

struct listing_entry {
	char *path; /* owned by the listing */
	unsigned mode;
	char hash[LISTING_HASH];
};

struct listing { /* initialise with { 0 } */
	/* sorted by path after listing_sort(); owned */
	struct listing_entry *entries;
	size_t n;
	size_t cap;
	bool unsorted; /* listing_sort() is necessary */
};

/* Writes the SHA-256 of bytes as hexadecimal digits, as in a listing. */
void listing_digest(struct str bytes, char out[LISTING_HASH]);
/* True if a path can be listed: relative, not empty, without empty, "." or ".."
 * components, without NUL and the byte 1. */
bool listing_path_ok(struct str path);
/* Adds an entry. When the listing is next sorted, it replaces earlier ones of
 * the same path. */
void listing_add(struct listing *l, unsigned mode, const char *hash,
		 struct str path);
/* Sorts by path; of equal paths the last one is kept. The functions below call
 * it when necessary. */
void listing_sort(struct listing *l);
/* Adds the entries of an untrusted text. ERR_PROTOCOL if it is not a listing,
 * or lists a path twice. */
int listing_parse(struct listing *l, struct str text, struct error *err);
/* Returns the entry of a path, or NULL. Borrowed until the next addition. */
const struct listing_entry *listing_find(struct listing *l, const char *path);
/* Removes a path, if listed. The removal takes effect when the listing is
 * sorted next, so many removals cost only one sort. */
void listing_drop(struct listing *l, const char *path);
/* Appends the listing's text to out. */
void listing_write(struct listing *l, struct buf *out);
void listing_root(struct listing *l, char out[LISTING_HASH]);
/* Reports the differences, sorted by path: before or after is NULL if that side
 * does not have the path. -1 of the callback (err filled) stops. */
int listing_compare(struct listing *before, struct listing *after,
		    int (*each)(void *arg, const struct listing_entry *before,
				const struct listing_entry *after,
				struct error *err),
		    void *arg, struct error *err);
void listing_release(struct listing *l);

#endif
