/* path.h - operations on files and directories by name. */
/* SPDX-License-Identifier: MIT */
#ifndef BASE_PATH_H
#define BASE_PATH_H

#include <sys/types.h>

#include "base/buf.h"
#include "base/error.h"

struct stop;

/* Joins "a" and "b" to "a/b". An absolute b is returned unchanged. Owned. */
char *path_join(const char *a, const char *b);
/* Returns the last component of path, or path itself if that is empty ("a/").
 * Borrowed. */
const char *path_name(const char *path);
/* True if name is program, or program with a version: "python3.11" of
 * "python". */
bool path_is_version_of(const char *name, const char *program);
/* Replaces the "~" of "~" and "~/x" by home. Other paths, also "~user", are
 * copied. Owned. */
char *path_expand(const char *path, const char *home);
/* True if both names, with links followed, refer to the same file or directory.
 * False if either is NULL or cannot be looked up. */
bool path_is_same(const char *a, const char *b);
/* Creates the directory and its parents with this mode. An existing directory
 * is not an error. */
int path_mkdirs(const char *path, mode_t mode, struct error *err);
/*
 * Creates the file if it is missing (mode 0600; a link is refused) and locks it
 * against other processes. Closing the returned descriptor unlocks it. If
 * another process has the lock, waits until stop ends the wait; stop NULL: does
 * not wait. Returns -1 with ERR_TIMEOUT if the lock was not obtained.
 */
int path_lock(const char *path, const struct stop *stop, struct error *err);
/* Like path_lock(), but shared: several processes may hold it at once, but none
 * while another holds path_lock(). */
int path_lock_shared(const char *path, const struct stop *stop,
		     struct error *err);
/* Turns a shared lock into an exclusive one. Returns -1 if another process
 * holds it too; then the shared lock is lost as well. */
int path_lock_upgrade(int fd);
/* Appends the whole file. ERR_LIMIT if it does not fit into out. */
int path_read(const char *path, struct buf *out, struct error *err);
/* Like path_read(), for files that a repository may contain. ERR_CONFIG for
 * FIFOs, devices and directories: reading them could block or never end. */
int path_read_regular(const char *path, struct buf *out, struct error *err);
/* Appends the rest of the open file and closes fd. path is used in messages. */
int path_read_fd(int fd, const char *path, struct buf *out, struct error *err);
/* Replaces the file atomically: writes a temporary file, fsync, rename. If that
 * fails, errno is still the reason. */
int path_write(const char *path, struct str data, mode_t mode,
	       struct error *err);
/* Removes a tree like rm -rf, without leaving the tree or following links. */
int path_remove_tree(const char *path, struct error *err);

enum {
	/* Up to so many files are synced one by one: syncing all of a busy file
	 * system may take seconds. */
	DURABLE_FEW = 8
};

/*
 * Waits until everything that was written to the file system of fd is on the
 * disk, both data and names (syncfs). Returns 1 when it is. Returns 0 if
 * syncfs() does not report errors here (Linux before 5.8, or not a local file
 * system): then each file needs fsync(). Returns -1 with errno.
 */
int durable_filesystem(int fd);

#endif
