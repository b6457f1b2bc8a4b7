/* credential_process.c - credential_process: a program that prints a key. */
/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "aws/credentials.h"
#include "base/mem.h"
#include "base/proc.h"
#include "base/str.h"

enum {
	PROCESS_MS = 60000,
	KILL_MS = 2000,
	OUTPUT_MAX = 64 << 10,
	WORDS_MAX = 256,
};

struct word_scan {
	struct str rest;
	struct buf word;
	bool open; /* a quote is */
};

/* Takes a quoted part, whose quote has been taken. */
static void take_quoted(struct word_scan *s, char quote)
{
	s->open = true;
	while (s->rest.len && s->open) {
		char c = s->rest.ptr[0];
		char next = s->rest.len > 1 ? s->rest.ptr[1] : '\0';

		s->rest = str_skip(s->rest, 1);
		if (c == quote) {
			s->open = false;
			continue;
		}
		if (c == '\\' && quote == '"' &&
		    (next == '"' || next == '\\')) {
			c = next;
			s->rest = str_skip(s->rest, 1);
		}
		buf_addc(&s->word, c);
	}
}

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* The next word into s->word; false when there is none. */
static bool take_word(struct word_scan *s)
{
	bool any = false;

	buf_clear(&s->word);
	s->rest = str_trim(s->rest);
	while (s->rest.len && !is_space(s->rest.ptr[0])) {
		char c = s->rest.ptr[0];

		any = true;
		s->rest = str_skip(s->rest, 1);
		if (c == '\'' || c == '"') {
			take_quoted(s, c);
			continue;
		}
		if (c == '\\' && s->rest.len) {
			c = s->rest.ptr[0];
			s->rest = str_skip(s->rest, 1);
		}
		buf_addc(&s->word, c);
	}
	return any;
}

char **aws_words(struct str line)
{
	struct word_scan s = { .rest = line, .word = BUF_INIT(line.len + 1) };
	char **words = xcalloc(WORDS_MAX + 1, sizeof(*words));
	size_t n = 0;

	while (n < WORDS_MAX && take_word(&s))
		words[n++] = xstrndup(s.word.ptr ? s.word.ptr : "", s.word.len);
	if (!n || s.open || str_trim(s.rest).len) {
		aws_words_free(words);
		words = NULL;
	}
	buf_wipe(&s.word);
	return words;
}

void aws_words_free(char **words)
{
	for (size_t i = 0; words && words[i]; i++)
		free(words[i]);
	free(words);
}

/* Reads until the end of what it prints. */
static int read_all(int fd, struct buf *out, const struct stop *stop,
		    struct error *err)
{
	for (;;) {
		struct pollfd set[2] = {
			{ .fd = fd, .events = POLLIN },
			{ .fd = stop_fd(stop), .events = POLLIN },
		};
		char room[4096];
		ssize_t n;

		if (stop_check(stop, err) < 0)
			return -1;
		if (poll(set, 2, stop_poll_ms(stop, -1)) <= 0 ||
		    !set[0].revents)
			continue;
		n = read(fd, room, sizeof(room));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? error_errno(err, "reading its output")
				     : buf_check(out, "its output", err);
		buf_add(out, room, (size_t)n);
		explicit_bzero(room, sizeof(room));
		if (out->over)
			return buf_check(out, "its output", err);
	}
}

/* Waits for the end of it, and of what it left behind when it has to end. */
static int reap(pid_t pid, bool stopped, const struct stop *stop,
		struct error *err)
{
	struct proc_tree tree = { .root = pid };
	struct stop own = stop_cleanup(KILL_MS);
	struct error ignored = { 0 };
	int fd = proc_fd(pid, &ignored);
	struct pollfd set[2] = {
		{ .fd = fd, .events = POLLIN },
		{ .fd = stop_fd(stop), .events = POLLIN },
	};
	int status = 0;

	while (!stopped && fd >= 0 && !set[0].revents) {
		stopped = stop_check(stop, err) < 0;
		if (!stopped)
			(void)poll(set, 2, stop_poll_ms(stop, -1));
	}
	while (stopped && proc_tree_kill(&tree) > 0 &&
	       stop_sleep(&own, 1, &ignored) == 0)
		;
	if (fd >= 0)
		close(fd);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (stopped)
		return -1;
	if (proc_exit_code(status) != 0)
		return error_set(err, ERR_AUTH, "it ended with status %d",
				 proc_exit_code(status));
	return 0;
}

struct program {
	char *path;       /* owned */
	char *const *env; /* borrowed */
};

static int run(char *const *words, const struct program *program,
	       struct buf *out, const struct stop *stop, struct error *err)
{
	int fds[2] = { -1, -1 };
	int used[] = { -1, -1, -1 };
	struct proc_spec spec = { .path = program->path,
				  .argv = words,
				  .env = program->env,
				  .fds = used,
				  .nfds = 3,
				  .session = true };
	pid_t pid;
	int rc;

	if (pipe2(fds, O_CLOEXEC) < 0)
		return error_errno(err, "a pipe");
	used[1] = fds[1];
	rc = proc_spawn(&spec, &pid, err);
	close(fds[1]);
	if (rc == 0) {
		rc = read_all(fds[0], out, stop, err);
		if (reap(pid, rc < 0, stop, err) < 0)
			rc = -1;
	}
	close(fds[0]);
	return rc;
}

static int find(const char *name, struct program *p, struct error *err)
{
	const char *path = NULL;

	for (size_t i = 0; p->env[i]; i++)
		if (strncmp(p->env[i], "PATH=", 5) == 0)
			path = p->env[i] + 5;
	p->path = strchr(name, '/') ? xstrdup(name) : proc_find(name, path);
	if (p->path && *p->path == '/')
		return 0;
	return error_set(err, ERR_CONFIG,
			 "no such program (an absolute path, or a name on "
			 "PATH)");
}

int aws_process(const char *line, char *const *env, struct aws_credentials *c,
		const struct stop *stop, struct error *err)
{
	struct stop within = stop_within(stop, PROCESS_MS);
	struct buf out = BUF_INIT(OUTPUT_MAX);
	char **words = aws_words(str_of(line));
	struct program program = { NULL, env };
	int rc;

	if (!words)
		return error_set(err, ERR_CONFIG,
				 "credential_process is no command line");
	rc = find(words[0], &program, err);
	if (rc == 0)
		rc = run(words, &program, &out, &within, err);
	if (rc < 0 && err->code == ERR_TIMEOUT && clock_ms() < stop->deadline)
		error_set(err, ERR_AUTH, "no answer within %d s",
			  PROCESS_MS / 1000);
	if (rc == 0)
		rc = aws_take_json(buf_str(&out), "SessionToken", "its output",
				   c, err);
	if (rc < 0 && err->code != ERR_CANCELLED)
		error_wrap(err, "credential_process %.60s", words[0]);
	aws_words_free(words);
	free(program.path);
	buf_wipe(&out);
	return rc;
}
