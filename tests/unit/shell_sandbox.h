/* shell_sandbox.h - a sandbox for tests: a shell of this machine. */
/* SPDX-License-Identifier: MIT */
#ifndef TESTS_UNIT_SHELL_SANDBOX_H
#define TESTS_UNIT_SHELL_SANDBOX_H

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "sandbox/sandbox.h"

/* What one of these is: the shell, and what the transport does to bytes. */
struct shell_kind {
	const char *name;
	const char *shell[6]; /* argv before "-c" */
	const char *path;     /* PATH */
	const char *noise;    /* printed before the command, as a profile may */
	bool mangle; /* one stream, and text only: what is no UTF-8 is lost */
};

struct shell_state {
	const struct shell_kind *kind;
	int executes;
	size_t longest;   /* command, in bytes */
	const char *home; /* HOME, NULL: one that does not exist */
	int64_t hurry;    /* ms that replace a longer time limit, 0 none */
	void (*before)(void *arg, int n); /* before the n-th, from 1 */
	void *arg;
};

static void shell_emit(struct shell_state *s, const struct exec_request *req,
		       enum exec_stream stream, struct str chunk,
		       struct buf *reply, int *rc, struct error *err)
{
	struct buf text = BUF_INIT(1 << 20);

	if (*rc)
		return;
	for (size_t i = 0; s->kind->mangle && i < chunk.len; i++) {
		unsigned char c = (unsigned char)chunk.ptr[i];

		if (c >= 0x80 || c == 0)
			buf_adds(&text, "\xef\xbf\xbd");
		else
			buf_addc(&text, (char)c);
	}
	if (s->kind->mangle) {
		chunk = buf_str(&text);
		stream = EXEC_STDOUT;
	}
	*rc = req->output ? req->output(req->arg, stream, chunk, reply, err)
			  : 0;
	buf_release(&text);
}

struct shell_pump {
	pid_t pid;
	int in;
	int out[2];
	struct buf input; /* to be written */
	size_t sent;
	bool eof; /* close the input once it is written */
};

static void shell_spawn(struct shell_state *s, const struct exec_request *req,
			struct shell_pump *p)
{
	char *argv[10] = { 0 };
	char *path = xasprintf("PATH=%s", s->kind->path);
	char *home = xasprintf("HOME=%s", s->home ? s->home : "/nonexistent");
	char *env[] = { path, home, NULL };
	char *command =
		xasprintf("%s%.*s", s->kind->noise ? s->kind->noise : "",
			  (int)req->command.len, req->command.ptr);
	int pipes[3][2];
	int n = 0;
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;

	for (int i = 0; i < 3; i++)
		if (pipe2(pipes[i], O_CLOEXEC))
			abort();
	while (s->kind->shell[n]) {
		argv[n] = (char *)s->kind->shell[n];
		n++;
	}
	argv[n++] = (char *)"-c";
	argv[n++] = command;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, pipes[0][0], 0);
	posix_spawn_file_actions_adddup2(&actions, pipes[1][1], 1);
	posix_spawn_file_actions_adddup2(&actions,
					 pipes[s->kind->mangle ? 1 : 2][1], 2);
	posix_spawn_file_actions_addchdir_np(&actions,
					     req->cwd ? req->cwd : "/");
	posix_spawnattr_init(&attr);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETPGROUP);
	if (posix_spawn(&p->pid, argv[0], &actions, &attr, argv, env))
		abort();
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attr);
	close(pipes[0][0]);
	close(pipes[1][1]);
	close(pipes[2][1]);
	p->in = pipes[0][1];
	p->out[0] = pipes[1][0];
	p->out[1] = pipes[2][0];
	fcntl(p->in, F_SETFL, O_NONBLOCK);
	free(path);
	free(home);
	free(command);
}

static void shell_feed(struct shell_pump *p)
{
	ssize_t n = 0;

	while (p->sent < p->input.len && n >= 0) {
		n = write(p->in, p->input.ptr + p->sent,
			  p->input.len - p->sent);
		if (n > 0)
			p->sent += (size_t)n;
		else if (errno != EAGAIN)
			p->sent = p->input.len;
	}
	if (p->sent == p->input.len && p->eof && p->in >= 0) {
		close(p->in);
		p->in = -1;
	}
}

static int shell_loop(struct shell_state *s, const struct exec_request *req,
		      struct shell_pump *p, bool *late, struct error *err)
{
	int64_t ms = req->timeout_ms ? req->timeout_ms : 600000;
	int64_t end = clock_ms() + (s->hurry ? s->hurry : ms);
	int rc = 0;

	while ((p->out[0] >= 0 || p->out[1] >= 0) && !rc) {
		struct pollfd fds[3] = {
			{ .fd = p->out[0], .events = POLLIN },
			{ .fd = p->out[1], .events = POLLIN },
			{ .fd = p->sent < p->input.len ? p->in : -1,
			  .events = POLLOUT },
		};
		char room[4096];

		*late = clock_ms() >= end;
		if (*late)
			break;
		if (poll(fds, 3, 50) < 0)
			abort();
		for (int i = 0; i < 2; i++) {
			ssize_t n;

			if (!fds[i].revents)
				continue;
			n = read(p->out[i], room, sizeof(room));
			if (n <= 0) {
				close(p->out[i]);
				p->out[i] = -1;
				continue;
			}
			shell_emit(s, req, i ? EXEC_STDERR : EXEC_STDOUT,
				   (struct str){ room, (size_t)n },
				   req->dialog ? &p->input : NULL, &rc, err);
		}
		shell_feed(p);
	}
	return rc;
}

static int shell_execute(struct sandbox *sb, const struct exec_request *req,
			 struct exec_result *res, const struct stop *stop,
			 struct error *err)
{
	struct shell_state *s = sb->priv;
	struct shell_pump p = { .input = BUF_INIT(64 << 20),
				.eof = !req->dialog };
	bool late = false;
	char chunk[5000];
	int64_t n = 1;
	int status;
	int rc;

	(void)stop;
	s->executes++;
	if (s->before)
		s->before(s->arg, s->executes);
	if (req->command.len > s->longest)
		s->longest = req->command.len;
	signal(SIGPIPE, SIG_IGN);
	shell_spawn(s, req, &p);
	buf_addstr(&p.input, req->input);
	while (req->source && n > 0) {
		n = req->source(req->source_arg, chunk, sizeof(chunk), err);
		buf_add(&p.input, chunk, n > 0 ? (size_t)n : 0);
	}
	shell_feed(&p);
	rc = shell_loop(s, req, &p, &late, err);
	if (rc || late)
		kill(-p.pid, SIGKILL);
	if (p.in >= 0)
		close(p.in);
	for (int i = 0; i < 2; i++)
		if (p.out[i] >= 0)
			close(p.out[i]);
	waitpid(p.pid, &status, 0);
	res->timed_out = late;
	res->exit_code = WIFEXITED(status) ? WEXITSTATUS(status)
					   : 128 + WTERMSIG(status);
	buf_release(&p.input);
	return rc;
}

static const struct sandbox_ops shell_ops = { .execute = shell_execute };
static const struct sandbox_provider shell_bytes = {
	.name = "bytes",
	.flags = SANDBOX_STDIN | SANDBOX_LIVE,
	.max_command = 120 << 10,
	.ops = &shell_ops,
};
static const struct sandbox_provider shell_text = {
	.name = "text",
	.max_command = 60 << 10,
	.ops = &shell_ops,
};

#endif
