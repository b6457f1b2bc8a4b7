/* vendor.h - a vendor for tests that can only run a shell command to its end.
 */
/* SPDX-License-Identifier: MIT */
#ifndef TESTS_UNIT_VENDOR_H
#define TESTS_UNIT_VENDOR_H

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "sandbox/supervise/supervise.h"

struct vendor {
	const char *shell[4]; /* argv before "-c" */
	const char *cwd;
	const char *path;
	int64_t cut_ms; /* every request ends after so long, 0 never */
	int lose;       /* answers to lose, the first ones */
	int mute_at;    /* the request that never arrives, from 1; 0 none */
	bool kills;     /* a cut request's process group */
	bool twice;     /* runs each request a second time, at once */
	bool mangle;    /* CRLF, what is no ASCII is lost */
	bool noise;     /* a profile's words before, a warning after */
	size_t limit;   /* bytes of an answer */
	size_t whole;   /* one of more bytes is cut off; 0: none is */
	enum err fail;  /* every call, once set */
	atomic_int calls;
	int tell; /* fd to write the job's name to, 0 none */
	pthread_mutex_t lock;
	char jobs[256][SUPERVISE_JOB + 1];
	size_t n_jobs;
	struct supervisor supervisor;
};

static pid_t vendor_spawn(struct vendor *v, const char *command, int *from)
{
	static const char *const home = "HOME=/nonexistent";
	const char *argv[8] = { 0 };
	char *env[3] = { xasprintf("PATH=%s",
				   v->path ? v->path : getenv("PATH")),
			 (char *)home, NULL };
	int fds[2];
	int n = 0;
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC))
		abort();
	for (; v->shell[n]; n++)
		argv[n] = v->shell[n];
	argv[n++] = "-c";
	argv[n++] = command;
	pid = fork();
	if (pid == 0) {
		int null = open("/dev/null", O_RDONLY);

		setpgid(0, 0);
		signal(SIGPIPE, SIG_DFL);
		if (chdir(v->cwd ? v->cwd : "/"))
			_exit(99);
		dup2(null, 0);
		dup2(fds[1], 1);
		dup2(fds[1], 2);
		execve(argv[0], (char *const *)argv, env);
		_exit(98);
	}
	close(fds[1]);
	free(env[0]);
	*from = fds[0];
	return pid;
}

/* 0 at the end, else why it was left. */
static enum err vendor_read(struct vendor *v, int from, struct buf *out,
			    const struct stop *stop)
{
	int64_t end = v->cut_ms ? clock_ms() + v->cut_ms : INT64_MAX;
	struct error err = { 0 };
	char room[65536];
	ssize_t n = 1;

	while (n > 0) {
		struct pollfd fds[2] = { { .fd = from, .events = POLLIN },
					 { .fd = stop_fd(stop),
					   .events = POLLIN } };

		if (stop_check(stop, &err) < 0)
			return err.code;
		if (clock_ms() >= end)
			return ERR_NETWORK;
		if (poll(fds, 2, stop_poll_ms(stop, 10)) <= 0 ||
		    !fds[0].revents)
			continue;
		n = read(from, room, sizeof(room));
		if (n > 0)
			buf_add(out, room, (size_t)n);
	}
	return 0;
}

static void vendor_answer(struct vendor *v, const struct buf *raw,
			  struct buf *out)
{
	size_t n = v->limit && raw->len > v->limit ? v->limit : raw->len;

	if (v->noise)
		buf_adds(out, "Welcome to the box! @dcode:\nLast login\n");
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)raw->ptr[i];

		if (v->mangle && (c >= 0x80 || c == 0))
			buf_adds(out, "\xef\xbf\xbd");
		else if (v->mangle && c == '\n')
			buf_adds(out, "\r\n");
		else
			buf_addc(out, (char)c);
	}
	if (v->noise)
		buf_adds(out, "bash: warning: no locale\n");
}

static int vendor_call(void *arg, struct str command, int64_t wait_ms,
		       struct buf *out, const struct stop *stop,
		       struct error *err)
{
	struct vendor *v = arg;
	struct buf raw = BUF_INIT((size_t)64 << 20);
	char *text = xasprintf("%.*s", (int)command.len, command.ptr);
	int n = atomic_fetch_add(&v->calls, 1);
	pid_t other = 0;
	enum err why;
	pid_t pid;
	int other_from = -1;
	int from;

	(void)wait_ms;
	if (v->fail) {
		free(text);
		return error_set(err, v->fail, "refused");
	}
	while (n + 1 == v->mute_at) {
		if (stop_check(stop, err) < 0) {
			free(text);
			return -1;
		}
		usleep(10000);
	}
	for (size_t i = 0; i < command.len; i++)
		if (command.ptr[i] & 0x80)
			abort(); /* printable ASCII was promised */
	pid = vendor_spawn(v, text, &from);
	if (v->twice)
		other = vendor_spawn(v, text, &other_from);
	why = vendor_read(v, from, &raw, stop);
	if (why && v->kills)
		kill(-pid, SIGKILL);
	close(from);
	if (other_from >= 0)
		close(other_from);
	vendor_answer(v, &raw, out);
	if (v->whole && raw.len > v->whole)
		why = ERR_NETWORK;
	buf_release(&raw);
	if (!why || v->kills || v->whole)
		waitpid(pid, NULL, 0);
	if (!why && other)
		waitpid(other, NULL, 0);
	free(text);
	if (!why && n < v->lose)
		why = ERR_NETWORK;
	return why ? error_set(err, why, "the connection was cut") : 0;
}

static void vendor_began(void *arg, const char *job)
{
	struct vendor *v = arg;

	pthread_mutex_lock(&v->lock);
	if (v->n_jobs < 256)
		memcpy(v->jobs[v->n_jobs++], job, SUPERVISE_JOB + 1);
	pthread_mutex_unlock(&v->lock);
	if (v->tell && write(v->tell, job, SUPERVISE_JOB + 1) < 0)
		abort();
}

static int vendor_execute(struct sandbox *sb, const struct exec_request *req,
			  struct exec_result *res, const struct stop *stop,
			  struct error *err)
{
	struct vendor *v = sb->priv;

	return supervise_execute(sb, req, res, &v->supervisor, stop, err);
}

static const struct sandbox_ops vendor_ops = { .execute = vendor_execute };
static const struct sandbox_provider vendor_provider = {
	.name = "vendor",
	.flags = SANDBOX_LIVE,
	.max_command = 100 << 10,
	.ops = &vendor_ops,
};
static struct sandbox_client vendor_client = { .provider = &vendor_provider };

static struct vendor plain_vendor(void)
{
	return (struct vendor){ .shell = { "/bin/sh" },
				.lock = PTHREAD_MUTEX_INITIALIZER };
}

static struct sandbox box_of(struct vendor *v)
{
	v->supervisor.call = vendor_call;
	v->supervisor.began = vendor_began;
	v->supervisor.arg = v;
	return (struct sandbox){ .client = &vendor_client,
				 .id = (char *)"vendor",
				 .workdir = (char *)"/tmp",
				 .priv = v };
}

static void vendor_clean(struct vendor *v)
{
	for (size_t i = 0; i < v->n_jobs; i++) {
		char *rm = xasprintf(
			"cd /tmp/.dcode-exec && { rm -rf %s 2>/dev/null || "
			"{ sleep 0.3; rm -rf %s; }; }",
			v->jobs[i], v->jobs[i]);

		if (system(rm) < 0)
			abort();
		free(rm);
	}
}

#endif
