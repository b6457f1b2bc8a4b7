/* proc.c - finds, starts, runs and kills programs on this machine. */
/* SPDX-License-Identifier: MIT */
/*
 * In this order: finding a program and starting it; children that end with
 * dcode; reading what a child prints; killing a whole process tree; and
 * proc_run_all(), which runs several programs with input, output and a time
 * limit. Begin reading at proc_run_all().
 */
#include "base/proc.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/stop.h"
#include "base/str.h"
#include "base/thread.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED
#endif
#endif
enum { PATH_LARGEST = 1 << 20 };

#define DEFAULT_PATH "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
static struct {
	pthread_mutex_t lock;
	struct rlimit core; /* limit of core files when dcode started */
	bool lowered;       /* dcode has set its own limit to 0 */
} limits = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* Resets the signal mask and the handlers of all signals. Some libcs reject
 * SIGKILL and SIGSTOP here, and glibc reserves the two signals below SIGRTMIN.
 * For each signal that is not in the set, glibc's child makes two system calls
 * instead of one. */
static void init_attributes(posix_spawnattr_t *attr, bool session)
{
	short flags = POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK;
	sigset_t set;

	posix_spawnattr_init(attr);
	sigemptyset(&set);
	posix_spawnattr_setsigmask(attr, &set);
	sigfillset(&set);
	sigdelset(&set, SIGKILL);
	sigdelset(&set, SIGSTOP);
	posix_spawnattr_setsigdefault(attr, &set);
	if (session)
		flags |= POSIX_SPAWN_SETSID;
	posix_spawnattr_setflags(attr, flags);
}

/* Adds the actions that set the child's descriptors and directory. A descriptor
 * is duplicated first if an earlier action would overwrite it: moved[i] is the
 * copy, to be closed by the caller, or -1. */
static int add_fds(posix_spawn_file_actions_t *acts,
		   const struct proc_spec *spec, int *moved)
{
	int rc = 0;

	for (size_t i = 0; i < spec->nfds; i++) {
		int from = spec->fds[i];

		if (from >= 0 && from != (int)i && from < (int)spec->nfds) {
			moved[i] = fcntl(from, F_DUPFD_CLOEXEC, PROC_FDS_MAX);
			if (moved[i] < 0)
				return errno;
		}
	}
	for (size_t i = 0; i < spec->nfds && rc == 0; i++) {
		int from = moved[i] >= 0 ? moved[i] : spec->fds[i];

		if (from < 0)
			rc = posix_spawn_file_actions_addopen(
				acts, (int)i, "/dev/null", O_RDWR, 0);
		else
			rc = posix_spawn_file_actions_adddup2(acts, from,
							      (int)i);
	}
	if (rc == 0)
		rc = posix_spawn_file_actions_addchdir_np(
			acts, spec->cwd ? spec->cwd : "/");
	if (rc == 0)
		rc = posix_spawn_file_actions_addclosefrom_np(acts,
							      (int)spec->nfds);
	return rc;
}

/* True if PATH has an entry that is not an absolute directory. An empty entry
 * means the current directory. */
static bool has_relative_entry(const char *path)
{
	struct str rest = str_of(path);
	struct str dir;

	if (path[0] != '/')
		return true;
	while (str_split(&rest, ':', &dir))
		if (!str_starts(dir, "/"))
			return true;
	return path[strlen(path) - 1] == ':';
}

/* Returns a copy of env whose PATH has only absolute directories, or NULL if
 * env is already like that. Unchanged strings are shared with env;
 * proc_environ_release() frees the rest. proc_spawn() and proc_spawn_bound()
 * call this themselves. */
static char **proc_environ_absolute(char *const *env)
{
	static const char name[] = "PATH=";
	char **copy = NULL;
	size_t n = 0;

	while (env && env[n])
		n++;
	for (size_t i = 0; i < n; i++) {
		const char *value = env[i] + strlen(name);
		char *path;

		if (env[i][0] != 'P' || strncmp(env[i], name, strlen(name)) ||
		    !has_relative_entry(value))
			continue;
		if (!copy) {
			copy = xcalloc(n + 1, sizeof(*copy));
			memcpy(copy, env, n * sizeof(*copy));
		}
		path = proc_absolute_path(value);
		copy[i] = xasprintf("%s%s", name, path);
		free(path);
	}
	return copy;
}

static void proc_environ_release(char **copy, char *const *env)
{
	for (size_t i = 0; copy && copy[i]; i++)
		if (copy[i] != env[i])
			free(copy[i]);
	free(copy);
}

/* Sets the error of a failed posix_spawn(), which does not tell which step
 * failed: looks for the reason. */
static int spawn_failed(const struct proc_spec *spec, int number,
			struct error *err)
{
	struct stat st;

	errno = number;
	if (spec->cwd && (stat(spec->cwd, &st) < 0 || !S_ISDIR(st.st_mode)))
		return error_errno(err, "starting in %s", spec->cwd);
	return error_errno(err, "starting %s", spec->path);
}

void proc_protect(void)
{
#ifndef SANITIZED
	struct rlimit none;

	(void)prctl(PR_SET_DUMPABLE, 0);
	if (getrlimit(RLIMIT_CORE, &limits.core) < 0)
		return;
	/* The hard limit stays as it is: a child could not raise it again. */
	none = (struct rlimit){ 0, limits.core.rlim_max };
	limits.lowered =
		limits.core.rlim_cur && setrlimit(RLIMIT_CORE, &none) == 0;
#endif
}

/* Starts a child that has the core limit in spec. posix_spawn() cannot set
 * limits, so dcode changes its own limit, which the child inherits. During that
 * time only PR_SET_DUMPABLE prevents a core file of dcode. */
static int spawn_with_core(const struct proc_spec *spec, char *const *env,
			   pid_t *pid, const posix_spawn_file_actions_t *acts,
			   const posix_spawnattr_t *attr)
{
	struct rlimit none = { 0, limits.core.rlim_max };
	int rc;

	if (!limits.lowered)
		return posix_spawn(pid, spec->path, acts, attr, spec->argv,
				   env);
	pthread_mutex_lock(&limits.lock);
	if (spec->core)
		(void)setrlimit(RLIMIT_CORE, &limits.core);
	rc = posix_spawn(pid, spec->path, acts, attr, spec->argv, env);
	(void)setrlimit(RLIMIT_CORE, &none);
	pthread_mutex_unlock(&limits.lock);
	return rc;
}

int proc_spawn(const struct proc_spec *spec, pid_t *pid, struct error *err)
{
	posix_spawn_file_actions_t acts;
	posix_spawnattr_t attr;
	char **cleaned = proc_environ_absolute(spec->env);
	int moved[PROC_FDS_MAX];
	int rc;

	for (size_t i = 0; i < PROC_FDS_MAX; i++)
		moved[i] = -1;
	init_attributes(&attr, spec->session);
	posix_spawn_file_actions_init(&acts);
	rc = spec->nfds <= PROC_FDS_MAX && spec->path[0] == '/'
		     ? add_fds(&acts, spec, moved)
		     : EINVAL;
	if (rc == 0)
		rc = spawn_with_core(spec, cleaned ? cleaned : spec->env, pid,
				     &acts, &attr);
	posix_spawn_file_actions_destroy(&acts);
	posix_spawnattr_destroy(&attr);
	for (size_t i = 0; i < spec->nfds && i < PROC_FDS_MAX; i++)
		if (moved[i] >= 0)
			close(moved[i]);
	proc_environ_release(cleaned, spec->env);
	return rc ? spawn_failed(spec, rc, err) : 0;
}

int proc_spawn_user(char *const *argv, const int *fds, pid_t *pid,
		    struct error *err)
{
	extern char **environ;
	const struct proc_spec spec = { .path = "/bin/sh",
					.argv = argv,
					.env = environ,
					.fds = fds,
					.nfds = 3,
					.core = true };

	return proc_spawn(&spec, pid, err);
}

int proc_exit_code(int wstatus)
{
	return WIFSIGNALED(wstatus) ? 128 + WTERMSIG(wstatus)
				    : WEXITSTATUS(wstatus);
}

/* A child that a thread waits for, where there is no pidfd_open(). */
struct awaited {
	pid_t pid;
	int end; /* write end of a pipe: closed when the child has ended */
};

/* Main function of the thread. It leaves the child's status to its owner. If
 * that was faster and has reaped the child, waitid() fails at once. */
static void *await_child(void *arg)
{
	struct awaited *a = arg;
	siginfo_t info;

	while (waitid(P_PID, (id_t)a->pid, &info, WEXITED | WNOWAIT) < 0 &&
	       errno == EINTR)
		;
	close(a->end);
	free(a);
	return NULL;
}

/* proc_fd() for children of this process, on kernels before Linux 5.3 and
 * under programs that do not know the call (valgrind 3.19). */
static int await_by_thread(pid_t pid, struct error *err)
{
	struct awaited *a;
	siginfo_t info;
	pthread_t thread;
	int fd[2];

	if (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT | WNOHANG) < 0 ||
	    pipe2(fd, O_CLOEXEC) < 0)
		return error_errno(err, "watching process %d", (int)pid);
	a = xcalloc(1, sizeof(*a));
	*a = (struct awaited){ pid, fd[1] };
	if (thread_start(&thread, await_child, a, err) < 0) {
		close(fd[0]);
		close(fd[1]);
		free(a);
		return -1;
	}
	pthread_detach(thread);
	return fd[0];
}

int proc_fd(pid_t pid, struct error *err)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);

	if (fd < 0 && errno == ENOSYS)
		return await_by_thread(pid, err);
	if (fd < 0)
		return error_errno(err, "watching process %d", (int)pid);
	return fd;
}

char *proc_find(const char *name, const char *path)
{
	struct str rest = path ? str_of(path) : STR(DEFAULT_PATH);
	struct str dir;

	while (str_split(&rest, ':', &dir)) {
		struct stat st;
		char *full;

		if (!str_starts(dir, "/"))
			continue;
		full = xasprintf("%.*s/%s", (int)dir.len, dir.ptr, name);
		if (stat(full, &st) == 0 && S_ISREG(st.st_mode) &&
		    access(full, X_OK) == 0)
			return full;
		free(full);
	}
	return NULL;
}

char *proc_absolute_path(const char *path)
{
	struct str rest = str_of(path);
	struct buf kept = BUF_INIT(PATH_LARGEST);
	struct str dir;
	char *all;

	while (str_split(&rest, ':', &dir))
		if (str_starts(dir, "/"))
			buf_addf(&kept, "%s%.*s", kept.len ? ":" : "",
				 (int)dir.len, dir.ptr);
	all = xstrdup(kept.len ? kept.ptr : DEFAULT_PATH);
	buf_release(&kept);
	return all;
}

int proc_pipe(int *ours, int *theirs, bool read_end, struct error *err)
{
	int fd[2];

	if (pipe2(fd, O_CLOEXEC) < 0)
		return error_errno(err, "creating a pipe");
	*ours = fd[!read_end];
	*theirs = fd[read_end];
	(void)fcntl(*ours, F_SETFL, O_NONBLOCK);
	return 0;
}

enum { NOT_STARTED = 127, FDS_TRIED = 4096 };

#define TO_THE_LAST (~0U)
#define ON_EXEC 4U /* CLOSE_RANGE_CLOEXEC of Linux 5.11 */
/* Runs between fork() and exec: uses only functions that are safe after fork()
 * in a program with threads. */
static void default_signals(void)
{
	struct sigaction plain = { .sa_handler = SIG_DFL };
	sigset_t none;

	for (int i = 1; i < 32; i++)
		if (i != SIGKILL && i != SIGSTOP)
			(void)sigaction(i, &plain, NULL);
	sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Sets the child's descriptors. First moves each above all target numbers, so
 * that none is overwritten, then each to its target. */
static int place_fds(const struct proc_spec *spec)
{
	int moved[PROC_FDS_MAX];

	for (size_t i = 0; i < spec->nfds; i++) {
		int from = spec->fds[i];

		moved[i] =
			from < 0 ? open("/dev/null", O_RDWR | O_CLOEXEC) : from;
		if (moved[i] >= 0)
			moved[i] =
				fcntl(moved[i], F_DUPFD_CLOEXEC, PROC_FDS_MAX);
		if (moved[i] < 0)
			return -1;
	}
	for (size_t i = 0; i < spec->nfds; i++)
		if (dup2(moved[i], (int)i) < 0)
			return -1;
	return 0;
}

/* Sets close-on-exec on all descriptors from `from` on, because code of a
 * library may have opened some without it. */
static void close_others(unsigned from)
{
	if (syscall(SYS_close_range, from, TO_THE_LAST, ON_EXEC) == 0)
		return;
	for (int fd = (int)from; fd < FDS_TRIED; fd++)
		(void)fcntl(fd, F_SETFD, FD_CLOEXEC);
}

/* Runs in the child after fork(): sets it up and executes the program. If that
 * fails, writes errno to the descriptor report. */
static void run_child(const struct proc_spec *spec, char *const *env,
		      pid_t parent, int report)
{
	struct rlimit most = { spec->data_max, spec->data_max };
	int number;

	report = fcntl(report, F_DUPFD_CLOEXEC, PROC_FDS_MAX);
	/* If the parent ended before PR_SET_PDEATHSIG took effect, no signal
	 * comes. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
		_exit(NOT_STARTED);
	if (spec->data_max)
		(void)setrlimit(RLIMIT_DATA, &most);
	if (spec->umask_077)
		(void)umask(077);
	default_signals();
	close_others((unsigned)spec->nfds);
	if ((!spec->session || setsid() >= 0) && place_fds(spec) == 0 &&
	    (!spec->terminal || ioctl(0, TIOCSCTTY, 0) == 0) &&
	    chdir(spec->cwd ? spec->cwd : "/") == 0)
		execve(spec->path, spec->argv, env);
	number = errno;
	(void)!io_write(report, &number, sizeof(number));
	_exit(NOT_STARTED);
}

int proc_spawn_bound(const struct proc_spec *spec, pid_t *pid,
		     struct error *err)
{
	pid_t parent = getpid();
	char **cleaned;
	int report[2];
	int number = 0;
	ssize_t n;

	if (spec->nfds > PROC_FDS_MAX)
		return error_set(err, ERR_SYSTEM, "too many descriptors");
	if (spec->path[0] != '/')
		return error_set(err, ERR_SYSTEM, "not an absolute path: %s",
				 spec->path);
	if (pipe2(report, O_CLOEXEC) < 0)
		return error_errno(err, "starting %s", spec->path);
	cleaned = proc_environ_absolute(spec->env);
	*pid = fork();
	if (*pid == 0)
		run_child(spec, cleaned ? cleaned : spec->env, parent,
			  report[1]);
	proc_environ_release(cleaned, spec->env);
	close(report[1]);
	if (*pid < 0) {
		close(report[0]);
		return error_errno(err, "starting %s", spec->path);
	}
	/* A successful exec closes the pipe, so end of file means success. */
	while ((n = read(report[0], &number, sizeof(number))) < 0 &&
	       errno == EINTR)
		;
	close(report[0]);
	if (n != sizeof(number))
		return 0;
	while (waitpid(*pid, NULL, 0) < 0 && errno == EINTR)
		;
	*pid = 0;
	errno = number;
	return error_errno(err, "starting %s", spec->path);
}

/* The kernel limits an environment to a quarter of the stack limit, which may
 * be more than this. But dcode's variables come first, unless a shell has
 * reordered them. */
enum { ENVIRON_MAX = 4 << 20 }; /* bytes */

struct proc_entry { /* One process, as in /proc/PID/stat (proc(5)). */
	pid_t pid;
	pid_t parent;
	pid_t session;
	char state;
	bool member;
	unsigned long long started; /* clock ticks since boot */
};

enum { /* fields of /proc/PID/stat after the name, from 0 (proc(5)) */
       STAT_PARENT = 1,
       STAT_SESSION = 3,
       STAT_STARTED = 19,
};

/* Reads the fields after the name into *p. Parsed by hand, because sscanf() of
 * 20 numbers for each process of the machine took most of the time of a
 * command. */
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
			/* skip "-": the fields that are used are never
			 * negative */
			at++;
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

/* Reads /proc/NAME/stat, NAME being a pid in decimal. */
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
	/* search from the end: the name before it may contain any byte */
	end = strrchr(text, ')');
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

pid_t proc_child(pid_t pid)
{
	char path[64];
	int child = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)pid,
		 (int)pid);
	f = fopen(path, "re");
	if (!f)
		return 0;
	if (fscanf(f, "%d", &child) != 1)
		child = 0;
	fclose(f);
	return child;
}

/* Reads all processes from /proc. The caller frees the list. */
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

/* True if NAME=value is in the process's environment. */
static bool has_marker(pid_t pid, const char *marker)
{
	/* with the NUL that ends the variable */
	size_t len = strlen(marker) + 1;
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

/* Marks the processes that belong to the tree. A process that started before
 * the tree's root cannot belong to it. */
static void mark_members(struct proc_entry *list, size_t n,
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

/* Kills a process through a pidfd: if it has ended and its pid was reused, the
 * new process is not killed. */
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
	mark_members(list, n, tree);
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

enum {
	KILL_PASSES = 20,
	REAP_MS = 2000, /* ms to wait for a killed process before giving up */
	REAP_STEP_MS = 5,
	FDS = 4,
};

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static int make_pipe(int ours_end, int fd[2], struct error *err)
{
	if (pipe2(fd, O_CLOEXEC) < 0)
		return error_errno(err, "starting a program");
	(void)fcntl(fd[ours_end], F_SETFL, O_NONBLOCK);
	return 0;
}

/* Creates the pipes and starts the program. */
static int start_program(struct proc_run *p, struct error *err)
{
	int in[2] = { -1, -1 };
	int out[2] = { -1, -1 };
	int said[2] = { -1, -1 };
	int rc = -1;

	if (make_pipe(1, in, err) == 0 && make_pipe(0, out, err) == 0 &&
	    make_pipe(0, said, err) == 0) {
		int fds[] = { in[0], out[1], said[1] };
		struct proc_spec spec = {
			.path = p->program,
			.argv = p->argv,
			.env = p->env,
			.cwd = p->cwd,
			.fds = fds,
			.nfds = 3,
			.session = true,
			.core = p->core,
		};

		rc = proc_spawn(&spec, &p->pid, err);
	}
	close_fd(&in[0]);
	close_fd(&out[1]);
	close_fd(&said[1]);
	p->in_fd = in[1];
	p->out_fd = out[0];
	p->err_fd = said[0];
	return rc;
}

static void close_all(struct proc_run *p)
{
	close_fd(&p->in_fd);
	close_fd(&p->out_fd);
	close_fd(&p->err_fd);
	close_fd(&p->pid_fd);
	p->ended = true;
}

/* Kills the program and all its descendants, including those that left its
 * process group. The program must not have been reaped, so that its pid is
 * valid. */
static void kill_tree(const struct proc_run *p)
{
	const struct proc_tree tree = { .root = p->pid };

	for (int i = 0; i < KILL_PASSES; i++) {
		if (proc_tree_kill(&tree) <= 0)
			break;
		(void)poll(NULL, 0, 1);
	}
	(void)kill(-p->pid, SIGKILL);
	(void)kill(p->pid, SIGKILL);
}

/* Reads the available bytes. False at the end of the stream. */
static bool read_some(int fd, struct buf *out)
{
	char chunk[8192];
	ssize_t n = io_read(fd, chunk, sizeof(chunk));

	if (n > 0) {
		buf_add(out, chunk, (size_t)n);
		explicit_bzero(chunk, (size_t)n); /* the output may be a key */
	}
	return n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR));
}

/* Reads the output that is available now. Does not wait for more: background
 * programs may keep the pipe open. */
static void drain_output(int fd, struct buf *out)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	size_t most = 64;

	while (fd >= 0 && most-- && io_poll(&p, 1, 0) > 0 && read_some(fd, out))
		;
}

/* Reaps the killed program. Returns false if that is not possible within
 * REAP_MS: SIGKILL has no effect on a program of another user, takes effect
 * late in an uninterruptible wait, and a traced program cannot be reaped before
 * its tracer has reaped it. */
static bool reap_program(const struct proc_run *p, int *status)
{
	struct pollfd fd = { .fd = p->pid_fd, .events = POLLIN };
	int64_t until = clock_ms() + REAP_MS;
	pid_t found;

	(void)io_poll(&fd, fd.fd >= 0, REAP_MS);
	while ((found = waitpid(p->pid, status, WNOHANG)) != p->pid) {
		if ((found < 0 && errno != EINTR) || clock_ms() >= until)
			return false;
		(void)poll(NULL, 0, REAP_STEP_MS);
	}
	return true;
}

static void finish_run(struct proc_run *p)
{
	/* status to report if it cannot be reaped: killed by SIGKILL */
	int status = SIGKILL;

	(void)reap_program(p, &status);
	p->status = proc_exit_code(status);
	drain_output(p->out_fd, &p->out);
	drain_output(p->err_fd, &p->err);
	close_all(p);
}

static void end_early(struct proc_run *p)
{
	kill_tree(p);
	finish_run(p);
}

static void start_run(struct proc_run *p)
{
	p->pid_fd = p->in_fd = p->out_fd = p->err_fd = -1;
	p->deadline = p->ms ? clock_ms() + p->ms : INT64_MAX;
	if (p->program && start_program(p, &p->failed) == 0)
		p->pid_fd = proc_fd(p->pid, &p->failed);
	if (p->pid && p->pid_fd < 0)
		end_early(p);
	else if (!p->pid)
		close_all(p);
}

static void write_input(struct proc_run *p)
{
	struct str rest = str_skip(p->input, p->written);
	ssize_t n = rest.len ? write(p->in_fd, rest.ptr, rest.len) : 0;

	if (n > 0)
		p->written += (size_t)n;
	if ((n < 0 && errno != EAGAIN && errno != EINTR) ||
	    p->written == p->input.len)
		close_fd(&p->in_fd);
}

/* Handles the events of one program: input, output, its end and its
 * deadline. */
static void handle_events(struct proc_run *p, const struct pollfd *fds)
{
	if (fds[0].revents)
		write_input(p);
	if (fds[1].revents && !read_some(p->out_fd, &p->out))
		close_fd(&p->out_fd);
	if (fds[2].revents && !read_some(p->err_fd, &p->err))
		close_fd(&p->err_fd);
	if (fds[3].revents) {
		finish_run(p);
	} else if (p->ends_over && p->out.over) {
		end_early(p);
	} else if (clock_ms() >= p->deadline) {
		p->timed_out = true;
		end_early(p);
	}
}

/* Fills the poll set for all programs. False if all have ended. *next: the
 * earliest deadline. */
static bool fill_poll_set(struct proc_run *const *list, size_t n,
			  struct pollfd *fds, int64_t *next)
{
	bool any = false;

	*next = INT64_MAX;
	for (size_t i = 0; i < n; i++) {
		const struct proc_run *p = list[i];
		struct pollfd *f = &fds[i * FDS];

		f[0] = (struct pollfd){ .fd = p->in_fd, .events = POLLOUT };
		f[1] = (struct pollfd){ .fd = p->out_fd, .events = POLLIN };
		f[2] = (struct pollfd){ .fd = p->err_fd, .events = POLLIN };
		f[3] = (struct pollfd){ .fd = p->pid_fd, .events = POLLIN };
		any |= !p->ended;
		if (!p->ended && p->deadline < *next)
			*next = p->deadline;
	}
	return any;
}

static void wait_for(struct pollfd *fds, size_t n, int64_t next,
		     const struct stop *stop)
{
	struct stop own = { .deadline = next };

	fds[n++] = (struct pollfd){ .fd = stop_fd(stop), .events = POLLIN };
	(void)poll(fds, n, stop_poll_ms(stop, stop_poll_ms(&own, -1)));
}

int proc_run_all(struct proc_run *const *list, size_t n,
		 const struct stop *stop, struct error *err)
{
	struct pollfd *fds = xcalloc(n * FDS + 1, sizeof(*fds));
	int64_t next;
	int rc = 0;

	for (size_t i = 0; i < n; i++)
		start_run(list[i]);
	while (rc == 0 && fill_poll_set(list, n, fds, &next)) {
		wait_for(fds, n * FDS, next, stop);
		rc = stop_check(stop, err);
		for (size_t i = 0; rc == 0 && i < n; i++)
			if (!list[i]->ended)
				handle_events(list[i], &fds[i * FDS]);
	}
	for (size_t i = 0; i < n; i++)
		if (!list[i]->ended)
			end_early(list[i]);
	free(fds);
	return rc;
}

int proc_output(const char *path, char *const *argv, char *const *env,
		struct buf *out, const struct stop *stop, struct error *err)
{
	struct proc_run run = { .program = path,
				.argv = argv,
				.env = env,
				.ends_over = true,
				.out = *out };
	struct proc_run *list[] = { &run };
	int rc = proc_run_all(list, 1, stop, err);

	*out = run.out;
	buf_release(&run.err);
	if (rc == 0 && run.failed.code) {
		*err = run.failed;
		rc = -1;
	}
	if (rc == 0)
		rc = buf_check(out, "its output", err);
	return rc < 0 ? -1 : run.status;
}
