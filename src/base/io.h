/* io.h - system calls that a signal does not end. */
/* SPDX-License-Identifier: MIT */
#ifndef BASE_IO_H
#define BASE_IO_H

#include <poll.h>
#include <sys/types.h>

/*
 * As read(2), pread(2), write(2), pwrite(2), fsync(2), ftruncate(2) and
 * flock(2), but begun again after EINTR: a handler without SA_RESTART, and a
 * stop of the process, end such calls. Any thread; also in signal handlers. For
 * what must end with Ctrl-C, poll first, with the stop.
 */
ssize_t io_read(int fd, void *room, size_t len);
ssize_t io_pread(int fd, void *room, size_t len, off_t at);
ssize_t io_write(int fd, const void *bytes, size_t len);
int io_fsync(int fd);
int io_truncate(int fd, off_t len);
int io_flock(int fd, int how);
/* All of it, in as many calls as that takes; -1 with errno. */
int io_write_all(int fd, const void *bytes, size_t len);
int io_pwrite_all(int fd, const void *bytes, size_t len, off_t at);
/* As many bytes as there are, at most len: fewer only at the end of the file;
 * -1 with errno. */
ssize_t io_pread_all(int fd, void *room, size_t len, off_t at);
/* As poll(2), but ms, if it is not negative, are waited for in spite of EINTR.
 */
int io_poll(struct pollfd *set, nfds_t n, int ms);
/* Waits until this child has ended. */
void io_reap(pid_t pid);

#endif
