/* treefile.h - accesses a path below a tree's root without following links. */
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
	TREEFILE_BLOCKED = 2, /* a component above is not a directory */
};

enum { /* git's modes of files in a tree */
       NAME_FILE = 0100644,
       NAME_PROGRAM = 0100755,
       NAME_LINK = 0120000,
};

/* The state of a path: current, earlier, or future. */
struct treefile {
	unsigned mode;         /* git's, TREEFILE_..., or 0: absent */
	mode_t perm;           /* permissions, mask 07777 */
	struct timespec mtime; /* tv_nsec UTIME_OMIT: use the time of writing */
	/* of the content, or of a link's target */
	unsigned char hash[TREEFILE_HASH];
};

/* True if kind, executable bit and content are equal, or both are absent. */
bool treefile_equal(const struct treefile *a, const struct treefile *b);
/* Opens the directory that contains path, which is relative to the directory
 * root. No component may be a link. *name is the last component of path. -1
 * with errno: ENOENT, ENOTDIR or ELOOP if the directory does not exist. The
 * caller closes it. */
int treefile_parent(int root, const char *path, const char **name);
/* Reads the state of path, including its whole content. */
int treefile_stat(int root, const char *path, struct treefile *t,
		  struct error *err);
/* Copies from one descriptor to another and hashes the bytes; to may be -1. */
int treefile_copy(int from, int to, unsigned char hash[TREEFILE_HASH]);

/* A write; token is part of the two temporary names next to the path. */
struct treefile_write {
	int root;
	const char *path;
	const struct treefile *from; /* expected current state */
	const struct treefile *to;   /* state to write */
	int source;                  /* content of to; -1 for a removal */
	const char *token; /* unique per path: ".dcode-TOKEN.new", ".swap" */
};

/*
 * Writes the new file next to path, in a directory that must exist. The file
 * may not be on disk yet: treefile_sync() waits for that, or one sync for many
 * files (base/durable.h). Afterwards call treefile_put().
 */
int treefile_stage(const struct treefile_write *w, struct error *err);
int treefile_sync(const struct treefile_write *w, struct error *err);
/*
 * Replaces path by the staged file, if path is in the state from; otherwise
 * ERR_BUSY and it stays unchanged. Both names are exchanged in one step, then
 * the displaced file is checked again, so that nothing written meanwhile is
 * lost.
 */
int treefile_put(const struct treefile_write *w, struct error *err);
/* Removes path under the same condition. */
int treefile_remove(const struct treefile_write *w, struct error *err);
/*
 * Call after a crash: removes the temporary files of w next to path. If one has
 * neither from's nor to's content, somebody wrote to it during the write: it is
 * put back, or saved as "PATH.saved-TOKEN" (*saved is then true).
 */
int treefile_clean(const struct treefile_write *w, bool *saved,
		   struct error *err);

/* Creates or removes a directory below root. It is not an error if
 * treefile_mkdir() finds that it exists, or treefile_rmdir() that it is missing
 * or not empty. The current directory is not removed. */
int treefile_mkdir(int root, const char *path, mode_t perm, struct error *err);
int treefile_rmdir(int root, const char *path, struct error *err);

/* Opens the directories of a tree one after another. With sorted paths each
 * directory is opened only once. */
struct tree_dir {
	int root;
	int fd;     /* descriptor of path; the root's for "" */
	char *path; /* owned, with a slash at its end, or "" */
};

int tree_dir_open(struct tree_dir *t, const char *root, struct error *err);
/* Returns the directory of a path below the root, borrowed until the next call;
 * *name is the last component of the path. -1 with errno: ENOENT, ENOTDIR or
 * ELOOP if a component is missing, not a directory, or a link. */
int tree_dir_parent(struct tree_dir *t, const char *path, const char **name);
void tree_dir_close(struct tree_dir *t);

#endif
