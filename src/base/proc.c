/* proc.c - child processes: start one, name its end, find a program. */
/* SPDX-License-Identifier: MIT */
#include "base/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED
#endif
#endif

enum { PATH_LARGEST = 1 << 20 };

#define DEFAULT_PATH "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"

/* Every signal that a program may handle: SIGKILL and SIGSTOP are refused by
 * some libcs, and the two below SIGRTMIN belong to glibc. */
static void attributes(posix_spawnattr_t *attr, bool session)
{
	short flags = POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK;
	sigset_t set;

	posix_spawnattr_init(attr);
	sigemptyset(&set);
	posix_spawnattr_setsigmask(attr, &set);
	for (int i = 1; i < 32; i++)
		if (i != SIGKILL && i != SIGSTOP)
			sigaddset(&set, i);
	posix_spawnattr_setsigdefault(attr, &set);
	if (session)
		flags |= POSIX_SPAWN_SETSID;
	posix_spawnattr_setflags(attr, flags);
}

/* A descriptor that another's target would overwrite moves out of the way:
 * moved[i] is the copy to close, or -1. */
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

/* An empty entry means the current directory, as a relative one does. */
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

char **proc_environ_absolute(char *const *env)
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

void proc_environ_release(char **copy, char *const *env)
{
	for (size_t i = 0; copy && copy[i]; i++)
		if (copy[i] != env[i])
			free(copy[i]);
	free(copy);
}

/* posix_spawn reports one number for all its steps. */
static int spawn_failed(const struct proc_spec *spec, int number,
			struct error *err)
{
	struct stat st;

	errno = number;
	if (spec->cwd && (stat(spec->cwd, &st) < 0 || !S_ISDIR(st.st_mode)))
		return error_errno(err, "starting in %s", spec->cwd);
	return error_errno(err, "starting %s", spec->path);
}

static struct {
	pthread_mutex_t lock;
	struct rlimit core; /* as dcode was started with */
	bool lowered;       /* ours is 0 */
} limits = { .lock = PTHREAD_MUTEX_INITIALIZER };

void proc_protect(void)
{
#ifndef SANITIZED
	struct rlimit none;

	(void)prctl(PR_SET_DUMPABLE, 0);
	if (getrlimit(RLIMIT_CORE, &limits.core) < 0)
		return;
	/* The hard limit stays: a child could not get it back. */
	none = (struct rlimit){ 0, limits.core.rlim_max };
	limits.lowered =
		limits.core.rlim_cur && setrlimit(RLIMIT_CORE, &none) == 0;
#endif
}

/* posix_spawn() cannot set limits, so the child inherits the right one from us.
 * Meanwhile PR_SET_DUMPABLE alone prevents a core file. */
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
	attributes(&attr, spec->session);
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

int proc_fd(pid_t pid, struct error *err)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);

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
