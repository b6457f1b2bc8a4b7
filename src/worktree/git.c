/* git.c - starts git, protected from the configuration of repositories. */
/* SPDX-License-Identifier: MIT */
/*
 * All git commands of dcode go through git_run(): one git process with a fixed
 * environment and fixed settings, in a repository that dcode made. git_start()
 * to git_finish() run a git that is fed piece by piece. git_init() makes such a
 * repository and removes the locks of a killed git. odb.h handles commits and
 * objects.
 */
#include "worktree/git.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/proc.h"
#include "base/sanitize.h"
#include "base/str.h"

enum {
	RUN_MS = 120000,
	KILL_MS = 2000,
	CHUNK = 64 << 10,
	SAID_MAX = 64 << 10, /* bytes of standard error kept */
	ARGS_MAX = 256,
	ENV_MAX = 64,
	RECORD_MAX = 1 << 20, /* bytes of a record printed with -z */
};

enum {                       /* locks */
       LOCK_STALE_MS = 5000, /* git holds a lock for milliseconds */
       LOCK_PAUSE_MS = 100,
       LOCK_DEPTH_MAX = 4, /* levels of refs/dcode/LABEL/base.lock */
};

/* Overrides settings that could make git start a program, contact a server or
 * change bytes, and those that would make its output depend on the user's
 * settings. */
static const char *const settings[] = {
	"core.fsmonitor=false",
	"core.hooksPath=/dev/null",
	"core.untrackedCache=false",
	"core.attributesFile=/dev/null",
	"core.excludesFile=/dev/null",
	"core.autocrlf=false",
	"core.eol=lf",
	"core.safecrlf=false",
	"core.fileMode=true",
	"core.symlinks=true",
	"core.ignoreCase=false",
	"core.precomposeUnicode=false",
	/* that file of the user's repository may be wrong */
	"core.commitGraph=false",
	"core.multiPackIndex=false",
	"core.quotePath=true",
	"core.compression=1",
	/* otherwise fast-import is slower than networks */
	"pack.compression=0",
	"core.pager=cat",
	"core.editor=false",
	"core.sshCommand=false",
	"core.askPass=false",
	"credential.helper=",
	"protocol.allow=never",
	"gc.auto=0",
	"maintenance.auto=false",
	"submodule.recurse=false",
	"commit.gpgSign=false",
	"tag.gpgSign=false",
	"log.showSignature=false",
	"gpg.program=false",
	"merge.renormalize=false",
	"merge.conflictStyle=merge",
	"diff.renames=true",
	"diff.algorithm=myers",
	"color.ui=false",
	"advice.detachedHead=false",
	NULL,
};

static const char *const fixed_env[] = {
	"HOME=/nonexistent",
	"LC_ALL=C",
	"TZ=UTC",
	"GIT_CONFIG_NOSYSTEM=1",
	"GIT_CONFIG_GLOBAL=/dev/null",
	"GIT_CONFIG_SYSTEM=/dev/null",
	"GIT_ATTR_NOSYSTEM=1",
	"GIT_TERMINAL_PROMPT=0",
	"GIT_ASKPASS=false",
	"SSH_ASKPASS=false",
	"GIT_SSH_COMMAND=false",
	"GIT_EDITOR=false",
	"GIT_PAGER=cat",
	"GIT_NO_LAZY_FETCH=1",
	"GIT_NO_REPLACE_OBJECTS=1",
	"GIT_OPTIONAL_LOCKS=0",
	"GIT_ALLOW_PROTOCOL=",
	"GIT_LITERAL_PATHSPECS=1",
	"GIT_AUTHOR_NAME=dcode",
	"GIT_AUTHOR_EMAIL=dcode@localhost",
	"GIT_COMMITTER_NAME=dcode",
	"GIT_COMMITTER_EMAIL=dcode@localhost",
	NULL,
};

/* For struct git_user: overrides what could run a program that is in a tree,
 * push more than one branch, or make git ask where nobody answers. */
static const char *const user_settings[] = {
	"core.fsmonitor=false",
	"core.hooksPath=/dev/null",
	"core.commitGraph=false",
	"core.multiPackIndex=false",
	"core.pager=cat",
	"core.editor=false",
	"push.followTags=false",
	"push.recurseSubmodules=no",
	"submodule.recurse=false",
	"gc.auto=0",
	"maintenance.auto=false",
	"color.ui=false",
	/* a server may be silent while its own hooks run */
	"http.lowSpeedLimit=1",
	"http.lowSpeedTime=300",
	NULL,
};

static const char *const user_env[] = {
	"LC_ALL=C",
	"GIT_EDITOR=false",
	"GIT_PAGER=cat",
	"GIT_NO_LAZY_FETCH=1",
	"GIT_NO_REPLACE_OBJECTS=1",
	"GIT_OPTIONAL_LOCKS=0",
	"GIT_ALLOW_PROTOCOL=https:http:ssh",
	NULL,
};

/* Variables of git that say how to reach a server. All others are dropped:
 * they could name another repository or other settings. */
static const char *const user_names[] = {
	"GIT_SSH=",           "GIT_SSH_VARIANT=",
	"GIT_ASKPASS=",       "GIT_CONFIG_GLOBAL=",
	"GIT_CONFIG_SYSTEM=", "GIT_CONFIG_NOSYSTEM=",
	"GIT_SSL_",           "GIT_PROXY_SSL_",
	"GIT_HTTP_",          NULL,
};

/* info/attributes overrides all other attribute files, so that filters, line
 * ends and drivers of a .gitattributes in the tree have no effect. */
static const char attributes[] =
	"* -text -eol -ident -filter -working-tree-encoding !merge !diff"
	" !conflict-marker-size\n";

struct git_process {
	char *name; /* owned: the subcommand */
	pid_t pid;
	int in, out, said_fd; /* -1 when closed */
	struct buf said;
	git_sink *sink; /* NULL: output is dropped */
	void *sink_arg;
	struct stop stop;
	bool deaf; /* git does not read its input any more */
};

/* True for subcommands that can start external programs. */
static bool is_diff(const char *name)
{
	return !strcmp(name, "diff") || !strcmp(name, "log") ||
	       !strcmp(name, "show") || !strcmp(name, "diff-tree") ||
	       !strcmp(name, "diff-index") || !strcmp(name, "diff-files");
}

/* Returns "git" with its settings and argv, NULL-terminated; free with
 * free_list(). */
static char **make_args(const struct git *g, const char *const *argv)
{
	char **all = xcalloc(ARGS_MAX, sizeof(*all));
	const char *const *set = g->user ? user_settings : settings;
	size_t n = 0;

	all[n++] = xstrdup("git");
	for (size_t i = 0; set[i]; i++) {
		all[n++] = xstrdup("-c");
		all[n++] = xstrdup(set[i]);
	}
	all[n++] = xasprintf("--git-dir=%s", g->dir);
	for (size_t i = 0; argv[i] && n < ARGS_MAX - 3; i++) {
		all[n++] = xstrdup(argv[i]);
		if (i == 0 && is_diff(argv[i])) {
			all[n++] = xstrdup("--no-ext-diff");
			all[n++] = xstrdup("--no-textconv");
		}
	}
	return all;
}

/* Appends a path in quotes, because ":" separates directories. */
static void add_quoted(const char *path, struct buf *out)
{
	buf_addc(out, '"');
	for (const char *p = path; *p; p++) {
		if (*p == '"' || *p == '\\')
			buf_addc(out, '\\');
		buf_addc(out, *p);
	}
	buf_addc(out, '"');
}

/* Returns the environment variable with the object directories. */
static char *alternates_value(const struct git *g)
{
	struct buf out = BUF_INIT(1 << 20);
	char *value;

	buf_adds(&out, "GIT_ALTERNATE_OBJECT_DIRECTORIES=");
	add_quoted(g->objects, &out);
	if (g->more_objects) {
		buf_addc(&out, ':');
		add_quoted(g->more_objects, &out);
	}
	value = xstrdup(out.ptr);
	buf_release(&out);
	return value;
}

/* True for a variable of the user that git gets. */
static bool is_users_variable(const char *entry)
{
	struct str s = str_of(entry);

	for (size_t i = 0; user_names[i]; i++)
		if (str_starts(s, user_names[i]))
			return true;
	return !str_starts(s, "GIT_") && !str_starts(s, "PATH=") &&
	       !str_starts(s, "LC_ALL=");
}

/* True if the path is the directory or below it. */
static bool is_below(const char *path, const char *directory)
{
	size_t len = strlen(directory);

	return !strncmp(path, directory, len) &&
	       (path[len] == '/' || !path[len]);
}

/* Returns PATH with only absolute directories, and without those below avoid
 * (NULL: with all). Owned. */
static char *make_path(const char *avoid)
{
	char *all = proc_absolute_path(getenv("PATH"));
	struct str rest = str_of(all);
	struct buf out = BUF_INIT(1 << 20);
	struct str dir;
	char *path;

	while (avoid && str_split(&rest, ':', &dir)) {
		char *one = xstrndup(dir.ptr, dir.len);
		char *real = realpath(one, NULL);

		if (real && !is_below(real, avoid))
			buf_addf(&out, "%s%s", out.len ? ":" : "", one);
		free(real);
		free(one);
	}
	path = xstrdup(avoid ? (out.len ? out.ptr : "/usr/bin:/bin") : all);
	buf_release(&out);
	free(all);
	return path;
}

/* Returns "GIT_SSH_COMMAND=..." with the user's command, owned; NULL if the
 * user names another program. OpenSSH must not ask where nobody answers. */
static char *make_ssh_command(const struct git_user *u)
{
	const char *own = getenv("GIT_SSH_COMMAND");
	const char *command = own && own[0] ? own : u->ssh_command;
	const char *quiet = "";
	struct str word;

	if (!command && getenv("GIT_SSH"))
		return NULL;
	if (!command)
		command = "ssh";
	word = (struct str){ command, strcspn(command, " \t") };
	if (!u->terminal && (str_is(word, "ssh") || str_ends(word, "/ssh")))
		quiet = " -o BatchMode=yes -o ConnectTimeout=30";
	return xasprintf("GIT_SSH_COMMAND=%s%s", command, quiet);
}

/* Adds the user's environment, and what dcode sets in it. Returns the new
 * count. */
static size_t add_user_env(char **all, size_t n, const struct git_user *u)
{
	char *ssh = make_ssh_command(u);

	for (size_t i = 0; environ[i]; i++)
		if (is_users_variable(environ[i]))
			all[n++] = xstrdup(environ[i]);
	for (size_t i = 0; user_env[i]; i++)
		all[n++] = xstrdup(user_env[i]);
	all[n++] = xasprintf("GIT_TERMINAL_PROMPT=%d", u->terminal);
	if (ssh)
		all[n++] = ssh;
	return n;
}

static size_t count_environ(void)
{
	size_t n = 0;

	while (environ[n])
		n++;
	return n;
}

/* Returns git's complete environment; free with free_list(). */
static char **make_env(const struct git *g)
{
	char **all = xcalloc(ENV_MAX + count_environ(), sizeof(*all));
	char *path = make_path(g->user ? g->user->avoid : NULL);
	size_t n = 0;

	for (size_t i = 0; !g->user && fixed_env[i]; i++)
		all[n++] = xstrdup(fixed_env[i]);
	if (g->user)
		n = add_user_env(all, n, g->user);
	all[n++] = xasprintf("PATH=%s", path);
	all[n++] = xasprintf("GIT_DIR=%s", g->dir);
	all[n++] = g->index ? xasprintf("GIT_INDEX_FILE=%s", g->index)
			    : xasprintf("GIT_INDEX_FILE=%s/none", g->dir);
	if (g->work_tree)
		all[n++] = xasprintf("GIT_WORK_TREE=%s", g->work_tree);
	if (g->objects)
		all[n++] = alternates_value(g);
	for (size_t i = 0; g->env && g->env[i] && i < ENV_MAX / 2; i++)
		all[n++] = xstrdup(g->env[i]);
	free(path);
	return all;
}

static void free_list(char **list)
{
	for (size_t i = 0; list && list[i]; i++)
		free(list[i]);
	free(list);
}

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

/* Makes git's three streams. They are sockets, because writing to a closed
 * socket can return an error instead of raising a signal. ours[i] is dcode's
 * end of the child's descriptor i. */
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

/* Starts git in its own session, unless it may ask at the terminal. */
static int spawn(struct git_process *p, const struct git *g,
		 const struct git_request *r, struct error *err)
{
	int ours[3] = { -1, -1, -1 };
	int theirs[3] = { -1, -1, -1 };
	char **args = make_args(g, r->argv);
	char **env = make_env(g);
	struct proc_spec spec = { .path = g->program,
				  .argv = args,
				  .env = env,
				  .cwd = g->work_tree ? g->work_tree : g->dir,
				  .fds = theirs,
				  .nfds = 3,
				  .data_max = r->data_max,
				  .umask_077 = !g->users_modes,
				  .session = !g->user || !g->user->terminal };
	int rc = make_streams(ours, theirs, err);

	if (rc == 0)
		rc = proc_spawn_bound(&spec, &p->pid, err);
	for (int i = 0; i < 3; i++)
		close_fd(&theirs[i]);
	free_list(args);
	free_list(env);
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

/* Reads from one of git's streams, and closes it at its end. */
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

/* Waits until git prints or, with writing, accepts input. *ready: git accepts
 * input. */
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
			p->deaf = true; /* git's exit status will say why */
		else if (wait_for(p, true, &ready, err) < 0)
			return -1;
	}
	return 0;
}

/* Waits for the process after the end of its output. Returns its exit code, or
 * -1. */
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

/* Returns the last line with an error that git printed, else its last line. */
static struct str find_failure(struct str said)
{
	struct str found = { 0 };
	struct str last = { 0 };

	while (str_split(&said, '\n', &last))
		if (str_starts(last, "error: ") || str_starts(last, "fatal: "))
			found = last;
	return found.len ? found : last;
}

/* Sets err from git's output and exit status. Returns -1. */
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

/* Closes git's input and reads its output to the end. Returns the exit code, or
 * -1. */
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

/* Ends git and fills in the results of r, which may be NULL. Frees p. */
static int finish(struct git_process *p, const struct git_request *r,
		  struct error *err)
{
	int code = end_input(p, err);
	int rc = code < 0 ? -1 : 0;
	int *status = r ? r->status : NULL;

	if (r && r->warned)
		*r->warned = p->said.len > 0;
	if (r && r->said)
		buf_addstr(r->said, buf_str(&p->said));
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

/* Writes the input, or pulls it piece by piece from the source. */
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
	return buf_check(out, "git's output", err);
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

static int read_records(void *arg, struct str chunk, struct error *err)
{
	struct nul_records *r = arg;
	size_t done = 0;
	int rc = 0;

	buf_addstr(&r->held, chunk);
	if (buf_check(&r->held, "a name", err) < 0)
		return -1;
	while (rc == 0 && done < r->held.len) {
		const char *one = r->held.ptr + done;
		const char *end = memchr(one, '\0', r->held.len - done);

		if (!end)
			break;
		done += (size_t)(end - one) + 1;
		rc = r->each(r->arg, one, err);
	}
	buf_consume(&r->held, done);
	return rc;
}

int git_run_records(const struct git *g, const char *const *argv,
		    struct nul_records *r, const struct stop *stop,
		    struct error *err)
{
	struct git_request q = {
		.argv = argv,
		.input = r->input,
		.sink = read_records,
		.sink_arg = r,
		.warned = &r->warned,
	};
	int rc;

	r->held = BUF_INIT(RECORD_MAX);
	rc = git_run(g, &q, stop, err);
	buf_release(&r->held);
	return rc;
}

/* Removes stale locks below the directory name. Returns how many locks may
 * still be held. */
static size_t drop_locks_below(int parent, const char *name, int depth)
{
	int fd = openat(parent, name,
			O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *e;
	size_t held = 0;

	if (!d && fd >= 0)
		close(fd);
	while (d && (e = readdir(d))) {
		struct stat st;
		int64_t age;

		if (e->d_name[0] == '.' ||
		    fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		if (S_ISDIR(st.st_mode) && depth < LOCK_DEPTH_MAX)
			held += drop_locks_below(dirfd(d), e->d_name,
						 depth + 1);
		if (!S_ISREG(st.st_mode) ||
		    !str_ends(str_of(e->d_name), ".lock"))
			continue;
		age = clock_unix_ms() - (int64_t)st.st_mtim.tv_sec * 1000 -
		      st.st_mtim.tv_nsec / 1000000;
		/* A lock whose time is in the future is removed too: that time
		 * is not reliable. */
		if ((age < LOCK_STALE_MS && age >= -LOCK_STALE_MS) ||
		    unlinkat(dirfd(d), e->d_name, 0) < 0)
			held++;
	}
	if (d)
		closedir(d);
	return held;
}

/* Removes reference locks of a killed git in the repository dir, so that the
 * references can be written again. Waits for locks that may be held. */
static void drop_locks(const char *dir, const struct stop *stop)
{
	struct stop limit = stop_within(stop, 2 * LOCK_STALE_MS);
	struct error ignored = { 0 };
	int top = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	while (top >= 0 && drop_locks_below(top, "refs", 1) > 0)
		if (stop_sleep(&limit, LOCK_PAUSE_MS, &ignored) < 0)
			break;
	if (top >= 0)
		close(top);
}

int git_init(const struct git *g, const struct stop *stop, struct error *err)
{
	const char *argv[] = { "init",        "-q",   "--bare",
			       "--template=", g->dir, NULL };
	struct git_request r = { .argv = argv };
	struct git bare = { .program = g->program, .dir = g->dir };
	/* git creates this last: if it is missing, the first init was
	 * killed. */
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
		drop_locks(g->dir, stop);
	free(last);
	free(info);
	free(file);
	return rc;
}
