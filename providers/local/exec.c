/* exec.c - runs commands through the supervisor of a local sandbox. */
/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "providers/local/local.h"

enum {
	KILL_MS = 2500,  /* the runner's own deadline is 2000 */
	NOTICE_MS = 200, /* until a dead supervisor shows */
	COMMAND_MAX = (128 << 10) - 1,
};

int local_receive(int fd, void *data, size_t len, const struct stop *stop,
		  struct error *err)
{
	char *at = data;

	while (len) {
		struct pollfd set[2] = { { .fd = fd, .events = POLLIN },
					 { .fd = stop_fd(stop),
					   .events = POLLIN } };
		ssize_t n;

		if (poll(set, 2, stop_poll_ms(stop, -1)) < 0 && errno != EINTR)
			return error_errno(err, "hearing from the sandbox");
		if (stop_check(stop, err) < 0)
			return -1;
		n = recv(fd, at, len, MSG_DONTWAIT);
		if (n == 0 || (n < 0 && errno == ECONNRESET))
			return 0;
		if (n < 0 && errno != EAGAIN && errno != EINTR)
			return error_errno(err, "hearing from the sandbox");
		if (n < 0)
			continue;
		at += n;
		len -= (size_t)n;
	}
	return 1;
}

/* A runner that has gone already is no failure here: its reply, or the lack
 * of one, says why. */
static int send_all(int fd, struct str data, const struct stop *stop,
		    struct error *err)
{
	while (data.len) {
		struct pollfd set[2] = { { .fd = fd, .events = POLLOUT },
					 { .fd = stop_fd(stop),
					   .events = POLLIN } };
		ssize_t n;

		if (poll(set, 2, stop_poll_ms(stop, -1)) < 0 && errno != EINTR)
			return error_errno(err, "speaking to the sandbox");
		if (stop_check(stop, err) < 0)
			return -1;
		n = send(fd, data.ptr, data.len, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (n < 0 && (errno == EPIPE || errno == ECONNRESET))
			return 0;
		if (n < 0 && errno != EAGAIN && errno != EINTR)
			return error_errno(err, "speaking to the sandbox");
		if (n > 0)
			data = str_skip(data, (size_t)n);
	}
	return 0;
}

int local_job_start(struct sandbox *sb, struct local_job *job,
		    const struct stop *stop, struct error *err)
{
	const struct local *l = sb->host->priv;
	struct str head = { (const char *)&job->head, sizeof(job->head) };
	int send[4];
	int pair[2];
	size_t n = 0;
	int rc;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return error_errno(err, "speaking to the sandbox");
	send[n++] = pair[1];
	for (int i = 0; i < 3 && job->fds[i] >= 0; i++)
		send[n++] = job->fds[i];
	job->head.len = (uint32_t)job->strings.len;
	job->head.limits = l->limits;
	rc = box_order(sb->priv, JAIL_RUN, 0, send, n, err);
	close(pair[1]);
	if (rc == 0)
		rc = send_all(pair[0], head, stop, err);
	if (rc == 0)
		rc = send_all(pair[0], job->strings, stop, err);
	if (rc == 0)
		return pair[0];
	close(pair[0]);
	return -1;
}

static void add_string(struct buf *b, struct str s)
{
	buf_addstr(b, s);
	buf_addc(b, '\0');
}

/* Is NAME of this NAME=value among the others? */
static bool named_in(const char *variable, const char *const *list, size_t n)
{
	size_t len = str_find(str_of(variable), '=') + 1;

	for (size_t i = 0; i < n; i++)
		if (!strncmp(list[i], variable, len))
			return true;
	return false;
}

/* Directory, command, environment: nothing of the user's is in it but what
 * the configuration lists. */
static int add_strings(const struct sandbox *sb, const struct exec_request *req,
		       struct buf *b, struct error *err)
{
	static const char path[] =
		"PATH=/home/user/.local/bin:/usr/local/bin:/usr/bin:/bin:"
		"/usr/local/sbin:/usr/sbin:/sbin";
	static const char *const base[] = {
		"HOME=/home/user", "USER=user",    "LOGNAME=user",
		"SHELL=/bin/sh",   "LANG=C.UTF-8", "TMPDIR=/tmp",
		"TERM=dumb",       path,
	};
	const struct local *l = sb->host->priv;
	size_t nenv = 0;

	while (req->env && req->env[nenv])
		nenv++;
	add_string(b, str_of(req->cwd ? req->cwd : sb->workdir));
	add_string(b, req->command);
	for (size_t i = 0; i < sizeof(base) / sizeof(*base); i++)
		if (!named_in(base[i], l->env, l->nenv) &&
		    !named_in(base[i], req->env, nenv))
			add_string(b, str_of(base[i]));
	for (size_t i = 0; i < l->nenv; i++)
		if (!named_in(l->env[i], req->env, nenv))
			add_string(b, str_of(l->env[i]));
	for (size_t i = 0; i < nenv; i++)
		add_string(b, str_of(req->env[i]));
	return buf_check(b, "the command with its environment", err);
}

/* The runner's last word, at most ms from now. A runner that went without
 * one was killed from inside, or all of the sandbox is gone. */
static int last_word(const struct box *b, int control, int ms,
		     struct jail_reply *reply, struct error *err)
{
	struct stop own = stop_cleanup(ms);
	int got = local_receive(control, reply, sizeof(*reply), &own, err);

	if (got > 0)
		return 0;
	if (box_ended(b, got < 0 ? 0 : NOTICE_MS))
		return error_set(err, ERR_GONE, "the sandbox has ended");
	if (got < 0)
		return -1;
	*reply = (struct jail_reply){ .kind = REPLY_DONE, .value = 128 + 9 };
	return 0;
}

/* The tree dies with the order. One that cannot be killed piecemeal (it forks
 * faster than that) goes with the whole sandbox. */
static void withdraw(const struct box *b, int control)
{
	struct jail_reply reply = { 0 };
	struct error ignored = { 0 };

	shutdown(control, SHUT_WR);
	if (last_word(b, control, KILL_MS, &reply, &ignored) < 0 ||
	    (reply.kind == REPLY_KILLED && reply.value != 0))
		shutdown(b->sock, SHUT_RDWR);
}

static int take_reply(const struct jail_reply *reply, const char *cwd,
		      struct exec_result *res, struct error *err)
{
	if (reply->kind == REPLY_DONE && reply->value >= 0 &&
	    reply->value < 256) {
		res->exit_code = reply->value;
		return 0;
	}
	errno = reply->value;
	if (reply->kind == REPLY_CWD)
		return error_errno(err, "starting in %s", cwd);
	if (reply->kind == REPLY_ERRNO)
		return error_errno(err, "starting the command");
	return error_set(err, ERR_PROTOCOL,
			 "the sandbox gave an answer that makes no sense");
}

static int follow(struct sandbox *sb, struct pump *pump, int control,
		  struct exec_result *res, const struct stop *stop,
		  struct error *err)
{
	const struct exec_request *req = pump->req;
	struct jail_reply reply = { 0 };

	switch (pump_run(pump, control, stop, err)) {
	case PUMP_FAILED:
		withdraw(sb->priv, control);
		return -1;
	case PUMP_TIMEOUT:
		withdraw(sb->priv, control);
		res->exit_code = 124;
		res->timed_out = true;
		break;
	case PUMP_ENDED:
		if (last_word(sb->priv, control, KILL_MS, &reply, err) < 0 ||
		    take_reply(&reply, req->cwd ? req->cwd : sb->workdir, res,
			       err) < 0)
			return -1;
	}
	return pump_rest(pump, err);
}

/* The disk's size is bounded by nothing else. */
static int follow_watched(struct sandbox *sb, struct pump *pump, int control,
			  struct exec_result *res, const struct stop *stop,
			  struct error *err)
{
	const struct local *l = sb->host->priv;
	struct box *b = sb->priv;
	struct disk_watch d = { .dirs = { b->home, b->workspace },
				.limit = l->disk,
				.last = atomic_load(&b->disk_used),
				.base = atomic_load(&b->disk_base),
				.control = control };
	struct error why = { 0 };
	int rc;

	disk_watch_start(&d);
	rc = follow(sb, pump, control, res, stop, &why);
	if (disk_watch_end(&d) && !res->timed_out &&
	    (rc == 0 || stop_check(stop, err) == 0)) {
		snprintf(res->notice, sizeof(res->notice),
			 "the command was killed: the sandbox's files passed "
			 "%llu bytes (disk of [sandboxes.providers.local."
			 "params]); delete some before you go on",
			 (unsigned long long)l->disk);
		res->exit_code = 128 + SIGKILL;
		rc = rc < 0 ? pump_rest(pump, &why) : 0;
	}
	atomic_store(&b->disk_used, d.last);
	atomic_store(&b->disk_base, d.base);
	if (rc < 0)
		*err = why;
	return rc;
}

int local_execute(struct sandbox *sb, const struct exec_request *req,
		  struct exec_result *res, const struct stop *stop,
		  struct error *err)
{
	struct local *l = sb->host->priv;
	struct local_job job = { .head = { .kind = JOB_EXEC,
					   .plain = req->plain } };
	struct buf strings = BUF_INIT(JAIL_STRINGS_MAX);
	struct pump pump;
	int control = -1;
	int rc;

	*res = (struct exec_result){ .exit_code = -1 };
	if (req->command.len > COMMAND_MAX)
		return error_set(err, ERR_LIMIT,
				 "the command is longer than %d bytes",
				 COMMAND_MAX);
	if (req->command.len &&
	    memchr(req->command.ptr, '\0', req->command.len))
		return error_set(err, ERR_USAGE,
				 "the command contains a NUL byte");
	rc = pump_open(&pump, req, err);
	if (rc == 0)
		rc = add_strings(sb, req, &strings, err);
	if (rc == 0) {
		job.head.input = pump.theirs[0] >= 0;
		job.strings = buf_str(&strings);
		job.fds[0] = pump.theirs[1];
		job.fds[1] = pump.theirs[2];
		job.fds[2] = pump.theirs[0];
		control = local_job_start(sb, &job, stop, err);
		rc = control < 0 ? -1 : 0;
	}
	pump_close_theirs(&pump);
	if (rc == 0)
		rc = follow_watched(sb, &pump, control, res, stop, err);
	if (control >= 0)
		close(control);
	pump_release(&pump, &l->keeper);
	buf_release(&strings);
	return rc;
}
