/* limits.c - limits of a whole local sandbox: control group, disk. */
/* SPDX-License-Identifier: MIT */
#include "providers/local/limits.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/ids.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/stop.h"
#include "base/str.h"

enum {
	FIRST_MS = 300, /* a quick command is not measured at all */
	PAUSE_MS = 300,
	PAUSE_MAX_MS = 30000,
	SHARE = 10, /* of the time is spent measuring, at most one part */
	RELEASE_TRIES = 50,
	DEEP = 8,        /* of processes between bubblewrap and the sandbox */
	ORPHAN_S = 3600, /* a group that a killed dcode left */
};

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

/* The directory to make a group with this controller in. Owned, or NULL. */
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
			/* Cgroup 2 allows no groups below one that has
			 * processes, as ours has: so beside it. */
			found = xasprintf("/sys/fs/cgroup%.*s/..",
					  (int)path.len, path.ptr);
	}
	buf_release(&text);
	return found;
}

/* Removes groups of killed dcodes; the kernel refuses one that is in use. */
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

/* Makes a group and sets its limit, in the file of cgroup 2 or in old_file, of
 * cgroup 1. NULL when it cannot be limited. */
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

void cgroup_open(struct cgroup *c, const struct jail_limits *limits)
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
	/* The kernel does not count root's processes otherwise. */
	if (limits->processes && geteuid() == 0)
		c->pids = make_group("pids", "pids.max", "pids.max",
				     limits->processes);
}

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

void cgroup_add(const struct cgroup *c, pid_t pid)
{
	if (c->memory || c->pids)
		add_tree(c, pid, 0);
}

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

void cgroup_release(struct cgroup *c)
{
	remove_group(&c->memory);
	remove_group(&c->pids);
}

/* Bytes in all directories; UINT64_MAX when it was stopped. */
static uint64_t measure(const char *const *dirs, const struct stop *stop)
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
		if ((++n & 255) == 0 && stop_check(stop, &ignored) < 0) {
			bytes = UINT64_MAX;
			break;
		}
	}
	if (fts)
		fts_close(fts);
	return bytes;
}

uint64_t disk_measure(const char *dir, const char *other, int64_t ms)
{
	const char *dirs[] = { dir, other, NULL };
	struct stop limit = stop_cleanup(ms);

	return measure(dirs, &limit);
}

/* Over the limit, and growing: a command that makes room may go on. */
static bool is_over(struct disk_watch *d, const struct stop *stop)
{
	uint64_t now = measure(d->dirs, stop);
	uint64_t before = d->last;

	if (now == UINT64_MAX)
		return false;
	d->last = now;
	if (before == UINT64_MAX)
		d->base = now;
	return now > before && now > d->base && now - d->base > d->limit;
}

static void *watch_disk(void *arg)
{
	struct disk_watch *d = arg;
	struct stop stop = stop_on(&d->ended);
	struct error ignored = { 0 };
	int64_t pause = FIRST_MS;

	while (stop_sleep(&stop, pause, &ignored) == 0) {
		int64_t began = clock_ms();

		d->hit = is_over(d, &stop) && !cancel_triggered(&d->ended);
		if (d->hit) {
			shutdown(d->control, SHUT_WR); /* the runner kills it */
			break;
		}
		pause = (clock_ms() - began) * SHARE;
		pause = pause < PAUSE_MS ? PAUSE_MS : pause;
		pause = pause > PAUSE_MAX_MS ? PAUSE_MAX_MS : pause;
	}
	return NULL;
}

void disk_watch_start(struct disk_watch *d)
{
	struct error ignored = { 0 };

	if (!d->limit || cancel_init(&d->ended, &ignored) < 0)
		return;
	d->running = pthread_create(&d->thread, NULL, watch_disk, d) == 0;
	if (!d->running)
		cancel_release(&d->ended);
}

bool disk_watch_end(struct disk_watch *d)
{
	if (!d->running)
		return false;
	cancel_trigger(&d->ended);
	pthread_join(d->thread, NULL);
	cancel_release(&d->ended);
	return d->hit;
}
