/* box.c - one running bubblewrap: mounts, limits, commands, end. */
/* SPDX-License-Identifier: MIT */
/*
 * A sandbox is a bubblewrap whose process 1 is dcode itself (jail.c), which
 * dcode reaches over a socket. From top to bottom:
 *
 * - what the sandbox can see: bubblewrap's command line (args_system());
 * - what it can use: control groups, and a thread that measures its files;
 * - box_start() and box_stop(), which combine these: begin there;
 * - local_execute(), which runs a command in the jail and reads its output.
 *
 * Only the first part decides which parts of this machine a command can reach.
 * THREAT_MODEL.md describes the attacks.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <glob.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "base/ids.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/proc.h"
#include "base/stop.h"
#include "base/str.h"
#include "providers/local/local.h"

enum {
	/* ms before the first measurement: a shorter command is not measured */
	FIRST_MS = 300,
	PAUSE_MS = 300,
	PAUSE_MAX_MS = 30000,
	SHARE = 10, /* at most 1/SHARE of the time is spent measuring */
	RELEASE_TRIES = 50,
	DEEP = 8, /* levels of processes between bubblewrap and the sandbox */
	/* seconds; older groups were left behind by a killed dcode */
	ORPHAN_S = 3600,
	/* ms for the first measurement; a larger tree is measured later */
	BASE_MS = 200,
	STOP_MS = 3000,
	AT_SOCK = 3, /* first descriptors in the sandbox after 0 to 2 */
	AT_EXE,
	AT_GUARD,
	AT_GIT,
	AT_ETC,
	MESSAGE_MAX = 4096, /* bytes of bubblewrap's message */
	KILL_MS = 2500,     /* ms; the runner itself has 2000 */
	NOTICE_MS = 200,    /* wait for the sign that the supervisor is dead */
	ETC_MAX = 8,        /* generated files in /etc */
};

struct words { /* an array of owned strings, NULL-terminated */
	char **v;
	size_t n;
};
/* Appends copies of the words. The last argument is NULL. */
static void append_words(struct words *w, ...)
{
	const char *word;
	va_list args;

	va_start(args, w);
	while ((word = va_arg(args, const char *))) {
		w->v = xrealloc(w->v, w->n + 2, sizeof(*w->v));
		w->v[w->n++] = xstrdup(word);
		w->v[w->n] = NULL;
	}
	va_end(args);
}

static void release_words(struct words *w)
{
	for (size_t i = 0; i < w->n; i++)
		free(w->v[i]);
	free(w->v);
	*w = (struct words){ 0 };
}

/* Adds /usr, and /bin, /lib and so on: as links on systems with a merged /usr,
 * else as directories. */
static void add_root(struct words *w)
{
	static const char *const names[] = { "/bin",   "/sbin",  "/lib",
					     "/lib32", "/lib64", "/libx32" };

	append_words(w, "--ro-bind", "/usr", "/usr", NULL);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		char target[256];
		ssize_t n = readlink(names[i], target, sizeof(target) - 1);

		if (n > 0) {
			target[n] = '\0';
			append_words(w, "--symlink", target, names[i], NULL);
		} else {
			append_words(w, "--ro-bind-try", names[i], names[i],
				     NULL);
		}
	}
}

/* Adds /proc. If root starts dcode, the sandbox's user is the host's root
 * without capabilities, and much of /proc checks only the owner. bubblewrap 0.8
 * then leaves /proc/sys writable, and kernel.core_pattern runs programs on the
 * host (seen 2026-11; local_test.c tries it). So dcode always makes what is
 * writable there read-only, and files that only root may read are hidden. */
static void add_proc(struct words *w)
{
	static const char *const hidden[] = { "kallsyms", "keys", "key-users",
					      "sched_debug", "timer_list" };
	DIR *dir = opendir("/proc");
	struct dirent *e;

	append_words(w, "--proc", "/proc", NULL);
	while (dir && (e = readdir(dir))) {
		struct stat st;
		char *path;
		bool hide;

		if (e->d_name[0] == '.' || isdigit((unsigned char)e->d_name[0]))
			continue;
		path = path_join("/proc", e->d_name);
		if (lstat(path, &st) < 0)
			st.st_mode = 0;
		hide = S_ISREG(st.st_mode) && !(st.st_mode & S_IROTH);
		for (size_t i = 0; i < sizeof(hidden) / sizeof(*hidden); i++)
			hide = hide || !strcmp(e->d_name, hidden[i]);
		if (hide)
			append_words(w, "--ro-bind", "/dev/null", path, NULL);
		else if (S_ISDIR(st.st_mode) ||
			 (S_ISREG(st.st_mode) && (st.st_mode & 0222)))
			append_words(w, "--ro-bind", path, path, NULL);
		free(path);
	}
	if (dir)
		closedir(dir);
}

static void add_tmpfs(struct words *w, const char *path, uint64_t size)
{
	char bytes[32];

	snprintf(bytes, sizeof(bytes), "%llu", (unsigned long long)size);
	append_words(w, "--perms", "1777", NULL);
	if (size)
		append_words(w, "--size", bytes, NULL);
	append_words(w, "--tmpfs", path, NULL);
}

/* Adds namespaces, privileges, system directories, /proc, /dev and /tmp. /tmp
 * and /dev/shm in memory get half of memory each (0: no limit). */
static void args_system(struct words *w, bool network, uint64_t memory)
{
	append_words(w, "--unshare-all", "--unshare-user", NULL);
	if (network)
		append_words(w, "--share-net", NULL);
	append_words(w, "--disable-userns", "--uid", "1000", "--gid", "1000",
		     "--cap-drop", "ALL", "--hostname", "sandbox",
		     "--new-session", "--clearenv", NULL);
	add_root(w);
	add_proc(w);
	append_words(w, "--dev", "/dev", NULL);
	add_tmpfs(w, "/dev/shm", memory / 2);
	append_words(w, "--remount-ro", "/dev", NULL);
	add_tmpfs(w, "/tmp", memory / 2);
	append_words(w, "--dir", "/run", "--dir", "/var", NULL);
}

struct etc_file {
	const char *path;
	const char *text;
};

/* Generated files of the sandbox's /etc. */
static const struct etc_file etc_files[] = {
	{ "/etc/passwd",
	  "root:x:0:0:root:/root:/bin/sh\n"
	  "user:x:1000:1000:user:/home/user:/bin/sh\n"
	  "nobody:x:65534:65534:nobody:/nonexistent:/bin/false\n" },
	{ "/etc/group", "root:x:0:\nuser:x:1000:\nnogroup:x:65534:\n" },
	{ "/etc/hosts",
	  "127.0.0.1 localhost sandbox\n::1 localhost ip6-localhost\n" },
	{ "/etc/hostname", "sandbox\n" },
	{ "/etc/nsswitch.conf",
	  "passwd: files\ngroup: files\nhosts: files dns\n"
	  "services: files\nprotocols: files\n" },
	{ "/etc/resolv.conf", EGRESS_RESOLV_CONF },
};

/* Parts of this machine's /etc that the sandbox sees: no secrets (not
 * /etc/ssl/private), no users. */
static const char *const host_etc[] = {
	"/etc/alternatives",
	"/etc/ca-certificates",
	"/etc/ca-certificates.conf",
	"/etc/debian_version",
	"/etc/fonts",
	/* for a JDK of Debian; not management, which may have passwords */
	"/etc/java-*-openjdk/*.cfg",
	"/etc/java-*-openjdk/*.properties",
	"/etc/java-*-openjdk/security",
	"/etc/ld.so.cache",
	"/etc/ld.so.conf",
	"/etc/ld.so.conf.d",
	"/etc/localtime",
	"/etc/mime.types",
	"/etc/os-release",
	"/etc/perl",
	"/etc/pki/ca-trust",
	"/etc/pki/tls/certs",
	"/etc/protocols",
	"/etc/services",
	"/etc/ssl/certs",
	"/etc/ssl/openssl.cnf",
};

/* Returns a descriptor from which text can be read, or -1. */
static int args_fd(const char *text, size_t len, struct error *err)
{
	int fd = memfd_create("text", MFD_CLOEXEC);

	if (fd < 0)
		return error_errno(err, "making a file in memory");
	if (io_write_all(fd, text, len) < 0 || lseek(fd, 0, SEEK_SET) != 0) {
		close(fd);
		return error_errno(err, "making a file in memory");
	}
	return fd;
}

/* True if the path is in a part of this machine's /etc that the sandbox
 * sees. */
static bool is_shown(const char *path)
{
	for (size_t i = 0; i < sizeof(host_etc) / sizeof(*host_etc); i++)
		if (str_starts(str_of(path), host_etc[i]) &&
		    path[strlen(host_etc[i])] == '/')
			return true;
	return false;
}

/* Adds the bundle of certificates, in its own place and over the system's
 * files. */
static void add_trust(struct words *w, const struct box *b)
{
	char *java = xasprintf("%s" TRUST_JAVA, b->trust);

	append_words(w, "--ro-bind", b->trust, LOCAL_TRUST, "--ro-bind", java,
		     LOCAL_TRUST TRUST_JAVA, NULL);
	free(java);
	for (size_t i = 0; trust_files[i]; i++) {
		char *path = realpath(trust_files[i], NULL);

		if (path && is_shown(path))
			append_words(w, "--ro-bind", b->trust, path, NULL);
		free(path);
	}
}

static int args_etc(struct words *w, const struct local_meta *m, int *fds,
		    size_t *n, struct error *err)
{
	glob_t shown = { 0 };
	/* the last one is for a sandbox with a list of hosts */
	size_t last =
		sizeof(etc_files) / sizeof(*etc_files) - !local_has_proxy(m);

	for (size_t i = 0; i < last; i++) {
		char number[16];
		const char *text = etc_files[i].text;
		int fd = args_fd(text, strlen(text), err);

		if (fd < 0)
			return -1;
		snprintf(number, sizeof(number), "%d", (int)*n);
		fds[(*n)++] = fd;
		append_words(w, "--perms", "0444", "--ro-bind-data", number,
			     etc_files[i].path, NULL);
	}
	for (size_t i = 0; i < sizeof(host_etc) / sizeof(*host_etc); i++)
		(void)glob(host_etc[i], i ? GLOB_APPEND : 0, NULL, &shown);
	for (size_t i = 0; i < shown.gl_pathc; i++)
		append_words(w, "--ro-bind", shown.gl_pathv[i],
			     shown.gl_pathv[i], NULL);
	globfree(&shown);
	if (m->network)
		append_words(w, "--ro-bind-try", "/etc/resolv.conf",
			     "/etc/resolv.conf", NULL);
	return 0;
}

/* Writes text to an existing file. False if it does not exist or cannot be
 * written. */
static bool write_file(const char *dir, const char *name, const char *text)
{
	char *path = path_join(dir, name);
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool ok = fd >= 0 &&
		  io_write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	if (fd >= 0)
		close(fd);
	free(path);
	return ok;
}

static bool has_word(struct str words, char sep, const char *word)
{
	struct str item;

	while (str_split(&words, sep, &item))
		if (str_is(str_trim(item), word))
			return true;
	return false;
}

/* Returns the directory in which control groups with this controller can be
 * created, owned by the caller, or NULL. */
static char *parent_of(const char *controller)
{
	struct buf text = BUF_INIT(1 << 16);
	struct error ignored = { 0 };
	struct str rest;
	struct str line;
	char *found = NULL;

	(void)path_read("/proc/self/cgroup", &text, &ignored);
	rest = buf_str(&text);
	while (!found && str_split(&rest, '\n', &line)) {
		struct str list = str_skip(line, str_find(line, ':') + 1);
		struct str path = str_skip(list, str_find(list, ':') + 1);

		list.len = str_find(list, ':');
		if (has_word(list, ',', controller))
			found = xasprintf("/sys/fs/cgroup/%.*s%.*s",
					  (int)list.len, list.ptr,
					  (int)path.len, path.ptr);
		else if (!list.len &&
			 access("/sys/fs/cgroup/cgroup.procs", F_OK) == 0)
			/* Next to dcode's own group, not below it: cgroup 2
			 * does not allow groups below one that has
			 * processes. */
			found = xasprintf("/sys/fs/cgroup%.*s/..",
					  (int)path.len, path.ptr);
	}
	buf_release(&text);
	return found;
}

/* Removes control groups left behind by a dcode that was killed. The kernel
 * refuses to remove those in use. */
static void remove_orphans(const char *parent)
{
	DIR *dir = opendir(parent);
	struct dirent *e;
	struct stat st;

	while (dir && (e = readdir(dir)))
		if (!strncmp(e->d_name, "dcode-", 6) &&
		    fstatat(dirfd(dir), e->d_name, &st, 0) == 0 &&
		    time(NULL) - st.st_mtime > ORPHAN_S)
			(void)unlinkat(dirfd(dir), e->d_name, AT_REMOVEDIR);
	if (dir)
		closedir(dir);
}

/* Creates a group and writes the limit to file (cgroup 2) or old_file (cgroup
 * 1). Returns its path, owned by the caller; NULL if no limit is possible. */
static char *make_group(const char *controller, const char *file,
			const char *old_file, uint64_t limit)
{
	char *parent = parent_of(controller);
	char name[9];
	char text[32];
	char *dir;

	if (!parent)
		return NULL;
	remove_orphans(parent);
	ids_random(name, sizeof(name) - 1);
	snprintf(text, sizeof(text), "%llu", (unsigned long long)limit);
	dir = xasprintf("%s/dcode-%s", parent, name);
	free(parent);
	if (mkdir(dir, 0755) == 0) {
		if (write_file(dir, file, text) ||
		    write_file(dir, old_file, text))
			return dir;
		rmdir(dir);
	}
	free(dir);
	return NULL;
}

static void cgroup_open(struct cgroup *c, const struct jail_limits *limits)
{
	char text[32];

	if (limits->memory)
		c->memory = make_group("memory", "memory.max",
				       "memory.limit_in_bytes", limits->memory);
	if (c->memory && !write_file(c->memory, "memory.swap.max", "0")) {
		snprintf(text, sizeof(text), "%llu",
			 (unsigned long long)limits->memory);
		(void)write_file(c->memory, "memory.memsw.limit_in_bytes",
				 text);
	}
	/* RLIMIT_NPROC does not apply to root. */
	if (limits->processes && geteuid() == 0)
		c->pids = make_group("pids", "pids.max", "pids.max",
				     limits->processes);
}

/* Adds the process and its descendants, since bubblewrap has already started
 * some. */
static void add_tree(const struct cgroup *c, pid_t pid, int depth)
{
	char text[64];
	struct buf list = BUF_INIT(1 << 16);
	struct error ignored = { 0 };
	struct str rest;
	struct str item;
	int64_t child;

	snprintf(text, sizeof(text), "%d", (int)pid);
	if (c->memory)
		(void)write_file(c->memory, "cgroup.procs", text);
	if (c->pids)
		(void)write_file(c->pids, "cgroup.procs", text);
	snprintf(text, sizeof(text), "/proc/%d/task/%d/children", (int)pid,
		 (int)pid);
	(void)path_read(text, &list, &ignored);
	rest = buf_str(&list);
	while (depth < DEEP && str_split(&rest, ' ', &item))
		if (str_to_int(item, &child))
			add_tree(c, (pid_t)child, depth + 1);
	buf_release(&list);
}

/* Adds the process and its descendants to the groups. */
static void cgroup_add(const struct cgroup *c, pid_t pid)
{
	if (c->memory || c->pids)
		add_tree(c, pid, 0);
}

/* Removes the group, after waiting up to 1 s for its last process to end. */
static void remove_group(char **dir)
{
	struct stop limit = stop_cleanup(1000);
	struct error ignored = { 0 };

	for (int i = 0;
	     *dir && rmdir(*dir) < 0 && errno == EBUSY && i < RELEASE_TRIES;
	     i++)
		if (stop_sleep(&limit, 10, &ignored) < 0)
			break;
	free(*dir);
	*dir = NULL;
}

static void cgroup_release(struct cgroup *c)
{
	remove_group(&c->memory);
	remove_group(&c->pids);
}

void local_describe_limits(const struct sandbox_client *client, struct buf *out)
{
	const struct local *l = client->priv;
	const struct jail_limits *limits = &l->limits;
	const struct jail_limits probe = {
		.memory = limits->memory ? limits->memory : 1 << 30,
		.processes = limits->processes,
	};
	struct cgroup c = { 0 };

	cgroup_open(&c, &probe);
	if (!limits->memory)
		buf_adds(out, "memory: no limit set");
	else if (c.memory)
		buf_adds(out, "memory: limit per process and, by control "
			      "group, for the whole sandbox including shared "
			      "mappings; /tmp and /dev/shm: half of it each");
	else
		buf_adds(out,
			 "memory: limit per process; /tmp and /dev/shm: half "
			 "of it each; no control group available, so no limit "
			 "for shared mappings or for all processes together");
	if (!limits->processes)
		buf_adds(out, "; max_processes: no limit set");
	else if (geteuid() != 0 || c.pids)
		buf_adds(out, "; max_processes: limit set");
	else
		buf_adds(out, "; max_processes: not enforced for root, no "
			      "control group available");
	buf_adds(out, limits->file_size ? "; max_file_size: limit set"
					: "; max_file_size: no limit set");
	buf_adds(out, l->disk ? "; disk: watched" : "; disk: no limit set");
	cgroup_release(&c);
}

/* Thread that measures a sandbox's directories, FIRST_MS after the start. */
struct disk_watch {
	const char *dirs[3]; /* borrowed, NULL-terminated */
	uint64_t limit;      /* bytes; 0: not watched */
	uint64_t last; /* bytes of the last measurement; UINT64_MAX: none */
	uint64_t base; /* bytes of the first measurement: not limited */
	int control;   /* shut down to kill the command */
	bool hit;
	bool running;
	struct cancel ended; /* triggered when the command has ended */
	pthread_t thread;
};

/* Returns the bytes in all directories; UINT64_MAX if stop interrupted it. */
static uint64_t measure_dirs(const char *const *dirs, const struct stop *stop)
{
	FTS *fts = fts_open((char *const *)dirs,
			    FTS_PHYSICAL | FTS_NOCHDIR | FTS_XDEV, NULL);
	struct error ignored = { 0 };
	uint64_t bytes = 0;
	unsigned n = 0;
	FTSENT *e;

	while (fts && (e = fts_read(fts))) {
		if (e->fts_info != FTS_DP && e->fts_statp)
			bytes += (uint64_t)e->fts_statp->st_blocks * 512;
		if ((++n & 15) == 0 && stop_check(stop, &ignored) < 0) {
			bytes = UINT64_MAX;
			break;
		}
	}
	if (fts)
		fts_close(fts);
	return bytes;
}

static uint64_t disk_measure(const char *dir, const char *other, int64_t ms)
{
	const char *dirs[] = { dir, other, NULL };
	struct stop limit = stop_cleanup(ms);

	return measure_dirs(dirs, &limit);
}

/* True if the usage is over the limit and growing. A command that deletes files
 * is not killed. */
static bool is_over_limit(struct disk_watch *d, const struct stop *stop)
{
	uint64_t now = measure_dirs(d->dirs, stop);
	uint64_t before = d->last;

	if (now == UINT64_MAX)
		return false;
	d->last = now;
	if (before == UINT64_MAX)
		d->base = now;
	return now > before && now > d->base && now - d->base > d->limit;
}

/* Main function of the thread. Larger trees are measured less often. */
static void *watch_disk(void *arg)
{
	struct disk_watch *d = arg;
	struct stop stop = stop_on(&d->ended);
	struct error ignored = { 0 };
	int64_t pause = 0;

	while (stop_sleep(&stop, pause, &ignored) == 0) {
		int64_t began = clock_ms();

		d->hit =
			is_over_limit(d, &stop) && !cancel_triggered(&d->ended);
		if (d->hit) {
			/* the runner then kills the command */
			shutdown(d->control, SHUT_WR);
			break;
		}
		pause = (clock_ms() - began) * SHARE;
		pause = pause < PAUSE_MS ? PAUSE_MS : pause;
		pause = pause > PAUSE_MAX_MS ? PAUSE_MAX_MS : pause;
	}
	return NULL;
}

/* Implements pump.late. */
static void disk_watch_start(void *arg)
{
	struct disk_watch *d = arg;
	struct error ignored = { 0 };

	d->running = cancel_init(&d->ended, &ignored) == 0 &&
		     pthread_create(&d->thread, NULL, watch_disk, d) == 0;
	if (!d->running)
		cancel_release(&d->ended);
}

/* Stops the thread. True if the command was killed because of the limit. */
static bool disk_watch_end(struct disk_watch *d)
{
	if (!d->running)
		return false;
	cancel_trigger(&d->ended);
	pthread_join(d->thread, NULL);
	cancel_release(&d->ended);
	return d->hit;
}

static char *const no_env[] = { NULL }; /* /proc/1/environ shows it */

/* Sets the error to bubblewrap's message. Adds a hint if the cause is known. */
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

/* Reads what bubblewrap printed before it ended. */
static void read_message(int fd, struct buf *message)
{
	struct pollfd set = { .fd = fd, .events = POLLIN };
	char room[1024];
	ssize_t n;

	while (io_poll(&set, 1, 500) > 0 &&
	       (n = io_read(fd, room, sizeof(room))) > 0)
		buf_add(message, room, (size_t)n);
}

/* Receives one message of this length from the supervisor or a runner. Returns
 * 1, 0 if the other side has ended, or -1. */
static int receive_message(int fd, void *message, size_t len,
			   const struct stop *stop, struct error *err)
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
	return error_errno(err, "reading from the sandbox");
}

/* Waits for the jail's first message. If bubblewrap failed, reports why. */
static int wait_started(const struct box *b, int messages, int64_t start_ms,
			const struct stop *stop, struct error *err)
{
	struct stop limit = stop_within(stop, start_ms);
	struct buf message = BUF_INIT(MESSAGE_MAX);
	uint32_t magic = 0;
	int got = receive_message(b->sock, &magic, sizeof(magic), &limit, err);

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

/* Adds this sandbox's mounts, and the program to run in it. */
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
	append_words(w, "--bind", b->home, "/home/user", NULL);
	/* First the mounts that may contain the bound directory or the
	 * repository. */
	if (b->tree)
		append_words(w, "--ro-bind", b->tree, b->tree, NULL);
	if (b->git)
		append_words(w, "--args", git, NULL);
	append_words(w, "--bind", b->workspace, b->inside, NULL);
	if (strcmp(b->inside, "/workspace") != 0)
		append_words(w, "--symlink", b->inside, "/workspace", NULL);
	if (b->guard)
		append_words(w, "--args", guard, NULL);
	append_words(w, "--chdir", b->inside, "--remount-ro", "/", "--as-pid-1",
		     "--", program, JAIL_ARGUMENT, sock, NULL);
}

/* Returns a descriptor from which the guard's arguments can be read, or -1. */
static int guard_fd(const struct guard *g, struct error *err)
{
	struct str text = guard_arguments(g);

	return args_fd(text.ptr, text.len, err);
}

/* True if something is mounted below /var/tmp. Otherwise it is a link to
 * /tmp. */
static bool needs_var_tmp(const struct box *b)
{
	static const char place[] = "/var/tmp/";
	const char *const paths[] = { b->inside, b->tree,
				      b->git ? guard_inside(b->git) : NULL };

	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++)
		if (paths[i] && !strncmp(paths[i], place, sizeof(place) - 1))
			return true;
	return false;
}

/* Starts bubblewrap. --die-with-parent is not used: it applies to the starting
 * thread, which may end long before the sandbox. Instead the supervisor ends
 * with its socket, which the kernel closes however dcode ends. */
static int spawn_box(struct box *b, const struct local *l,
		     const struct local_meta *m, int sock, int messages,
		     struct error *err)
{
	struct words w = { 0 };
	int fds[AT_ETC + ETC_MAX] = { -1, -1, messages, sock, -1, -1, -1 };
	size_t n = AT_ETC;
	struct proc_spec spec = { .path = l->bwrap,
				  .env = no_env,
				  .cwd = "/",
				  .fds = fds,
				  .session = true };
	int rc = -1;

	append_words(&w, "bwrap", NULL);
	args_system(&w, m->network, l->limits.memory);
	if (needs_var_tmp(b))
		add_tmpfs(&w, "/var/tmp", l->limits.memory / 2);
	else
		append_words(&w, "--symlink", "../tmp", "/var/tmp", NULL);
	fds[AT_EXE] = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	if (fds[AT_EXE] < 0)
		error_errno(err, "opening dcode's program file");
	else if ((!b->guard ||
		  (fds[AT_GUARD] = guard_fd(b->guard, err)) >= 0) &&
		 (!b->git || (fds[AT_GIT] = guard_fd(b->git, err)) >= 0))
		rc = args_etc(&w, m, fds, &n, err);
	if (rc == 0) {
		if (b->trust)
			add_trust(&w, b);
		add_box(&w, b);
		spec.argv = w.v;
		spec.nfds = n;
		rc = proc_spawn(&spec, &b->pid, err);
	}
	for (size_t i = AT_EXE; i < n; i++)
		close_fd(&fds[i]);
	release_words(&w);
	return rc;
}

/* Writes the file run.PID.START, by which any dcode can end the sandbox. */
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

/* Starts the proxy. The sandbox trusts its authority from then on. */
static int start_proxy(struct box *b, const struct local_meta *m,
		       const struct stop *stop, struct error *err)
{
	const struct egress_policy policy = { &m->hosts, &b->secrets };

	if (egress_start(&b->egress, &policy, proc_child(b->pid), stop, err) <
	    0)
		return -1;
	return b->trust ? egress_write_trust(b->egress, b->trust, err) : 0;
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
	if (local_has_proxy(m) && b->secrets.n) {
		b->trust = path_join(dir, "trust.pem");
		if (trust_write(b->trust, NULL, err) < 0)
			return -1;
	}
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0 ||
	    pipe2(messages, O_CLOEXEC) < 0)
		error_errno(err, "starting bubblewrap");
	else
		rc = spawn_box(b, l, m, pair[1], messages[1], err);
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
	if (rc == 0 && local_has_proxy(m))
		rc = start_proxy(b, m, stop, err);
	if (rc == 0) {
		cgroup_open(&b->group, &l->limits);
		cgroup_add(&b->group, b->pid);
		if (l->disk)
			b->disk_used =
				disk_measure(b->home, b->workspace, BASE_MS);
		/* of the user's directory only what is added later counts */
		b->disk_base = m->bind ? b->disk_used : 0;
		if (b->disk_used == UINT64_MAX && !m->bind)
			b->disk_used = l->disk;
	} else if (b->pid > 0) { /* it may hang before the jail runs */
		(void)proc_tree_kill(&(struct proc_tree){ .root = b->pid });
	}
	close_fd(&messages[0]);
	return rc;
}

/* Sends an order and n descriptors to the supervisor. */
static int send_order(const struct box *b, const struct jail_order *order,
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

	return send_order(b, &order, NULL, 0, err);
}

/* True if the supervisor has ended. Waits up to ms for that. */
static bool has_ended(const struct box *b, int ms)
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
		shutdown(b->sock, SHUT_RDWR); /* makes the supervisor end */
	while (set.fd >= 0 && io_poll(&set, 1, 100) == 0 &&
	       stop_check(&limit, &ignored) == 0)
		(void)proc_tree_kill(&tree);
	close_fd(&set.fd);
}

void box_free(struct box *b, struct pipe_reaper *reaper)
{
	/* Stop it first: a running command could take the name of a removed
	 * placeholder. */
	if (b->guard || b->group.memory || b->group.pids)
		box_stop(b);
	guard_free(b->git);
	guard_free(b->guard);
	egress_end(b->egress);
	free(b->trust);
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

/* Implements exec_request.output: collects the messages of cp. */
static int add_message(void *arg, enum exec_stream stream, struct str chunk,
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
	struct exec_request req = { .output = add_message, .arg = &message };
	struct exec_result res;
	struct pump_program bwrap = { .spec = { .path = l->bwrap,
						.env = no_env,
						.cwd = "/",
						.session = true },
				      .reaper = &l->reaper };
	int rc;

	append_words(&w, "bwrap", NULL);
	args_system(&w, false, 0);
	append_words(&w, "--die-with-parent", "--ro-bind", home, "/from/home",
		     "--ro-bind", work, "/from/workspace", "--bind", to, "/to",
		     "--remount-ro", "/", "--", "/bin/cp", "-a", "/from/home",
		     "/from/workspace", "/to/", NULL);
	bwrap.spec.argv = w.v;
	rc = pump_program(&bwrap, &req, &res, stop, err);
	if (rc == 0 && res.exit_code != 0)
		rc = set_failure(buf_str(&message), err);
	release_words(&w);
	buf_release(&message);
	free(home);
	free(work);
	return rc;
}

/* Waits up to ms for the runner's reply. Without one, either a command has
 * killed the runner, which counts as death by SIGKILL, or the sandbox has
 * ended. */
static int receive_reply(const struct box *b, int control, int ms,
			 struct jail_reply *reply, struct error *err)
{
	struct stop own = stop_cleanup(ms);
	int got = receive_message(control, reply, sizeof(*reply), &own, err);

	if (got > 0)
		return 0;
	if (has_ended(b, got < 0 ? 0 : NOTICE_MS))
		return error_set(err, ERR_GONE, "the sandbox has ended");
	if (got < 0)
		return -1;
	*reply = (struct jail_reply){ .kind = REPLY_DONE, .value = 128 + 9 };
	return 0;
}

/* A command that runs in the jail. */
struct box_command {
	struct kill kill;
	struct pump pump;
	struct sandbox *sb; /* borrowed */
	int control;        /* socket to its runner */
};

/* Implements kill.run: makes the runner kill the command's processes. If they
 * fork faster than they can be killed, the whole sandbox is stopped. */
static void kill_command(struct kill *k)
{
	const struct box_command *c = (struct box_command *)k;
	const struct box *b = c->sb->priv;
	struct jail_reply reply = { 0 };
	struct error ignored = { 0 };

	shutdown(c->control, SHUT_WR);
	if (receive_reply(b, c->control, KILL_MS, &reply, &ignored) < 0 ||
	    (reply.kind == REPLY_KILLED && reply.value != 0))
		shutdown(b->sock, SHUT_RDWR);
}

static void free_command(struct kill *k)
{
	struct box_command *c = (struct box_command *)k;
	struct local *l = c->sb->client->priv;

	close_fd(&c->control);
	pump_release(&c->pump, &l->reaper);
	free(c);
}

/* Reads the runner's reply, and checks it: a command may control the
 * sandbox. */
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

/* Fills in the result, or kills the command. end: how its pump_run() ended. */
static int finish_command(struct box_command *c, enum pump_end end,
			  struct exec_result *res, const struct stop *stop,
			  struct error *err)
{
	const struct exec_request *req = c->pump.req;
	struct jail_reply reply = { 0 };

	if (end != PUMP_ENDED) {
		if (sandbox_kill(c->sb, &c->kill, stop, err) < 0 ||
		    end == PUMP_FAILED)
			return -1;
		res->exit_code = 124;
		res->timed_out = true;
	} else if (receive_reply(c->sb->priv, c->control, KILL_MS, &reply,
				 err) < 0 ||
		   parse_reply(&reply, req->cwd ? req->cwd : c->sb->workdir,
			       res, err) < 0) {
		return -1;
	}
	return pump_rest(&c->pump, err);
}

/* Transfers input and output to the end, while the disk usage is watched. */
static int follow_command(struct box_command *c, struct exec_result *res,
			  const struct stop *stop, struct error *err)
{
	const struct local *l = c->sb->client->priv;
	struct box *b = c->sb->priv;
	struct disk_watch d = { .dirs = { b->home, b->workspace },
				.limit = l->disk,
				.last = atomic_load(&b->disk_used),
				.base = atomic_load(&b->disk_base),
				.control = c->control };
	struct error why = { 0 };
	enum pump_end end;
	bool hit;
	int rc;

	c->pump.late = d.limit ? disk_watch_start : NULL;
	c->pump.late_arg = &d;
	c->pump.late_at = clock_ms() + FIRST_MS;
	end = pump_run(&c->pump, c->control, stop, &why);
	hit = disk_watch_end(&d);
	atomic_store(&b->disk_used, d.last);
	atomic_store(&b->disk_base, d.base);
	rc = finish_command(c, end, res, stop, &why);
	if (hit && !res->timed_out && (rc == 0 || stop_check(stop, err) == 0)) {
		snprintf(res->notice, sizeof(res->notice),
			 "the command was killed: the sandbox's files exceeded "
			 "%llu bytes (disk in "
			 "[sandboxes.providers.local.params]). Delete some "
			 "before you continue",
			 (unsigned long long)l->disk);
		res->exit_code = 128 + SIGKILL;
		rc = rc < 0 ? pump_rest(&c->pump, &why) : 0;
	}
	if (!rc && b->egress && !res->notice[0] && !c->pump.req->plain)
		egress_report(b->egress, res->notice, sizeof(res->notice));
	if (rc < 0)
		*err = why;
	return rc;
}

/* Orders the command. Returns the socket to its runner, or -1. */
static int start_command(struct sandbox *sb, const struct exec_request *req,
			 const struct pump *pump, struct error *err)
{
	const struct local *l = sb->client->priv;
	struct jail_order order = { JAIL_RUN, req->plain, req->terminal != NULL,
				    .limits = l->limits };
	struct buf strings = BUF_INIT(JAIL_STRINGS_MAX);
	int fds[JAIL_FDS] = { -1, -1, pump->theirs[1], pump->theirs[2],
			      pump->theirs[0] };
	int pair[2] = { -1, -1 };
	int rc = environment_add(sb, req, &strings, err);

	if (rc == 0) {
		fds[JAIL_STRINGS] = args_fd(strings.ptr, strings.len, err);
		rc = fds[JAIL_STRINGS] < 0 ? -1 : 0;
	}
	if (rc == 0 &&
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		rc = error_errno(err, "speaking to the sandbox");
	fds[JAIL_CONTROL] = pair[1];
	if (rc == 0)
		rc = send_order(sb->priv, &order, fds,
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
	struct box_command *c = xcalloc(1, sizeof(*c));
	int rc = -1;

	c->kill = (struct kill){ .run = kill_command, .release = free_command };
	c->sb = sb;
	c->control = -1;
	*res = (struct exec_result){ .exit_code = -1 };
	if (pump_open(&c->pump, req, err) == 0)
		c->control = start_command(sb, req, &c->pump, err);
	pump_close_theirs(&c->pump);
	if (c->control >= 0)
		rc = follow_command(c, res, stop, err);
	kill_drop(&c->kill);
	return rc;
}
