/* io.h - system calls that are repeated after EINTR. */
/* SPDX-License-Identifier: MIT */
#ifndef BASE_IO_H
#define BASE_IO_H

#include <poll.h>
#include <sys/types.h>

/*
 * Like read(2), pread(2), write(2), pwrite(2), fsync(2), ftruncate(2) and
 * flock(2), but repeated after EINTR. Signal handlers without SA_RESTART cause
 * that, and stopping the process does. Any thread; also in signal handlers. If
 * Ctrl-C must be able to end a call, poll with the struct stop first.
 */
ssize_t io_read(int fd, void *room, size_t len);
ssize_t io_pread(int fd, void *room, size_t len, off_t at);
ssize_t io_write(int fd, const void *bytes, size_t len);
int io_fsync(int fd);
int io_truncate(int fd, off_t len);
int io_flock(int fd, int how);
/* Write all bytes, in several calls if needed. -1 with errno. */
int io_write_all(int fd, const void *bytes, size_t len);
int io_pwrite_all(int fd, const void *bytes, size_t len, off_t at);
/* Reads len bytes, or fewer only at the end of the file. -1 with errno. */
ssize_t io_pread_all(int fd, void *room, size_t len, off_t at);
/* Like poll(2), but after EINTR waits for the rest of ms. */
int io_poll(struct pollfd *set, nfds_t n, int ms);
/* Waits until the child has ended and reaps it. */
void io_reap(pid_t pid);

#endif
