/* link.c - connections to MCP servers, and programs as servers. */
/* SPDX-License-Identifier: MIT */
/*
 * Begin reading at mcp_child_open(): it determines the environment, the
 * directory and the program, in this order, because each needs the one before.
 * dcode does not start the program itself but a guard (mcp_guard_main()), which
 * kills the program and its descendants when dcode ends in any way. src/rpc
 * speaks JSON-RPC over the program's standard streams.
 */
#include "mcp/link.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/proc.h"
#include "config/settings_env.h"
#include "mcp/entry.h"

enum { NO_METHOD = -32601, ID_MAX = 256 };

/* the guard's end of a socket pair with dcode */
enum { MCP_GUARD_FD = 3 };

/* What both transports share. */

void mcp_link_cancel(struct buf *out, int64_t id)
{
	buf_addf(out,
		 "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\","
		 "\"params\":{\"requestId\":%lld,\"reason\":\"given up by the "
		 "client\"}}\n",
		 (long long)id);
}

void mcp_link_init(struct mcp_link *l, const struct mcp_link_setup *setup)
{
	l->setup = *setup;
	snprintf(l->name, sizeof(l->name), "MCP server %s", setup->entry->name);
	l->peer.name = l->name;
	l->peer.cancel = mcp_link_cancel;
	l->peer.lenient = true;
}

/* Appends the answer to a request of the server: ping succeeds, all others are
 * refused. Sampling, roots and the like would let a server query the model or
 * read the user's disk. */
static void refuse_request(const cJSON *id, const char *method,
			   struct buf *reply)
{
	bool ping = !strcmp(method, "ping");

	buf_adds(reply, "{\"jsonrpc\":\"2.0\",\"id\":");
	json_print(reply, id);
	if (ping)
		buf_adds(reply, ",\"result\":{}}\n");
	else
		buf_addf(reply,
			 ",\"error\":{\"code\":%d,\"message\":\"this client "
			 "offers no such method\"}}\n",
			 NO_METHOD);
}

void mcp_link_receive(struct mcp_link *l, const cJSON *message,
		      struct buf *reply)
{
	const char *method = json_string(message, "method", "");
	const cJSON *id = json_get(message, "id");

	if (!id)
		l->setup.notice(l->setup.arg, method);
	else if (cJSON_IsNumber(id) ||
		 (cJSON_IsString(id) && strlen(id->valuestring) < ID_MAX))
		refuse_request(id, method, reply);
}

/* The transport over standard streams. */

/* How long to wait after each step of the specified shutdown: close the
 * server's input, wait, SIGTERM, wait, SIGKILL
 * (modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle,
 * "Shutdown", read 2026-11-23). */
enum { GRACE_MS = 700 };

struct mcp_child {
	struct mcp_link link;
	struct jsonrpc *wire;
	/* socket to the guard; shutting it down makes the guard kill the
	 * program and its descendants */
	int life;
};

static struct mcp_child *child_of(struct mcp_link *l)
{
	return (struct mcp_child *)l;
}

static int request(struct mcp_link *l, struct jsonrpc_ask *ask, cJSON **result,
		   const struct stop *stop, struct error *err)
{
	return jsonrpc_call(child_of(l)->wire, ask, result, stop, err);
}

static void notify(struct mcp_link *l, const char *method, struct str params)
{
	jsonrpc_notify(child_of(l)->wire, method, params);
}

static void set_version(struct mcp_link *l, const char *version)
{
	(void)l;
	(void)version;
}

static void begin_listening(struct mcp_link *l)
{
	(void)l; /* a child needs no separate stream for its own messages */
}

static bool is_broken(struct mcp_link *l)
{
	return jsonrpc_broken(child_of(l)->wire);
}

static void said(struct mcp_link *l, struct buf *out)
{
	jsonrpc_tail(child_of(l)->wire, out);
}

static void leave(struct mcp_link *l)
{
	jsonrpc_leave(child_of(l)->wire);
}

static void close_child(struct mcp_link *l)
{
	struct mcp_child *c = child_of(l);

	jsonrpc_end(c->wire, GRACE_MS);
	close(c->life);
	free(c);
}

static const struct mcp_link_ops ops = {
	.request = request,
	.notify = notify,
	.set_version = set_version,
	.listen = begin_listening,
	.is_broken = is_broken,
	.said = said,
	.leave = leave,
	.close = close_child,
};

static void on_message(void *arg, const cJSON *message, struct buf *reply)
{
	mcp_link_receive(arg, message, reply);
}

static void on_terminate(void *arg)
{
	(void)send(child_of(arg)->life, "T", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void on_kill(void *arg)
{
	(void)shutdown(child_of(arg)->life, SHUT_RDWR);
}

static const char *find_variable(char *const *env, const char *name)
{
	size_t n = strlen(name);

	for (size_t i = 0; env[i]; i++)
		if (!strncmp(env[i], name, n) && env[i][n] == '=')
			return env[i] + n + 1;
	return NULL;
}

/* Returns the program's path, owned: found on the server's PATH, absolute, or
 * relative to the cwd that its entry sets. For the user's own entries that cwd
 * must be absolute: a path relative to the session's directory would run a
 * program of the repository. */
static char *find_program(const struct mcp_entry *e, const char *dir,
			  char *const *env, struct error *err)
{
	const char *home = find_variable(env, "HOME");
	bool has_own_dir = e->cwd && !mcp_entry_in_project(e);
	char *expanded;
	char *path;

	if (!strchr(e->command, '/')) {
		path = proc_find(e->command, find_variable(env, "PATH"));
		if (!path)
			error_set(err, ERR_NOT_FOUND, "%.100s is not on PATH",
				  e->command);
		return path;
	}
	expanded = home ? path_expand(e->command, home) : xstrdup(e->command);
	if (!e->project && !has_own_dir && expanded[0] != '/') {
		error_set(err, ERR_CONFIG,
			  "its \"command\" must be an absolute path or a name "
			  "on PATH: %.200s",
			  e->command);
		free(expanded);
		return NULL;
	}
	path = path_join(dir, expanded);
	free(expanded);
	if (access(path, X_OK) == 0)
		return path;
	error_errno(err, "%.200s", path);
	free(path);
	return NULL;
}

/* Returns the arguments of the guard: the program's path, then the program's
 * argv. */
static char **make_argv(const struct mcp_entry *e, char *program)
{
	char **argv;
	size_t n = 0;

	while (e->args[n])
		n++;
	argv = xcalloc(n + 5, sizeof(*argv));
	argv[0] = (char *)"dcode";
	argv[1] = (char *)MCP_GUARD_ARGUMENT;
	argv[2] = program;
	argv[3] = e->command;
	memcpy(argv + 4, e->args, n * sizeof(*argv));
	return argv;
}

/* Starts dcode itself as the guard, which starts the program. */
static int spawn_guard(struct mcp_child *c, const char *dir, char *program,
		       char **env, struct error *err)
{
	int life[2];
	int fds[MCP_GUARD_FD + 1] = { -1, -1, -1, -1 };
	char **argv = make_argv(c->link.setup.entry, program);
	struct proc_spec spec = { .path = "/proc/self/exe",
				  .argv = argv,
				  .env = env,
				  .cwd = dir,
				  .fds = fds,
				  .nfds = MCP_GUARD_FD + 1,
				  .session = true };

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, life) < 0) {
		free(argv);
		return error_errno(err, "creating a socket");
	}
	c->life = life[0];
	fds[MCP_GUARD_FD] = life[1];
	c->wire = jsonrpc_start(&spec, &c->link.peer, c, err);
	close(life[1]);
	if (!c->wire)
		close(life[0]);
	free(argv);
	return c->wire ? 0 : -1;
}

static int check_dir(const char *path, struct error *err)
{
	struct stat st;

	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
		return 0;
	return error_set(err, ERR_CONFIG,
			 "its \"cwd\" is not a directory: %.300s", path);
}

/* Returns the directory in which a repository's server starts, owned: its
 * project's root or a directory below. */
static char *find_project_dir(const struct mcp_entry *e)
{
	return e->cwd ? path_join(e->root, e->cwd) : xstrdup(e->root);
}

/* Returns the directory in which a server of the user's own starts: the entry's
 * cwd, / by default, or the session's directory if cwd is MCP_IN_PROJECT.
 * Owned; NULL with err. */
static char *find_own_dir(const struct mcp_link_setup *setup, char *const *env,
			  struct error *err)
{
	const struct mcp_entry *e = setup->entry;
	const char *home = find_variable(env, "HOME");
	struct buf text = BUF_INIT(MCP_VALUE_MAX);
	char *dir = NULL;

	if (!e->cwd)
		return xstrdup("/");
	if (mcp_entry_in_project(e))
		return xstrdup(setup->cwd);
	if (mcp_expand(e, setup->settings, e->cwd, &text, err) == 0) {
		dir = path_expand(text.len ? text.ptr : "", home);
		if (dir[0] != '/') {
			error_set(err, ERR_CONFIG,
				  "its \"cwd\" must be an absolute path or "
				  "\"" MCP_IN_PROJECT "\": %.200s",
				  e->cwd);
			free(dir);
			dir = NULL;
		}
	}
	buf_release(&text);
	return dir;
}

/* Returns the directory in which the server starts. Owned; NULL with err. */
static char *find_dir(const struct mcp_link_setup *setup, char *const *env,
		      struct error *err)
{
	const struct mcp_entry *e = setup->entry;
	char *dir = e->project ? find_project_dir(e)
			       : find_own_dir(setup, env, err);

	if (dir && e->cwd && check_dir(dir, err) < 0) {
		free(dir);
		dir = NULL;
	}
	return dir;
}

struct mcp_link *mcp_child_open(const struct mcp_link_setup *setup,
				struct error *err)
{
	const struct mcp_entry *e = setup->entry;
	struct mcp_child *c = xcalloc(1, sizeof(*c));
	char **env = mcp_environ(e, setup->settings, err);
	char *dir = env ? find_dir(setup, env, err) : NULL;
	char *program = dir ? find_program(e, dir, env, err) : NULL;
	int rc = -1;

	mcp_link_init(&c->link, setup);
	c->link.ops = &ops;
	c->link.peer.receive = on_message;
	c->link.peer.terminate = on_terminate;
	c->link.peer.kill = on_kill;
	if (program)
		rc = spawn_guard(c, dir, program, env, err);
	free(program);
	free(dir);
	if (env)
		settings_environ_free(env);
	if (rc == 0)
		return &c->link;
	free(c);
	return NULL;
}

/* The process between dcode and a server that it started. */

enum { KILL_MS = 5000, NOT_STARTED = 127 };

extern char **environ;

/* Closes the guard's own copies of the program's pipes. Otherwise dcode would
 * not notice when the program closes its output. */
static void close_pipes(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int i = 0; i < MCP_GUARD_FD; i++)
		if (null >= 0)
			(void)dup2(null, i);
}

/* Waits until the program has ended and returns its exit status. Returns -1
 * when the socket to dcode is closed: the program must be killed. */
static int wait_for_end(pid_t program, int ended)
{
	struct pollfd set[2] = { { .fd = MCP_GUARD_FD, .events = POLLIN },
				 { .fd = ended, .events = POLLIN } };
	int status;
	char order;

	for (;;) {
		if (poll(set, 2, -1) < 0 && errno != EINTR)
			return -1;
		if (set[1].revents && waitpid(program, &status, WNOHANG) > 0)
			return proc_exit_code(status);
		if (!set[0].revents)
			continue;
		if (recv(MCP_GUARD_FD, &order, 1, MSG_DONTWAIT) <= 0)
			return -1;
		(void)kill(-program, SIGTERM);
	}
}

int mcp_guard_main(int argc, char **argv)
{
	static const int fds[] = { 0, 1, 2 };
	struct error err = { 0 };
	struct proc_spec spec = { .cwd = ".", /* dcode started the guard in
					       * the right directory */
				  .env = environ,
				  .fds = fds,
				  .nfds = 3,
				  .session = true };
	pid_t program;
	int status = -1;
	int ended;

	if (argc < 4 || fcntl(MCP_GUARD_FD, F_SETFD, FD_CLOEXEC) < 0)
		return 2; /* not started by dcode */
	spec.path = argv[2];
	spec.argv = argv + 3;
	(void)prctl(PR_SET_CHILD_SUBREAPER, 1);
	if (proc_spawn_bound(&spec, &program, &err) < 0) {
		fprintf(stderr, "%s\n", err.message);
		_exit(NOT_STARTED);
	}
	ended = proc_fd(program, &err);
	close_pipes();
	if (ended >= 0)
		status = wait_for_end(program, ended);
	(void)proc_kill_below(KILL_MS);
	_exit(status < 0 ? 128 + SIGKILL : status);
}
