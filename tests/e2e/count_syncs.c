/* count_syncs.c - preloaded: notes what a program waits for the disk with. */
/* SPDX-License-Identifier: MIT */

/* One letter for each call to the file SYNC_LOG: f fsync, d fdatasync, s
 * syncfs. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

static int note(const char *letter, const char *name, int fd)
{
	int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, name);
	int log = open(getenv("SYNC_LOG"), O_WRONLY | O_APPEND | O_CREAT, 0600);

	if (log < 0 || write(log, letter, 1) != 1)
		abort();
	close(log);
	return real(fd);
}

int fsync(int fd)
{
	return note("f", "fsync", fd);
}

int fdatasync(int fd)
{
	return note("d", "fdatasync", fd);
}

int syncfs(int fd)
{
	return note("s", "syncfs", fd);
}
