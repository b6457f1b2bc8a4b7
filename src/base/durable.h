/* durable.h - many files put on the disk with one wait. */
/* SPDX-License-Identifier: MIT */
#ifndef BASE_DURABLE_H
#define BASE_DURABLE_H

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
