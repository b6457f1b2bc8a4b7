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
#include <unistd.h>

#include "base/io.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/proc.h"
#include "base/str.h"
#include "providers/local/local.h"

enum {
	STOP_MS = 3000,
	AT_SOCK = 3, /* descriptors inside: 0 to 2, then these */
	AT_EXE,
	AT_GUARD,
	AT_GIT,
	AT_ETC,
	MESSAGE_MAX = 4096, /* bytes of bubblewrap's message */
};

static char *const no_env[] = { NULL }; /* it shows in /proc/1/environ */

/* Sets the error to bubblewrap's message, with a hint where the cause is
 * known. */
static int set_failure(struct str said, struct error *err)
{
	struct str rest = str_trim(said);
	struct str line = STR("bubblewrap ended without a message");

	(void)str_split(&rest, '\n', &line);
	error_set(err, ERR_CONFIG, "%.*s", line.len > 300 ? 300 : (int)line.len,
		  line.ptr);
	if (str_search(line, STR("namespace")) < line.len ||
	    str_search(line, STR("uid map")) < line.len)
		error_hint(err,
			   "User namespaces are switched off here. As root: "
			   "sysctl -w kernel.unprivileged_userns_clone=1 "
			   "user.max_user_namespaces=10000, and on Ubuntu "
			   "kernel.apparmor_restrict_unprivileged_userns=0");
	else if (str_search(line, STR("mount")) < line.len)
		error_hint(
			err,
			"Inside a container, bubblewrap needs user namespaces "
			"and a /proc without masks: docker run --privileged");
	else if (str_search(line, STR("nknown option")) < line.len)
		error_hint(err, "bubblewrap 0.8 or newer is required.");
	return -1;
}

static void read_message(int fd, struct buf *message)
{
	struct pollfd set = { .fd = fd, .events = POLLIN };
	char room[1024];
	ssize_t n;

	while (io_poll(&set, 1, 500) > 0 &&
	       (n = io_read(fd, room, sizeof(room))) > 0)
		buf_add(message, room, (size_t)n);
}

int box_receive(int fd, void *message, size_t len, const struct stop *stop,
		struct error *err)
{
	for (;;) {
		struct pollfd set[2] = { { .fd = fd, .events = POLLIN },
					 { .fd = stop_fd(stop),
					   .events = POLLIN } };
		ssize_t n;

		if (poll(set, 2, stop_poll_ms(stop, -1)) < 0 && errno != EINTR)
			break;
		if (stop_check(stop, err) < 0)
			return -1;
		n = recv(fd, message, len, MSG_DONTWAIT);
		if (n == (ssize_t)len)
			return 1;
		if (n >= 0 || errno == ECONNRESET)
			return 0;
		if (errno != EAGAIN && errno != EINTR)
			break;
	}
	return error_errno(err, "hearing from the sandbox");
}

static int wait_started(const struct box *b, int messages, int64_t start_ms,
			const struct stop *stop, struct error *err)
{
	struct stop limit = stop_within(stop, start_ms);
	struct buf message = BUF_INIT(MESSAGE_MAX);
	uint32_t magic = 0;
	int got = box_receive(b->sock, &magic, sizeof(magic), &limit, err);

	if (got > 0 && magic == JAIL_MAGIC)
		return 0;
	if (got < 0 && err->code == ERR_CANCELLED)
		return -1;
	if (got < 0 && err->code == ERR_TIMEOUT)
		return error_set(err, ERR_TIMEOUT, "bubblewrap did not start");
	read_message(messages, &message);
	set_failure(buf_str(&message), err);
	buf_release(&message);
	return -1;
}

static void add_box(struct words *w, const struct box *b)
{
	char program[32];
	char sock[16];
	char guard[16];
	char git[16];

	snprintf(program, sizeof(program), "/proc/self/fd/%d", AT_EXE);
	snprintf(sock, sizeof(sock), "%d", AT_SOCK);
	snprintf(guard, sizeof(guard), "%d", AT_GUARD);
	snprintf(git, sizeof(git), "%d", AT_GIT);
	words_add(w, "--bind", b->home, "/home/user", NULL);
	/* The bound directory may be in the tree, and that around the
	 * repository. */
	if (b->tree)
		words_add(w, "--ro-bind", b->tree, b->tree, NULL);
	if (b->git)
		words_add(w, "--args", git, NULL);
	words_add(w, "--bind", b->workspace, b->inside, NULL);
	if (strcmp(b->inside, "/workspace") != 0)
		words_add(w, "--symlink", b->inside, "/workspace", NULL);
	if (b->guard)
		words_add(w, "--args", guard, NULL);
	words_add(w, "--chdir", b->inside, "--remount-ro", "/", "--as-pid-1",
		  "--", program, JAIL_ARGUMENT, sock, NULL);
}

static int guard_fd(const struct guard *g, struct error *err)
{
	return args_fd(g->arguments, g->arguments_len, err);
}

static bool needs_var_tmp(const struct box *b)
{
	static const char place[] = "/var/tmp/";
	const char *const paths[] = { b->inside, b->tree,
				      b->git ? b->git->inside : NULL };

	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++)
		if (paths[i] && !strncmp(paths[i], place, sizeof(place) - 1))
			return true;
	return false;
}

/*
 * No --die-with-parent: that is about the thread which started it, and ours
 * may end long before the sandbox. The supervisor ends with its socket
 * instead, which the kernel closes however dcode ends.
 */
static int spawn_box(struct box *b, const struct local *l, bool network,
		     int sock, int messages, struct error *err)
{
	struct words w = { 0 };
	int fds[AT_ETC + LOCAL_ETC] = { -1, -1, messages, sock, -1, -1, -1 };
	size_t n = AT_ETC;
	struct proc_spec spec = { .path = l->bwrap,
				  .env = no_env,
				  .cwd = "/",
				  .fds = fds,
				  .session = true };
	int rc = -1;

	words_add(&w, "bwrap", NULL);
	args_system(&w, network, l->limits.memory);
	if (needs_var_tmp(b))
		args_var_tmp(&w, l->limits.memory);
	else
		words_add(&w, "--symlink", "../tmp", "/var/tmp", NULL);
	fds[AT_EXE] = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	if (fds[AT_EXE] < 0)
		error_errno(err, "opening dcode itself");
	else if ((!b->guard ||
		  (fds[AT_GUARD] = guard_fd(b->guard, err)) >= 0) &&
		 (!b->git || (fds[AT_GIT] = guard_fd(b->git, err)) >= 0))
		rc = args_etc(&w, network, fds, &n, err);
	if (rc == 0) {
		add_box(&w, b);
		spec.argv = w.v;
		spec.nfds = n;
		rc = proc_spawn(&spec, &b->pid, err);
	}
	for (size_t i = AT_EXE; i < n; i++)
		close_fd(&fds[i]);
	words_release(&w);
	return rc;
}

/* Any dcode can end the sandbox by this file. */
static int write_mark(struct box *b, const char *dir, struct error *err)
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

int box_start(struct box *b, const struct local *l, const char *dir,
	      const struct local_meta *m, const struct stop *stop,
	      struct error *err)
{
	const struct timeval patience = { .tv_sec = 5 };
	int pair[2] = { -1, -1 };
	int messages[2] = { -1, -1 };
	int rc = -1;

	b->home = path_join(dir, "home");
	b->workspace = path_join(dir, m->bind ? m->bind : "workspace");
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0 ||
	    pipe2(messages, O_CLOEXEC) < 0)
		error_errno(err, "starting bubblewrap");
	else
		rc = spawn_box(b, l, m->network, pair[1], messages[1], err);
	close_fd(&pair[1]);
	close_fd(&messages[1]);
	b->sock = pair[0];
	if (rc == 0) {
		(void)setsockopt(b->sock, SOL_SOCKET, SO_SNDTIMEO, &patience,
				 sizeof(patience));
		rc = write_mark(b, dir, err);
	}
	if (rc == 0)
		rc = wait_started(b, messages[0], l->start_ms, stop, err);
	if (rc == 0) {
		cgroup_open(&b->group, &l->limits);
		cgroup_add(&b->group, b->pid);
	} else if (b->pid > 0) { /* it may hang before our code runs */
		(void)proc_tree_kill(&(struct proc_tree){ .root = b->pid });
	}
	close_fd(&messages[0]);
	return rc;
}

int box_order(const struct box *b, const struct jail_order *order,
	      const int *fds, size_t n, struct error *err)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(JAIL_FDS * sizeof(int))];
	} control = { 0 };
	struct iovec data = { .iov_base = (void *)order,
			      .iov_len = sizeof(*order) };
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
	struct jail_order order = { .kind = JAIL_LIFETIME, .lifetime_ms = ms };

	return box_order(b, &order, NULL, 0, err);
}

bool box_ended(const struct box *b, int ms)
{
	struct pollfd set = { .fd = b->sock, .events = POLLIN };

	return b->sock < 0 || io_poll(&set, 1, ms) > 0;
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
	while (set.fd >= 0 && io_poll(&set, 1, 100) == 0 &&
	       stop_check(&limit, &ignored) == 0)
		(void)proc_tree_kill(&tree);
	close_fd(&set.fd);
}

void box_free(struct box *b, struct pipe_reaper *reaper)
{
	/* While something runs, it could take the name of a placeholder that
	 * is removed. */
	if (b->guard || b->group.memory || b->group.pids)
		box_stop(b);
	if (b->git) {
		guard_release(b->git);
		free(b->git);
	}
	if (b->guard) {
		guard_release(b->guard);
		free(b->guard);
	}
	close_fd(&b->sock);
	if (b->pid > 0)
		pipe_reaper_reap(reaper, b->pid);
	cgroup_release(&b->group);
	if (b->mark)
		unlink(b->mark);
	free(b->mark);
	free(b->home);
	free(b->workspace);
	free(b->inside);
	free(b->tree);
	free(b);
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

int box_copy(struct local *l, const char *from, const char *workspace,
	     const char *to, const struct stop *stop, struct error *err)
{
	char *home = path_join(from, "home");
	char *work = path_join(from, workspace ? workspace : "workspace");
	struct words w = { 0 };
	struct buf message = BUF_INIT(MESSAGE_MAX);
	struct exec_request req = { .output = collect, .arg = &message };
	struct exec_result res;
	struct pump_program bwrap = { .spec = { .path = l->bwrap,
						.env = no_env,
						.cwd = "/",
						.session = true },
				      .reaper = &l->reaper };
	int rc;

	words_add(&w, "bwrap", NULL);
	args_system(&w, false, 0);
	words_add(&w, "--die-with-parent", "--ro-bind", home, "/from/home",
		  "--ro-bind", work, "/from/workspace", "--bind", to, "/to",
		  "--remount-ro", "/", "--", "/bin/cp", "-a", "/from/home",
		  "/from/workspace", "/to/", NULL);
	bwrap.spec.argv = w.v;
	rc = pump_program(&bwrap, &req, &res, stop, err);
	if (rc == 0 && res.exit_code != 0)
		rc = set_failure(buf_str(&message), err);
	words_release(&w);
	buf_release(&message);
	free(home);
	free(work);
	return rc;
}
