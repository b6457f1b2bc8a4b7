/* interrupt_calls.c - preloaded: a third of all calls is interrupted. */
/* SPDX-License-Identifier: MIT */

/* Calls of the program whose name is in INTERRUPTED alone, with EINTR and
 * nothing done; SEED says which. The libraries' own calls go past it. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static int is_interrupted(const void *caller)
{
	static __thread unsigned random;
	const char *wanted = getenv("INTERRUPTED");
	Dl_info info;

	if (!random && getenv("SEED"))
		random = (unsigned)atoi(getenv("SEED"));
	random = random * 1103515245 + 12345; /* as rand() does it */
	if (!wanted || strcmp(program_invocation_short_name, wanted) != 0 ||
	    !dladdr(caller, &info) || !info.dli_fname ||
	    strstr(info.dli_fname, ".so") || (random >> 16) % 3)
		return 0;
	errno = EINTR;
	return 1;
}

#define REAL(name) ((__typeof__(&(name)))dlsym(RTLD_NEXT, #name))
#define CUT is_interrupted(__builtin_return_address(0))

ssize_t read(int fd, void *room, size_t len)
{
	return CUT ? -1 : REAL(read)(fd, room, len);
}

ssize_t pread(int fd, void *room, size_t len, off_t at)
{
	return CUT ? -1 : REAL(pread)(fd, room, len, at);
}

ssize_t write(int fd, const void *bytes, size_t len)
{
	return CUT ? -1 : REAL(write)(fd, bytes, len);
}

ssize_t pwrite(int fd, const void *bytes, size_t len, off_t at)
{
	return CUT ? -1 : REAL(pwrite)(fd, bytes, len, at);
}

ssize_t recv(int fd, void *room, size_t len, int flags)
{
	return CUT ? -1 : REAL(recv)(fd, room, len, flags);
}

ssize_t send(int fd, const void *bytes, size_t len, int flags)
{
	return CUT ? -1 : REAL(send)(fd, bytes, len, flags);
}

int poll(struct pollfd *set, nfds_t n, int ms)
{
	return CUT ? -1 : REAL(poll)(set, n, ms);
}

int fsync(int fd)
{
	return CUT ? -1 : REAL(fsync)(fd);
}

int ftruncate(int fd, off_t len)
{
	return CUT ? -1 : REAL(ftruncate)(fd, len);
}

int flock(int fd, int how)
{
	return CUT ? -1 : REAL(flock)(fd, how);
}

pid_t waitpid(pid_t pid, int *status, int how)
{
	return CUT ? -1 : REAL(waitpid)(pid, status, how);
}
