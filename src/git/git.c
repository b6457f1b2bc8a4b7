/* git.c - the one place that starts git, where no repository steers it. */
/* SPDX-License-Identifier: MIT */
#include "git/git.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/proc.h"
#include "base/sanitize.h"
#include "base/str.h"
#include "git/git_impl.h"

enum {
	RUN_MS = 120000,
	KILL_MS = 2000,
	CHUNK = 64 << 10,
	SAID_MAX = 64 << 10, /* bytes of standard error kept */
};

/* The highest precedence of all attribute files: what a .gitattributes of the
 * tree says of filters, line ends or drivers does not count. */
static const char attributes[] =
	"* -text -eol -ident -filter -working-tree-encoding !merge !diff"
	" !conflict-marker-size\n";

struct git_process {
	char *name; /* owned: the subcommand */
	pid_t pid;
	int in, out, said_fd; /* -1 when closed */
	struct buf said;
	git_sink *sink; /* NULL: printed is dropped */
	void *sink_arg;
	struct stop stop;
	bool deaf; /* it reads no more */
};

int git_find(const char *root, char **program, struct error *err)
{
	struct str rest = str_of(getenv("PATH"));
	size_t len = root ? strlen(root) : 0;
	struct str dir;

	if (!rest.len)
		rest = STR("/usr/local/bin:/usr/bin:/bin");
	while (str_split(&rest, ':', &dir)) {
		char *one = xstrndup(dir.ptr ? dir.ptr : "", dir.len);
		char *found = dir.len ? proc_find("git", one) : NULL;
		char *real = found ? realpath(found, NULL) : NULL;

		free(one);
		if (real && (!len || strncmp(real, root, len) != 0 ||
			     (real[len] != '/' && real[len]))) {
			free(real);
			*program = found;
			return 0;
		}
		free(real);
		free(found);
	}
	error_set(err, ERR_CONFIG, "git is not on PATH");
	return error_hint(err, "Install git 2.38 or later (Debian: apt install"
			       " git).");
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* Its three streams are sockets: a write to one whose reader has gone is an
 * error, not a signal. ours[i] is what dcode uses of the child's i. */
static int make_streams(int ours[3], int theirs[3], struct error *err)
{
	for (int i = 0; i < 3; i++) {
		int pair[2];

		if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) <
		    0)
			return error_errno(err, "starting git");
		ours[i] = pair[0];
		theirs[i] = pair[1];
		(void)shutdown(pair[i ? 1 : 0], SHUT_RD);
	}
	return 0;
}

static int spawn(struct git_process *p, const struct git *g,
		 const struct git_request *r, struct error *err)
{
	int ours[3] = { -1, -1, -1 };
	int theirs[3] = { -1, -1, -1 };
	char **args = git_args(g, r->argv);
	char **env = git_env(g);
	struct proc_spec spec = { .path = g->program,
				  .argv = args,
				  .env = env,
				  .cwd = g->work_tree ? g->work_tree : g->dir,
				  .fds = theirs,
				  .nfds = 3,
				  .data_max = r->data_max,
				  .umask_077 = !g->users_modes,
				  .session = true };
	int rc = make_streams(ours, theirs, err);

	if (rc == 0)
		rc = proc_spawn_bound(&spec, &p->pid, err);
	for (int i = 0; i < 3; i++)
		close_fd(&theirs[i]);
	git_free_list(args);
	git_free_list(env);
	p->in = ours[0];
	p->out = ours[1];
	p->said_fd = ours[2];
	return rc;
}

int git_start(struct git_process **out, const struct git *g,
	      const struct git_request *r, const struct stop *stop,
	      struct error *err)
{
	struct git_process *p = xcalloc(1, sizeof(*p));

	p->name = xstrdup(r->argv[0]);
	p->said = BUF_INIT(SAID_MAX);
	p->sink = r->sink;
	p->sink_arg = r->sink_arg;
	p->stop = stop_within(stop, r->timeout_ms ? r->timeout_ms : RUN_MS);
	if (spawn(p, g, r, err) == 0) {
		*out = p;
		return 0;
	}
	p->pid = 0;
	git_abort(p);
	return -1;
}

/* Reads one of its streams; closes it at its end. */
static int read_stream(struct git_process *p, int *fd, struct error *err)
{
	char room[CHUNK];
	ssize_t n = io_read(*fd, room, sizeof(room));
	struct str chunk = { room, n > 0 ? (size_t)n : 0 };

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return 0;
	if (n <= 0) {
		close_fd(fd);
		return 0;
	}
	if (fd == &p->out)
		return p->sink ? p->sink(p->sink_arg, chunk, err) : 0;
	if (p->said.len + chunk.len > SAID_MAX / 2)
		buf_clear(&p->said);
	buf_addstr(&p->said, chunk);
	return 0;
}

/* Waits until it prints or, with writing, takes input. *ready: it does. */
static int wait_for(struct git_process *p, bool writing, bool *ready,
		    struct error *err)
{
	struct pollfd set[4] = {
		{ .fd = writing ? p->in : -1, .events = POLLOUT },
		{ .fd = p->out, .events = POLLIN },
		{ .fd = p->said_fd, .events = POLLIN },
		{ .fd = stop_fd(&p->stop), .events = POLLIN },
	};

	if (poll(set, 4, stop_poll_ms(&p->stop, -1)) < 0 && errno != EINTR)
		return error_errno(err, "git %s", p->name);
	if (stop_check(&p->stop, err) < 0)
		return error_wrap(err, "git %s", p->name);
	if (set[1].revents && read_stream(p, &p->out, err) < 0)
		return -1;
	if (set[2].revents && read_stream(p, &p->said_fd, err) < 0)
		return -1;
	*ready = set[0].revents != 0;
	return 0;
}

int git_write(struct git_process *p, struct str bytes, struct error *err)
{
	while (bytes.len && !p->deaf) {
		bool ready = false;
		ssize_t n = send(p->in, bytes.ptr, bytes.len,
				 MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n > 0) {
			bytes = str_skip(bytes, (size_t)n);
			continue;
		}
		if (n < 0 && errno != EAGAIN && errno != EINTR)
			p->deaf = true; /* its end says why */
		else if (wait_for(p, true, &ready, err) < 0)
			return -1;
	}
	return 0;
}

/* Waits for its end, which the end of its output announced. */
static int reap(struct git_process *p, struct error *err)
{
	struct error ignored = { 0 };
	int fd = proc_fd(p->pid, &ignored);
	struct pollfd set[2] = {
		{ .fd = fd, .events = POLLIN },
		{ .fd = stop_fd(&p->stop), .events = POLLIN },
	};
	int status = 0;
	int rc = 0;

	while (rc == 0 && fd >= 0 && !set[0].revents) {
		(void)poll(set, 2, stop_poll_ms(&p->stop, -1));
		if (!set[0].revents)
			rc = stop_check(&p->stop, err);
	}
	close_fd(&fd);
	if (rc < 0)
		return -1;
	while (waitpid(p->pid, &status, 0) < 0 && errno == EINTR)
		;
	p->pid = 0;
	return proc_exit_code(status);
}

/* The last line with an error that it said, else the last one. */
static struct str find_failure(struct str said)
{
	struct str found = { 0 };
	struct str last = { 0 };

	while (str_split(&said, '\n', &last))
		if (str_starts(last, "error: ") || str_starts(last, "fatal: "))
			found = last;
	return found.len ? found : last;
}

static int say_failure(const struct git_process *p, int status,
		       struct error *err)
{
	struct buf line = BUF_INIT(400);

	sanitize_line(find_failure(str_trim(buf_str(&p->said))), &line);
	error_set(err, ERR_SYSTEM, "git %s exited with status %d%s%s", p->name,
		  status, line.len ? ": " : "", line.len ? line.ptr : "");
	buf_release(&line);
	return -1;
}

/* The status, or -1. */
static int end_input(struct git_process *p, struct error *err)
{
	bool ready;

	close_fd(&p->in);
	while (p->out >= 0 || p->said_fd >= 0)
		if (wait_for(p, false, &ready, err) < 0)
			return -1;
	return reap(p, err);
}

void git_abort(struct git_process *p)
{
	struct stop own = stop_cleanup(KILL_MS);
	struct error ignored = { 0 };

	if (!p)
		return;
	close_fd(&p->in);
	close_fd(&p->out);
	close_fd(&p->said_fd);
	if (p->pid > 0) {
		struct proc_tree tree = { .root = p->pid };

		while (proc_tree_kill(&tree) > 0 &&
		       stop_sleep(&own, 1, &ignored) == 0)
			;
		while (waitpid(p->pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	buf_release(&p->said);
	free(p->name);
	free(p);
}

static int finish(struct git_process *p, const struct git_request *r,
		  struct error *err)
{
	int code = end_input(p, err);
	int rc = code < 0 ? -1 : 0;
	int *status = r ? r->status : NULL;

	if (r && r->warned)
		*r->warned = p->said.len > 0;
	if (status)
		*status = code;
	else if (code > 0)
		rc = say_failure(p, code, err);
	git_abort(p);
	return rc;
}

int git_finish(struct git_process *p, struct error *err)
{
	return finish(p, NULL, err);
}

static int feed(struct git_process *p, const struct git_request *r,
		struct error *err)
{
	char *room;
	int64_t n;
	int rc = git_write(p, r->input, err);

	if (rc < 0 || !r->source)
		return rc;
	room = xcalloc(1, CHUNK);
	while ((n = r->source(r->source_arg, room, CHUNK, err)) > 0 && rc == 0)
		rc = git_write(p, (struct str){ room, (size_t)n }, err);
	free(room);
	return n < 0 ? -1 : rc;
}

static int collect(void *arg, struct str chunk, struct error *err)
{
	struct buf *out = arg;

	buf_addstr(out, chunk);
	return buf_check(out, "what git prints", err);
}

int git_run(const struct git *g, const struct git_request *r,
	    const struct stop *stop, struct error *err)
{
	struct git_request mine = *r;
	struct git_process *p;

	if (r->out) {
		mine.sink = collect;
		mine.sink_arg = r->out;
	}
	if (git_start(&p, g, &mine, stop, err) < 0)
		return -1;
	if (feed(p, r, err) < 0) {
		git_abort(p);
		return -1;
	}
	return finish(p, r, err);
}

int git_ask(const struct git *g, const char *const *argv, struct buf *out,
	    const struct stop *stop, struct error *err)
{
	struct git_request r = { .argv = argv, .out = out };
	struct str text;

	if (git_run(g, &r, stop, err) < 0)
		return -1;
	text = str_trim(buf_str(out));
	if (text.len) {
		out->len = (size_t)(text.ptr + text.len - out->ptr);
		out->ptr[out->len] = '\0';
	}
	return 0;
}

int git_init(const struct git *g, const struct stop *stop, struct error *err)
{
	const char *argv[] = { "init",        "-q",   "--bare",
			       "--template=", g->dir, NULL };
	struct git_request r = { .argv = argv };
	struct git bare = { .program = g->program, .dir = g->dir };
	/* What git makes last: without it a first init was killed. */
	char *last = path_join(g->dir, "objects/info");
	char *info = path_join(g->dir, "info");
	char *file = path_join(info, "attributes");
	int rc = path_mkdirs(g->dir, 0700, err);

	if (rc == 0 && access(last, F_OK) < 0)
		rc = git_run(&bare, &r, stop, err);
	if (rc == 0)
		rc = path_mkdirs(info, 0700, err);
	if (rc == 0 && access(file, F_OK) < 0)
		rc = path_write(file, str_of(attributes), 0600, err);
	if (rc == 0)
		git_locks_drop(g->dir, stop);
	free(last);
	free(info);
	free(file);
	return rc;
}
