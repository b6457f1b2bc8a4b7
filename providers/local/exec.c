/* exec.c - runs commands through the supervisor of a local sandbox. */
/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/str.h"
#include "providers/local/local.h"

enum {
	KILL_MS = 2500,  /* the runner's own deadline is 2000 */
	NOTICE_MS = 200, /* until a dead supervisor shows */
};

static void add_string(struct buf *b, struct str s)
{
	buf_addstr(b, s);
	buf_addc(b, '\0');
}

/* Whether the list has a NAME=value of the same NAME. */
static bool has_name(const char *variable, const char *const *list, size_t n)
{
	size_t len = strcspn(variable, "=") + 1;

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
	const struct local *l = sb->client->priv;
	size_t nenv = 0;

	while (req->env && req->env[nenv])
		nenv++;
	add_string(b, str_of(req->cwd ? req->cwd : sb->workdir));
	add_string(b, req->command);
	for (size_t i = 0; i < sizeof(base) / sizeof(*base); i++)
		if (!has_name(base[i], l->env, l->nenv) &&
		    !has_name(base[i], req->env, nenv))
			add_string(b, str_of(base[i]));
	for (size_t i = 0; i < l->nenv; i++)
		if (!has_name(l->env[i], req->env, nenv))
			add_string(b, str_of(l->env[i]));
	for (size_t i = 0; i < nenv; i++)
		add_string(b, str_of(req->env[i]));
	return buf_check(b, "the command with its environment", err);
}

/* Within ms. A runner that ended without a reply was killed from inside, or
 * all of the sandbox is gone. */
static int receive_reply(const struct box *b, int control, int ms,
			 struct jail_reply *reply, struct error *err)
{
	struct stop own = stop_cleanup(ms);
	int got = box_receive(control, reply, sizeof(*reply), &own, err);

	if (got > 0)
		return 0;
	if (box_ended(b, got < 0 ? 0 : NOTICE_MS))
		return error_set(err, ERR_GONE, "the sandbox has ended");
	if (got < 0)
		return -1;
	*reply = (struct jail_reply){ .kind = REPLY_DONE, .value = 128 + 9 };
	return 0;
}

/* A tree that cannot be killed process by process (it forks faster than that)
 * is killed with the whole sandbox. */
static void cancel_command(const struct box *b, int control)
{
	struct jail_reply reply = { 0 };
	struct error ignored = { 0 };

	shutdown(control, SHUT_WR);
	if (receive_reply(b, control, KILL_MS, &reply, &ignored) < 0 ||
	    (reply.kind == REPLY_KILLED && reply.value != 0))
		shutdown(b->sock, SHUT_RDWR);
}

static int parse_reply(const struct jail_reply *reply, const char *cwd,
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
			 "the sandbox sent an invalid answer");
}

static int follow_command(struct sandbox *sb, struct pump *pump, int control,
			  struct exec_result *res, const struct stop *stop,
			  struct error *err)
{
	const struct exec_request *req = pump->req;
	struct jail_reply reply = { 0 };

	switch (pump_run(pump, control, stop, err)) {
	case PUMP_FAILED:
		cancel_command(sb->priv, control);
		return -1;
	case PUMP_TIMEOUT:
		cancel_command(sb->priv, control);
		res->exit_code = 124;
		res->timed_out = true;
		break;
	case PUMP_ENDED:
		if (receive_reply(sb->priv, control, KILL_MS, &reply, err) <
			    0 ||
		    parse_reply(&reply, req->cwd ? req->cwd : sb->workdir, res,
				err) < 0)
			return -1;
	}
	return pump_rest(pump, err);
}

/* Nothing else bounds what the sandbox may hold on the disk. */
static int follow_watched(struct sandbox *sb, struct pump *pump, int control,
			  struct exec_result *res, const struct stop *stop,
			  struct error *err)
{
	const struct local *l = sb->client->priv;
	struct box *b = sb->priv;
	struct disk_watch d = { .dirs = { b->home, b->workspace },
				.limit = l->disk,
				.last = atomic_load(&b->disk_used),
				.base = atomic_load(&b->disk_base),
				.control = control };
	struct error why = { 0 };
	int rc;

	disk_watch_start(&d);
	rc = follow_command(sb, pump, control, res, stop, &why);
	if (disk_watch_end(&d) && !res->timed_out &&
	    (rc == 0 || stop_check(stop, err) == 0)) {
		snprintf(res->notice, sizeof(res->notice),
			 "the command was killed: the sandbox's files passed "
			 "%llu bytes (disk of "
			 "[sandboxes.providers.local.params]); delete some "
			 "before you continue",
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

/* The socket to the command's runner, or -1. */
static int start_command(struct sandbox *sb, const struct exec_request *req,
			 const struct pump *pump, struct error *err)
{
	const struct local *l = sb->client->priv;
	struct jail_order order = { .kind = JAIL_RUN,
				    .plain = req->plain,
				    .limits = l->limits };
	struct buf strings = BUF_INIT(JAIL_STRINGS_MAX);
	int fds[JAIL_FDS] = { -1, -1, pump->theirs[1], pump->theirs[2],
			      pump->theirs[0] };
	int pair[2] = { -1, -1 };
	int rc = add_strings(sb, req, &strings, err);

	if (rc == 0) {
		fds[JAIL_STRINGS] = args_fd(strings.ptr, strings.len, err);
		rc = fds[JAIL_STRINGS] < 0 ? -1 : 0;
	}
	if (rc == 0 &&
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		rc = error_errno(err, "speaking to the sandbox");
	fds[JAIL_CONTROL] = pair[1];
	if (rc == 0)
		rc = box_order(sb->priv, &order, fds,
			       fds[JAIL_STDIN] < 0 ? JAIL_STDIN : JAIL_FDS,
			       err);
	close_fd(&fds[JAIL_STRINGS]);
	close_fd(&pair[1]);
	if (rc < 0)
		close_fd(&pair[0]);
	buf_release(&strings);
	return pair[0];
}

int local_execute(struct sandbox *sb, const struct exec_request *req,
		  struct exec_result *res, const struct stop *stop,
		  struct error *err)
{
	struct local *l = sb->client->priv;
	struct pump pump;
	int control = -1;
	int rc = -1;

	*res = (struct exec_result){ .exit_code = -1 };
	if (pump_open(&pump, req, err) == 0)
		control = start_command(sb, req, &pump, err);
	pump_close_theirs(&pump);
	if (control >= 0)
		rc = follow_watched(sb, &pump, control, res, stop, err);
	close_fd(&control);
	pump_release(&pump, &l->reaper);
	return rc;
}
