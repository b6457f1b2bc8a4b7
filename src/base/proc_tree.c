/* proc_tree.c - kills a process and all that came of it, wherever it hides. */
/* SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/proc.h"
#include "base/stop.h"

/* An environment is at most a quarter of the stack limit; ours comes first
 * unless a shell reordered it. */
enum { ENVIRON_MAX = 4 << 20 }; /* bytes */

struct proc_entry { /* proc(5), /proc/PID/stat */
	pid_t pid;
	pid_t parent;
	pid_t session;
	char state;
	bool member;
	unsigned long long started; /* clock ticks since boot */
};

enum { /* fields of /proc/PID/stat behind the name, from 0 (proc(5)) */
       STAT_PARENT = 1,
       STAT_SESSION = 3,
       STAT_STARTED = 19,
};

/* Reads the fields behind the name in *p. By hand: sscanf() of 20 numbers for
 * each process of the machine was most of what a command cost. */
static int parse_stat(const char *at, struct proc_entry *p)
{
	unsigned long long value = 0;

	if (*at++ != ' ' || !*at)
		return -1;
	p->state = *at++;
	for (int field = 1; field <= STAT_STARTED; field++) {
		if (*at++ != ' ')
			return -1;
		if (*at == '-')
			at++; /* none of ours is negative */
		value = 0;
		while (*at >= '0' && *at <= '9')
			value = value * 10 + (unsigned long long)(*at++ - '0');
		if (field == STAT_PARENT)
			p->parent = (pid_t)value;
		else if (field == STAT_SESSION)
			p->session = (pid_t)value;
	}
	p->started = value;
	return 0;
}

/* Of the process whose number is name, in decimal. */
static int read_stat(const char *name, struct proc_entry *p)
{
	char path[64] = "/proc/";
	char text[1024];
	char *at = path + strlen(path);
	char *end;
	ssize_t n;
	int fd;

	if (strlen(name) > 20)
		return -1;
	at = stpcpy(at, name);
	memcpy(at, "/stat", sizeof("/stat"));
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	n = io_read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0)
		return -1;
	text[n] = '\0';
	end = strrchr(text, ')'); /* the name before it may hold anything */
	if (!end || parse_stat(end + 1, p) < 0)
		return -1;
	p->pid = (pid_t)strtol(name, NULL, 10);
	p->member = false;
	return 0;
}

unsigned long long proc_started(pid_t pid)
{
	struct proc_entry p;
	char name[16];

	snprintf(name, sizeof(name), "%d", (int)pid);
	if (read_stat(name, &p) < 0 || p.state == 'Z' || p.state == 'X')
		return 0;
	return p.started;
}

static struct proc_entry *read_all(size_t *n)
{
	DIR *dir = opendir("/proc");
	struct proc_entry *list = NULL;
	size_t room = 0;
	struct dirent *e;

	*n = 0;
	if (!dir)
		return NULL;
	while ((e = readdir(dir))) {
		if (!isdigit((unsigned char)e->d_name[0]))
			continue;
		if (*n == room) {
			room = room ? 2 * room : 256;
			list = xrealloc(list, room, sizeof(*list));
		}
		if (read_stat(e->d_name, &list[*n]) == 0)
			++*n;
	}
	closedir(dir);
	return list;
}

/* True when NAME=value is in the process's environment. */
static bool has_marker(pid_t pid, const char *marker)
{
	size_t len = strlen(marker) + 1; /* with its NUL */
	struct buf env = BUF_INIT(ENVIRON_MAX);
	struct error ignored = { 0 };
	char path[64];
	bool found = false;

	snprintf(path, sizeof(path), "/proc/%d/environ", (int)pid);
	(void)path_read(path, &env, &ignored);
	for (size_t at = 0; !found && at + len <= env.len;) {
		char *end = memchr(env.ptr + at, '\0', env.len - at);

		found = memcmp(env.ptr + at, marker, len) == 0;
		if (!end)
			break;
		at = (size_t)(end - env.ptr) + 1;
	}
	buf_release(&env);
	return found;
}

static bool has_member(const struct proc_entry *list, size_t n, pid_t pid)
{
	for (size_t i = 0; i < n; i++)
		if (list[i].pid == pid)
			return list[i].member;
	return false;
}

static void mark_children(struct proc_entry *list, size_t n,
			  unsigned long long since)
{
	bool more = true;

	while (more) {
		more = false;
		for (size_t i = 0; i < n; i++)
			if (!list[i].member && list[i].started >= since &&
			    has_member(list, n, list[i].parent))
				more = list[i].member = true;
	}
}

static void mark(struct proc_entry *list, size_t n,
		 const struct proc_tree *tree)
{
	unsigned long long since = ULLONG_MAX;

	for (size_t i = 0; i < n; i++)
		if (list[i].pid == tree->root)
			since = list[i].started;
	for (size_t i = 0; i < n; i++) {
		struct proc_entry *p = &list[i];

		if (p->started < since)
			continue;
		p->member = p->pid == tree->root || p->session == tree->root ||
			    (tree->marker && has_marker(p->pid, tree->marker));
	}
	mark_children(list, n, since);
}

/* Through a descriptor, so that a pid which was reused meanwhile is safe. */
static void kill_one(const struct proc_entry *p)
{
	int fd = (int)syscall(SYS_pidfd_open, p->pid, 0);

	if (fd < 0) {
		if (errno != ESRCH && proc_started(p->pid) == p->started)
			kill(p->pid, SIGKILL);
		return;
	}
	if (proc_started(p->pid) == p->started)
		syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0);
	close(fd);
}

int proc_tree_kill(const struct proc_tree *tree)
{
	size_t n;
	struct proc_entry *list = read_all(&n);
	int alive = 0;

	if (!list)
		return -1;
	mark(list, n, tree);
	for (size_t i = 0; i < n; i++) {
		const struct proc_entry *p = &list[i];

		if (!p->member || p->state == 'Z' || p->state == 'X' ||
		    p->pid == getpid() || p->pid <= 1 ||
		    (tree->spare_root && p->pid == tree->root))
			continue;
		kill_one(p);
		alive++;
	}
	free(list);
	return alive;
}

int proc_kill_below(int64_t ms)
{
	struct proc_tree tree = { .root = getpid(), .spare_root = true };
	struct stop own = stop_cleanup(ms);
	struct error ignored = { 0 };
	int alive;

	for (;;) {
		alive = proc_tree_kill(&tree);
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
		if (alive == 0 && waitpid(-1, NULL, WNOHANG) < 0)
			return 0;
		if (stop_sleep(&own, 1, &ignored) < 0)
			return alive > 0 ? alive : 1;
	}
}
