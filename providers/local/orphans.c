/* orphans.c - commands on this machine do not outlive a dcode that is killed.
 */
/* SPDX-License-Identifier: MIT */
#include "providers/local/orphans.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"
#include "base/proc.h"

enum { END_MS = 500 };

/* In the environment, so that lists of processes stay readable. */
static const char guard_sh[] = { 'G', 'U', 'A', 'R', 'D', '=',
#include "scripts/sandbox/none_guard.sh.inc"
				 0 };
static const char kill_sh[] = { 'K', 'I', 'L', 'L', '=',
#include "scripts/sandbox/supervise_kill.sh.inc"
#include "scripts/sandbox/supervise_kill_tree.sh.inc"
				0 };

void orphans_init(struct orphans *o)
{
	*o = (struct orphans){ .fd = -1 };
	pthread_mutex_init(&o->lock, NULL);
}

/* Locked. In a session of its own: what kills all of dcode's spares it. */
static void start(struct orphans *o, const char *token)
{
	char *argv[] = { "sh",          "-c",          "eval \"$GUARD\"",
			 "dcode-guard", (char *)token, NULL };
	char *env[] = { "PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
			(char *)guard_sh, (char *)kill_sh, NULL };
	int theirs[3] = { -1, -1, -1 };
	struct proc_spec spec = { .path = "/bin/sh",
				  .argv = argv,
				  .env = env,
				  .fds = theirs,
				  .nfds = 3,
				  .session = true };
	struct error ignored = { 0 };
	int fd[2];

	o->pid = -1;
	if (pipe2(fd, O_CLOEXEC) < 0)
		return;
	theirs[0] = fd[0];
	if (proc_spawn(&spec, &o->pid, &ignored) == 0) {
		o->fd = fd[1];
	} else {
		o->pid = -1;
		close(fd[1]);
	}
	close(fd[0]);
}

/* SIGPIPE is ignored: a guard that was killed guards no more. */
static void tell(const struct orphans *o, char what, const char *number)
{
	char line[32];
	int len = snprintf(line, sizeof(line), "%c%s\n", what, number);

	if (o->fd >= 0)
		(void)!io_write(o->fd, line, (size_t)len);
}

void orphans_begin(struct orphans *o, const char *token, const char *number)
{
	pthread_mutex_lock(&o->lock);
	if (!o->pid)
		start(o, token);
	tell(o, '+', number);
	pthread_mutex_unlock(&o->lock);
}

void orphans_end(struct orphans *o, const char *number)
{
	pthread_mutex_lock(&o->lock);
	tell(o, '-', number);
	pthread_mutex_unlock(&o->lock);
}

void orphans_release(struct orphans *o)
{
	struct error ignored = { 0 };

	if (o->fd >= 0)
		close(o->fd);
	if (o->pid > 0) {
		struct pollfd p = { .fd = proc_fd(o->pid, &ignored),
				    .events = POLLIN };

		if (p.fd >= 0 && poll(&p, 1, END_MS) > 0)
			(void)waitpid(o->pid, NULL, WNOHANG);
		if (p.fd >= 0)
			close(p.fd);
	}
	pthread_mutex_destroy(&o->lock);
}
