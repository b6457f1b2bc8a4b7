/* trees.h - directories of a test: listed, copied, committed. */
/* SPDX-License-Identifier: MIT */
#ifndef TESTS_UNIT_TREES_H
#define TESTS_UNIT_TREES_H

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "unit.h"
#include "worktree/odb.h"

struct trees_item {
	char *path; /* relative */
	struct stat st;
	struct buf bytes; /* or a link's target */
};

struct trees_list {
	struct trees_item *items; /* by path */
	size_t n;
};

static inline void trees_bytes(const char *full, struct trees_item *it)
{
	struct error err = { 0 };
	char target[4096];
	ssize_t n;

	it->bytes = BUF_INIT(64 << 20);
	if (S_ISLNK(it->st.st_mode)) {
		n = readlink(full, target, sizeof(target));
		buf_add(&it->bytes, target, n > 0 ? (size_t)n : 0);
	} else if (S_ISREG(it->st.st_mode)) {
		assert_int_equal(path_read(full, &it->bytes, &err), 0);
	}
}

static inline void trees_walk(struct trees_list *l, const char *top,
			      const char *below)
{
	char *where = xasprintf("%s/%s", top, below);
	DIR *dir = opendir(where);
	const struct dirent *d;

	assert_non_null(dir);
	while ((d = readdir(dir))) {
		struct trees_item it;
		char *full;

		if (!strcmp(d->d_name, ".") || !strcmp(d->d_name, "..") ||
		    (!below[0] && !strcmp(d->d_name, ".git")))
			continue;
		it.path = xasprintf("%s%s%s", below, below[0] ? "/" : "",
				    d->d_name);
		full = xasprintf("%s/%s", top, it.path);
		assert_int_equal(lstat(full, &it.st), 0);
		trees_bytes(full, &it);
		l->items = xrealloc(l->items, l->n + 1, sizeof(it));
		l->items[l->n++] = it;
		free(full);
		if (S_ISDIR(it.st.st_mode))
			trees_walk(l, top, it.path);
	}
	closedir(dir);
	free(where);
}

static inline int trees_compare(const void *a, const void *b)
{
	return strcmp(((const struct trees_item *)a)->path,
		      ((const struct trees_item *)b)->path);
}

/* Everything in the directory but .git. */
static inline void trees_read(struct trees_list *l, const char *top)
{
	*l = (struct trees_list){ 0 };
	trees_walk(l, top, "");
	if (l->n)
		qsort(l->items, l->n, sizeof(*l->items), trees_compare);
}

static inline void trees_release(struct trees_list *l)
{
	for (size_t i = 0; i < l->n; i++) {
		free(l->items[i].path);
		buf_release(&l->items[i].bytes);
	}
	free(l->items);
}

static inline unsigned trees_mode(const struct stat *st)
{
	return S_ISLNK(st->st_mode)      ? 0120000
	       : S_ISDIR(st->st_mode)    ? 0040000
	       : (st->st_mode & S_IXUSR) ? 0100755
					 : 0100644;
}

/* A commit of all files, as ref. */
static inline void trees_commit(const struct git *g, const char *top,
				const char *ref, char oid[GIT_OID])
{
	struct odb_commit_info info = { .ref = ref, .message = "test" };
	struct stop stop = stop_cleanup(60000);
	struct odb_commit *c = NULL;
	struct error err = { 0 };
	struct trees_list l;

	trees_read(&l, top);
	assert_int_equal(odb_commit_begin(&c, g, &info, &stop, &err), 0);
	for (size_t i = 0; i < l.n; i++) {
		const struct trees_item *it = &l.items[i];

		if (S_ISDIR(it->st.st_mode))
			continue;
		assert_int_equal(odb_commit_file(c, trees_mode(&it->st),
						 str_of(it->path),
						 (int64_t)it->bytes.len, &err),
				 0);
		assert_int_equal(odb_commit_data(c, buf_str(&it->bytes), &err),
				 0);
	}
	if (odb_commit_end(c, oid, &err) < 0)
		fail_msg("%s", err.message);
	trees_release(&l);
}

#endif
