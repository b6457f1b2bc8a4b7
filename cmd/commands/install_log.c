/* install_log.c - programs of an installation, their output kept in a log. */
/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/io.h"
#include "base/path.h"
#include "base/proc.h"
#include "base/sanitize.h"
#include "base/str.h"
#include "cmd/commands/install.h"
#include "cmd/credential.h"
#include "config/settings_env.h"

enum { LINE = 1000, LOG_MAX = 4 << 20, KILL_MS = 5000 };

int install_log_open(struct install_log *log, const struct settings *set,
		     struct error *err)
{
	char *dir = credential_dir(set);
	int how = O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW;
	int rc = path_mkdirs(dir, 0700, err);

	*log = (struct install_log){ path_join(dir, "install.log"), -1, 0,
				     set };
	free(dir);
	if (rc < 0)
		return -1;
	log->fd = open(log->path, how, 0600);
	if (log->fd < 0)
		return error_errno(err, "opening %s", log->path);
	log->begin = lseek(log->fd, 0, SEEK_END);
	if (log->begin > LOG_MAX && io_truncate(log->fd, 0) == 0)
		log->begin = 0;
	return 0;
}

void install_log_close(struct install_log *log)
{
	if (log->fd >= 0)
		close(log->fd);
	free(log->path);
	log->fd = -1;
	log->path = NULL;
}

static void write_command(int fd, char *const *argv)
{
	time_t now = time(NULL);
	struct tm tm;
	char when[40] = "";

	if (localtime_r(&now, &tm))
		strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S", &tm);
	dprintf(fd, "\n[%s] %s", when, argv[0]);
	for (size_t i = 1; argv[i]; i++)
		dprintf(fd, " %s", argv[i]);
	dprintf(fd, "\n");
}

/* Everything that it started too. */
static void kill_all(pid_t pid)
{
	struct proc_tree tree = { .root = pid };
	int64_t end = clock_ms() + KILL_MS;

	while (proc_tree_kill(&tree) > 0 && clock_ms() < end)
		poll(NULL, 0, 10);
}

static int wait_end(pid_t pid, const struct stop *stop, struct error *err)
{
	int fd = proc_fd(pid, err);
	int status = 0;
	int rc = fd < 0 ? -1 : 0;

	while (rc == 0) {
		struct pollfd p[2] = {
			{ .fd = fd, .events = POLLIN },
			{ .fd = stop_fd(stop), .events = POLLIN },
		};

		if (poll(p, 2, stop_poll_ms(stop, -1)) < 0 && errno != EINTR)
			rc = error_errno(err, "waiting");
		else if (p[0].revents)
			break;
		else
			rc = stop_check(stop, err);
	}
	if (rc < 0)
		kill_all(pid);
	if (fd >= 0)
		close(fd);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return rc < 0 ? -1 : proc_exit_code(status);
}

int install_log_run(const struct install_log *log, char *const *argv,
		    const struct stop *stop, struct error *err)
{
	char **env = settings_environ(log->set, NULL);
	const int fds[] = { -1, log->fd, log->fd };
	struct proc_spec spec = {
		.path = argv[0],
		.argv = argv,
		.env = env,
		.fds = fds,
		.nfds = 3,
		.session = true,
	};
	pid_t pid;
	int rc;

	write_command(log->fd, argv);
	rc = proc_spawn(&spec, &pid, err);
	settings_environ_free(env);
	if (rc < 0)
		return -1;
	rc = wait_end(pid, stop, err);
	if (rc > 0)
		rc = error_set(err, ERR_REMOTE, "%s exited with status %d",
			       argv[0], rc);
	return rc;
}

void install_log_last(const struct install_log *log, struct buf *out)
{
	char room[LINE];
	long end = lseek(log->fd, 0, SEEK_END);
	long from = end - (long)sizeof(room);
	struct buf line = BUF_INIT(1 << 15);
	struct str text;
	struct str rest;
	ssize_t n;

	n = io_pread(log->fd, room, sizeof(room),
		     from > log->begin ? from : log->begin);
	rest = str_trim((struct str){ room, n > 0 ? (size_t)n : 0 });
	while (str_split(&rest, '\n', &text))
		;
	sanitize_line(str_trim(text), &line);
	buf_addstr(out, str_trim(buf_str(&line)));
	buf_release(&line);
}
