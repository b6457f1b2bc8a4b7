/* treefile.h - one path below a tree's root, reached through no link. */
/* SPDX-License-Identifier: MIT */
#ifndef WORKTREE_TREEFILE_H
#define WORKTREE_TREEFILE_H

#include <stdbool.h>
#include <sys/stat.h>

#include "base/error.h"

enum {
	TREEFILE_HASH = 32, /* bytes of SHA-256 */
	TREEFILE_DIR = 0040000,
	TREEFILE_OTHER = 1,   /* a socket, a device */
	TREEFILE_BLOCKED = 2, /* what should be a directory above is not one */
};

enum { /* git's modes of what a tree holds */
       NAME_FILE = 0100644,
       NAME_PROGRAM = 0100755,
       NAME_LINK = 0120000,
};

/* The state of a path: now, before, or as it shall be. */
struct treefile {
	unsigned mode;         /* git's, TREEFILE_ or 0: nothing is there */
	mode_t perm;           /* its permissions, 07777 */
	struct timespec mtime; /* tv_nsec UTIME_OMIT: the time of writing */
	unsigned char hash[TREEFILE_HASH]; /* of bytes, or a link's target */
};

/* Same kind, executable bit and bytes; or nothing is at either. */
bool treefile_equal(const struct treefile *a, const struct treefile *b);
/* The directory that holds path, which is relative to the directory root; no
 * component may be a link. *name is path's last one. -1 with errno: ENOENT,
 * ENOTDIR or ELOOP where there is none. Close it. */
int treefile_parent(int root, const char *path, const char **name);
/* Reads what is at path, every byte of it. */
int treefile_stat(int root, const char *path, struct treefile *t,
		  struct error *err);
/* Copies from one descriptor to another, hashing; to may be -1. */
int treefile_copy(int from, int to, unsigned char hash[TREEFILE_HASH]);

/* One write; token makes the two names beside the path. */
struct treefile_write {
	int root;
	const char *path;
	const struct treefile *from; /* what has to be there */
	const struct treefile *to;   /* what shall be there */
	int source;                  /* to's bytes; -1 for a removal */
	const char *token; /* unique to the path: ".dcode-TOKEN.new", ".swap" */
};

/*
 * Writes what to says beside path, in the directory that must exist. It may not
 * be on the disk yet: treefile_sync() waits for that, or one wait for many
 * (base/durable.h). Then treefile_put() gives it its place.
 */
int treefile_stage(const struct treefile_write *w, struct error *err);
int treefile_sync(const struct treefile_write *w, struct error *err);
/*
 * Makes path what was staged, unless it is something else than from: then
 * ERR_BUSY and it stays as it is. What was there is first moved aside in one
 * step with the new taking its place, and compared again, so nothing written
 * meanwhile is lost.
 */
int treefile_put(const struct treefile_write *w, struct error *err);
/* Removes path on the same terms. */
int treefile_remove(const struct treefile_write *w, struct error *err);
/*
 * After a crash: removes what w's write left beside path. What it holds is
 * from's or to's bytes; anything else was written by somebody during the write
 * and is put back, or kept as "PATH.saved-TOKEN" (*saved is then true).
 */
int treefile_clean(const struct treefile_write *w, bool *saved,
		   struct error *err);

/* mkdir and rmdir of a directory below root. Existing, or missing, or not
 * empty, is fine, and so is the current directory staying. */
int treefile_mkdir(int root, const char *path, mode_t perm, struct error *err);
int treefile_rmdir(int root, const char *path, struct error *err);

/* The directories of a tree, one after the other. Paths that come sorted open
 * each directory once. */
struct tree_dir {
	int root;
	int fd;     /* of path; the root's own for "" */
	char *path; /* owned, with a slash at its end, or "" */
};

int tree_dir_open(struct tree_dir *t, const char *root, struct error *err);
/* The directory of a path below the root, borrowed until the next call; *name
 * is the last name of the path. -1 with errno: ENOENT, ENOTDIR or ELOOP if a
 * component is missing, not a directory, or a link. */
int tree_dir_parent(struct tree_dir *t, const char *path, const char **name);
void tree_dir_close(struct tree_dir *t);

#endif
