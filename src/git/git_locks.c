/* git_locks.c - locks that a git of dcode's own left when it was killed. */
/* SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/str.h"
#include "git/git_impl.h"

enum {
	STALE_MS = 5000, /* git holds one for milliseconds */
	PAUSE_MS = 100,
	DEPTH_MOST = 4, /* refs/dcode/LABEL/base.lock */
};

static int64_t age_of(const struct stat *st)
{
	int64_t changed = (int64_t)st->st_mtim.tv_sec * 1000 +
			  st->st_mtim.tv_nsec / 1000000;

	return clock_unix_ms() - changed;
}

/* One of the future has a time that says nothing. */
static bool is_stale(const struct stat *st)
{
	int64_t age = age_of(st);

	return age >= STALE_MS || age < -STALE_MS;
}

/* How many locks below the directory name may still be held. */
static size_t drop_below(int parent, const char *name, int depth)
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

		if (e->d_name[0] == '.' ||
		    fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		if (S_ISDIR(st.st_mode) && depth < DEPTH_MOST)
			held += drop_below(dirfd(d), e->d_name, depth + 1);
		else if (S_ISREG(st.st_mode) &&
			 str_ends(str_of(e->d_name), ".lock"))
			held += !is_stale(&st) ||
				unlinkat(dirfd(d), e->d_name, 0) < 0;
	}
	if (d)
		closedir(d);
	return held;
}

void git_locks_drop(const char *dir, const struct stop *stop)
{
	struct stop limit = stop_within(stop, 2 * STALE_MS);
	struct error ignored = { 0 };
	int top = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	while (top >= 0 && drop_below(top, "refs", 1) > 0)
		if (stop_sleep(&limit, PAUSE_MS, &ignored) < 0)
			break;
	if (top >= 0)
		close(top);
}
