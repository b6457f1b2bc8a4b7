/* pack.c - keeps a git repository of dcode's own small. */
/* SPDX-License-Identifier: MIT */
#include "git/pack.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"

enum {
	DAY_S = 86400,
	PACKS_MOST = 20,
	LOOSE_MOST = 8, /* in one of the 256 directories: some 2000 in all */
	GROWTH_LEAST = 64 << 20, /* bytes */
};

#define STAMP "packed" /* its text: the bytes of packs then */

struct sizes {
	size_t packs;
	int64_t bytes;
};

static DIR *open_below(const char *dir, const char *name)
{
	char *path = path_join(dir, name);
	DIR *d = opendir(path);

	free(path);
	return d;
}

static struct sizes read_packs(const char *dir)
{
	DIR *d = open_below(dir, "objects/pack");
	struct sizes s = { 0 };
	const struct dirent *e;
	struct stat st;

	while (d && (e = readdir(d)))
		if (str_ends(str_of(e->d_name), ".pack") &&
		    fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) ==
			    0) {
			s.packs++;
			s.bytes += st.st_size;
		}
	if (d)
		closedir(d);
	return s;
}

static size_t count_loose(const char *dir)
{
	DIR *d = open_below(dir, "objects/17");
	const struct dirent *e;
	size_t n = 0;

	while (d && (e = readdir(d)))
		n += e->d_name[0] != '.';
	if (d)
		closedir(d);
	return n;
}

/* *bytes is 0 where it was never packed. */
static bool was_packed_today(const char *dir, int64_t *bytes)
{
	char *file = path_join(dir, STAMP);
	struct buf text = BUF_INIT(64);
	struct error ignored = { 0 };
	time_t now = time(NULL);
	struct stat st;
	bool today = lstat(file, &st) == 0 && st.st_mtime <= now &&
		     now - st.st_mtime < DAY_S;

	*bytes = 0;
	if (!today && path_read(file, &text, &ignored) == 0)
		(void)str_to_int(str_trim(buf_str(&text)), bytes);
	buf_release(&text);
	free(file);
	return today;
}

bool pack_is_due(const char *dir)
{
	struct sizes s;
	int64_t before;

	if (was_packed_today(dir, &before))
		return false;
	s = read_packs(dir);
	return s.packs > PACKS_MOST || count_loose(dir) > LOOSE_MOST ||
	       (before && s.bytes > GROWTH_LEAST + 2 * before);
}

static int write_stamp(const char *dir, struct error *err)
{
	char *file = path_join(dir, STAMP);
	struct buf text = BUF_INIT(64);
	int rc;

	buf_addf(&text, "%lld\n", (long long)read_packs(dir).bytes);
	rc = path_write(file, buf_str(&text), 0600, err);
	buf_release(&text);
	free(file);
	return rc;
}

static int run(const struct git *g, const char *const *argv,
	       const struct stop *stop, struct error *err)
{
	const struct git_request r = { .argv = argv,
				       .timeout_ms = INT64_C(3600000) };

	return git_run(g, &r, stop, err);
}

int pack_all(const struct git *g, const struct stop *stop, struct error *err)
{
	/* Without a search for deltas: the time of a copy. What is loose is
	 * compressed, and stays so. */
	static const char *const repack[] = {
		"-c",         "pack.compression=1",
		"repack",     "-d",
		"-q",         "-n",
		"--cruft",    "--cruft-expiration=2.weeks.ago",
		"--window=0", NULL
	};
	/* Also what a git that was killed has left half written. */
	static const char *const prune[] = { "prune", "--expire=2.weeks.ago",
					     NULL };
	static const char *const refs[] = { "pack-refs", "--all", "--prune",
					    NULL };
	struct error ignored = { 0 };
	int rc;

	/* One that fails is tried again in a day, not at once. */
	if (write_stamp(g->dir, err) < 0)
		return -1;
	rc = run(g, repack, stop, err);
	if (rc == 0)
		rc = run(g, prune, stop, err);
	if (rc == 0)
		rc = run(g, refs, stop, err);
	if (rc == 0)
		(void)write_stamp(g->dir, &ignored);
	return rc;
}
