/* box.c - starts, feeds and ends one bubblewrap. */
/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/proc.h"
#include "base/str.h"
#include "providers/local/local.h"

enum {
	START_MS = 15000,
	STOP_MS = 3000,
	AT_SOCK = 3, /* descriptors inside: 0 to 2, then these */
	AT_EXE,
	AT_GUARD,
	AT_ETC,
	MESSAGE_MAX = 4096, /* bytes of bubblewrap's complaint */
};

static char *const no_env[] = { NULL }; /* it shows in /proc/1/environ */

/* What bubblewrap said, in our words where we know the cause. */
static int box_failed(struct str said, struct error *err)
{
	struct str rest = str_trim(said);
	struct str line = STR("bubblewrap ended without a word");

	(void)str_split(&rest, '\n', &line);
	error_set(err, ERR_CONFIG, "%.*s", line.len > 300 ? 300 : (int)line.len,
		  line.ptr);
	if (str_search(line, STR("namespace")) < line.len ||
	    str_search(line, STR("uid map")) < line.len)
		error_hint(err,
			   "user namespaces are switched off here; as root: "
			   "sysctl -w kernel.unprivileged_userns_clone=1 "
			   "user.max_user_namespaces=10000, and on Ubuntu "
			   "kernel.apparmor_restrict_unprivileged_userns=0");
	else if (str_search(line, STR("mount")) < line.len)
		error_hint(err, "inside a container bubblewrap needs user "
				"namespaces and a /proc without masks: docker "
				"run --privileged");
	else if (str_search(line, STR("nknown option")) < line.len)
		error_hint(err, "bubblewrap 0.8 or newer is needed");
	return -1;
}

static void read_said(int fd, struct buf *said)
{
	struct pollfd set = { .fd = fd, .events = POLLIN };
	char room[1024];
	ssize_t n;

	while (poll(&set, 1, 500) > 0 && (n = read(fd, room, sizeof(room))) > 0)
		buf_add(said, room, (size_t)n);
}

static int wait_hello(const struct box *b, int said_fd, const struct stop *stop,
		      struct error *err)
{
	struct stop limit = stop_within(stop, START_MS);
	struct buf said = BUF_INIT(MESSAGE_MAX);
	struct jail_hello hello = { 0 };
	int got = local_receive(b->sock, &hello, sizeof(hello), &limit, err);

	if (got > 0 && hello.magic == JAIL_MAGIC)
		return 0;
	if (got < 0 && err->code == ERR_CANCELLED)
		return -1;
	if (got < 0 && err->code == ERR_TIMEOUT)
		return error_set(err, ERR_TIMEOUT, "bubblewrap did not start");
	read_said(said_fd, &said);
	box_failed(buf_str(&said), err);
	buf_release(&said);
	return -1;
}

static void add_box(struct words *w, const struct box_plan *plan)
{
	char *home = path_join(plan->dir, "home");
	char *workspace = plan->bind ? xstrdup(plan->bind)
				     : path_join(plan->dir, "workspace");
	char program[32];
	char sock[16];
	char guard[16];

	snprintf(program, sizeof(program), "/proc/self/fd/%d", AT_EXE);
	snprintf(sock, sizeof(sock), "%d", AT_SOCK);
	snprintf(guard, sizeof(guard), "%d", AT_GUARD);
	words_add(w, "--bind", home, "/home/user", "--bind", workspace,
		  "/workspace", NULL);
	if (plan->guard)
		words_add(w, "--args", guard, NULL);
	words_add(w, "--chdir", "/workspace", "--remount-ro", "/", "--as-pid-1",
		  "--", program, JAIL_ARGUMENT, sock, NULL);
	free(home);
	free(workspace);
}

/*
 * No --die-with-parent: that is about the thread which started it, and ours
 * may end long before the sandbox. The supervisor ends with its socket
 * instead, which the kernel closes however dcode ends.
 */
static int spawn_box(struct box *b, const struct box_plan *plan, int sock,
		     int said, struct error *err)
{
	struct words w = { 0 };
	int fds[AT_ETC + LOCAL_ETC] = { -1, -1, said, sock, -1, -1 };
	size_t netc = 0;
	struct proc_spec spec = { .path = plan->bwrap,
				  .env = no_env,
				  .cwd = "/",
				  .fds = fds,
				  .session = true };
	int rc = -1;

	words_add(&w, "bwrap", NULL);
	args_system(&w, plan->network, plan->limits->memory);
	fds[AT_EXE] = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	if (fds[AT_EXE] < 0)
		error_errno(err, "opening dcode itself");
	else if (!plan->guard ||
		 (fds[AT_GUARD] = args_fd(plan->guard->arguments,
					  plan->guard->arguments_len, err)) >=
			 0)
		rc = args_etc(&w, plan->network, fds + AT_ETC, &netc, AT_ETC,
			      err);
	if (rc == 0) {
		add_box(&w, plan);
		spec.argv = w.v;
		spec.nfds = AT_ETC + netc;
		rc = proc_spawn(&spec, &b->pid, err);
	}
	for (size_t i = 0; i < netc; i++)
		close(fds[AT_ETC + i]);
	for (int i = AT_EXE; i <= AT_GUARD; i++)
		if (fds[i] >= 0)
			close(fds[i]);
	words_release(&w);
	return rc;
}

/* So that any dcode can end it by the directory. */
static int leave_mark(struct box *b, const char *dir, struct error *err)
{
	int fd;

	b->mark = xasprintf("%s/run.%d.%llu", dir, (int)b->pid,
			    proc_started(b->pid));
	fd = open(b->mark, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0)
		return error_errno(err, "writing %s", b->mark);
	close(fd);
	return 0;
}

int box_start(struct box *b, const struct box_plan *plan,
	      const struct stop *stop, struct error *err)
{
	const struct timeval patience = { .tv_sec = 5 };
	int pair[2] = { -1, -1 };
	int said[2] = { -1, -1 };
	int rc = -1;

	*b = (struct box){ .sock = -1,
			   .guard = b->guard,
			   .home = path_join(plan->dir, "home"),
			   .workspace = plan->bind ? xstrdup(plan->bind)
						   : path_join(plan->dir,
							       "workspace") };
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0 ||
	    pipe2(said, O_CLOEXEC) < 0) {
		error_errno(err, "starting bubblewrap");
	} else if (spawn_box(b, plan, pair[1], said[1], err) == 0) {
		b->sock = pair[0];
		(void)setsockopt(b->sock, SOL_SOCKET, SO_SNDTIMEO, &patience,
				 sizeof(patience));
		pair[0] = -1;
		close(pair[1]);
		close(said[1]);
		pair[1] = said[1] = -1;
		rc = leave_mark(b, plan->dir, err);
		if (rc == 0)
			rc = wait_hello(b, said[0], stop, err);
		if (rc == 0) {
			cgroup_open(&b->group, plan->limits);
			cgroup_add(&b->group, b->pid);
		}
	}
	if (rc < 0 && b->pid > 0) /* it may hang before our code runs */
		(void)proc_tree_kill(&(struct proc_tree){ .root = b->pid });
	for (int i = 0; i < 2; i++) {
		if (pair[i] >= 0)
			close(pair[i]);
		if (said[i] >= 0)
			close(said[i]);
	}
	return rc;
}

int box_order(const struct box *b, uint32_t kind, int64_t value, const int *fds,
	      size_t n, struct error *err)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(4 * sizeof(int))];
	} control = { 0 };
	struct jail_order order = { .kind = kind, .lifetime_ms = value };
	struct iovec data = { .iov_base = &order, .iov_len = sizeof(order) };
	struct msghdr msg = { .msg_iov = &data, .msg_iovlen = 1 };

	if (n) {
		struct cmsghdr *c = &control.head;

		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(n * sizeof(int));
		memcpy(CMSG_DATA(c), fds, n * sizeof(int));
		msg.msg_control = &control;
		msg.msg_controllen = CMSG_SPACE(n * sizeof(int));
	}
	while (sendmsg(b->sock, &msg, MSG_NOSIGNAL) < 0) {
		if (errno == EINTR)
			continue;
		if (errno == EPIPE || errno == ECONNRESET || errno == ENOTCONN)
			return error_set(err, ERR_GONE,
					 "the sandbox has ended");
		return error_errno(err, "speaking to the sandbox");
	}
	return 0;
}

int box_lifetime(const struct box *b, int64_t ms, struct error *err)
{
	return box_order(b, JAIL_LIFETIME, ms, NULL, 0, err);
}

bool box_ended(const struct box *b, int ms)
{
	struct pollfd set = { .fd = b->sock, .events = POLLIN };

	return b->sock < 0 || poll(&set, 1, ms) > 0;
}

void box_stop(struct box *b)
{
	struct proc_tree tree = { .root = b->pid };
	struct stop limit = stop_cleanup(STOP_MS);
	struct error ignored = { 0 };
	struct pollfd set = { .fd = b->pid > 0 ? proc_fd(b->pid, &ignored) : -1,
			      .events = POLLIN };

	if (b->sock >= 0)
		shutdown(b->sock, SHUT_RDWR); /* the supervisor ends then */
	while (set.fd >= 0 && poll(&set, 1, 100) == 0 &&
	       stop_check(&limit, &ignored) == 0)
		(void)proc_tree_kill(&tree);
	if (set.fd >= 0)
		close(set.fd);
}

void box_release(struct box *b, struct pipe_reaper *keeper)
{
	/* While something runs, a placeholder that goes could be replaced. */
	if (b->guard || b->group.memory || b->group.pids)
		box_stop(b);
	if (b->guard) {
		guard_release(b->guard);
		free(b->guard);
	}
	if (b->sock >= 0)
		close(b->sock);
	if (b->pid > 0)
		pipe_reaper_reap(keeper, b->pid);
	cgroup_release(&b->group);
	if (b->mark)
		unlink(b->mark);
	free(b->mark);
	free(b->home);
	free(b->workspace);
	*b = (struct box){ .sock = -1 };
}

static int collect(void *arg, enum exec_stream stream, struct str chunk,
		   struct buf *reply, struct error *err)
{
	(void)stream;
	(void)reply;
	(void)err;
	buf_addstr(arg, chunk);
	return 0;
}

static void add_copy(struct words *w, const char *from, const char *workspace,
		     const char *to)
{
	char *home = path_join(from, "home");
	char *work =
		workspace ? xstrdup(workspace) : path_join(from, "workspace");

	words_add(w, "bwrap", NULL);
	args_system(w, false, 0);
	words_add(w, "--die-with-parent", "--ro-bind", home, "/from/home",
		  "--ro-bind", work, "/from/workspace", "--bind", to, "/to",
		  "--remount-ro", "/", "--", "/bin/cp", "-a", "/from/home",
		  "/from/workspace", "/to/", NULL);
	free(home);
	free(work);
}

static int follow_copy(struct pump *pump, pid_t pid, struct buf *said,
		       const struct stop *stop, struct error *err)
{
	struct proc_tree tree = { .root = pid };
	struct stop own = stop_cleanup(2000);
	struct error ignored = { 0 };
	enum pump_end end = PUMP_FAILED;
	int fd = proc_fd(pid, err);
	int status = -1;

	if (fd >= 0)
		end = pump_run(pump, fd, stop, err);
	while (end != PUMP_ENDED && proc_tree_kill(&tree) > 0 &&
	       stop_sleep(&own, 1, &ignored) == 0)
		;
	waitpid(pid, &status, 0);
	if (fd >= 0)
		close(fd);
	if (end != PUMP_ENDED)
		return -1;
	(void)pump_rest(pump, err);
	if (proc_exit_code(status) == 0)
		return 0;
	return box_failed(buf_str(said), err);
}

int box_copy(const char *bwrap, const char *from, const char *workspace,
	     const char *to, const struct stop *stop, struct error *err)
{
	struct words w = { 0 };
	struct buf said = BUF_INIT(MESSAGE_MAX);
	struct exec_request req = { .output = collect, .arg = &said };
	struct proc_spec spec = { .path = bwrap,
				  .env = no_env,
				  .cwd = "/",
				  .nfds = 3,
				  .session = true };
	struct pump pump;
	pid_t pid;
	int rc = pump_open(&pump, &req, err);

	add_copy(&w, from, workspace, to);
	spec.argv = w.v;
	spec.fds = pump.theirs;
	if (rc == 0)
		rc = proc_spawn(&spec, &pid, err);
	if (rc == 0) {
		pump_close_theirs(&pump);
		rc = follow_copy(&pump, pid, &said, stop, err);
	}
	pump_release(&pump, NULL);
	words_release(&w);
	buf_release(&said);
	return rc;
}
