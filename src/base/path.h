/* path.h - names of files on this machine. */
/* SPDX-License-Identifier: MIT */
#ifndef BASE_PATH_H
#define BASE_PATH_H

#include <sys/types.h>

#include "base/buf.h"
#include "base/error.h"

struct stop;

/* "a/b" from "a" and "b"; an absolute b is returned as it is. Owned. */
char *path_join(const char *a, const char *b);
/* "~" and "~/x" become home; anything else is copied. Owned. */
char *path_expand(const char *path, const char *home);
/* Whether both names, links followed, are of one file or directory. False when
 * either is NULL or cannot be looked up. */
bool path_is_same(const char *a, const char *b);
/* Creates the directory and its parents with this mode; existing is fine. */
int path_mkdirs(const char *path, mode_t mode, struct error *err);
/*
 * Makes the file (mode 0600, no link) where it is missing, and locks it against
 * other processes; closing the descriptor that it returns unlocks it. Waits
 * until stop says otherwise; NULL: not at all. -1 with ERR_TIMEOUT: another
 * process has it.
 */
int path_lock(const char *path, const struct stop *stop, struct error *err);
/* The same, against path_lock() alone: any number of processes may hold it. */
int path_lock_shared(const char *path, const struct stop *stop,
		     struct error *err);
/* Makes a shared lock one that nobody else holds. -1: somebody does; then
 * nothing is locked any more. */
int path_lock_upgrade(int fd);
/* Appends the whole file; ERR_LIMIT when it is larger than out->max. */
int path_read(const char *path, struct buf *out, struct error *err);
/* The same for a file that a repository may have put there: a FIFO, which would
 * be waited for, a device without an end or a directory is ERR_CONFIG. */
int path_read_regular(const char *path, struct buf *out, struct error *err);
/* The rest of what is open; path is for messages. Closes fd. */
int path_read_fd(int fd, const char *path, struct buf *out, struct error *err);
/* Replaces the file atomically: temporary, fsync, rename. */
int path_write(const char *path, struct str data, mode_t mode,
	       struct error *err);
/* rm -rf that never leaves the tree and never follows a symbolic link. */
int path_remove_tree(const char *path, struct error *err);

enum {
	DURABLE_FEW = 8
}; /* so few files are better synced one by one: the
      whole of a busy file system may take seconds */

/*
 * Waits until all that was written to the file system of the open file fd is
 * on the disk, its files' data and names (syncfs). 1: it is; 0: here only
 * fsync() of each file tells of errors (Linux before 5.8, and what is no
 * file system of a local disk); -1 with errno.
 */
int durable_filesystem(int fd);

#endif
