/* bring_unstage.c - dcode apply --undo: what --index staged, and nothing else.
 */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "cmd/session/bring.h"
#include "cmd/session/user_git.h"
#include "tree/user_index.h"

enum { LIST_MAX = 256 << 20 };

#define NO_OID "0000000000000000000000000000000000000000"

/* The entries of an index: "MODE OID STAGE\tPATH", sorted by path, each with a
 * byte 0 behind it (git-ls-files(1)). */
struct entries {
	struct buf text;
	struct str rest; /* those from next on */
	struct str path; /* of the next one; ptr NULL: there is none */
};

static struct str path_of(struct str record)
{
	return str_skip(record, str_find(record, '\t') + 1);
}

static void look_ahead(struct entries *e)
{
	struct str rest = e->rest;
	struct str record;

	e->path = (struct str){ 0 };
	if (str_split(&rest, '\0', &record) && record.len)
		e->path = path_of(record);
}

static int read_entries(struct entries *e, const struct git *g,
			const char *index, const struct stop *stop,
			struct error *err)
{
	const char *argv[] = { "ls-files", "-s", "-z", NULL };
	struct git own = *g;
	struct git_request r = { .argv = argv, .out = &e->text };

	own.index = index;
	own.work_tree = NULL;
	e->text = BUF_INIT(LIST_MAX);
	if (git_run(&own, &r, stop, err) < 0)
		return -1;
	e->rest = buf_str(&e->text);
	look_ahead(e);
	return 0;
}

static int compare(struct str a, struct str b)
{
	size_t least = a.len < b.len ? a.len : b.len;
	int c = least ? memcmp(a.ptr, b.ptr, least) : 0;

	return c ? c : (a.len > b.len) - (a.len < b.len);
}

/* All entries of path (its stages), if it is the next one; else none. */
static struct str take_path(struct entries *e, struct str path)
{
	struct str taken = { e->rest.ptr, 0 };
	struct str record;

	while (e->path.ptr && str_eq(e->path, path)) {
		(void)str_split(&e->rest, '\0', &record);
		taken.len += record.len + 1;
		look_ahead(e);
	}
	return taken;
}

/* The changes, as update-index --index-info reads them, that give each path
 * what it had before where it still has what was staged. */
static void find_changes(struct entries *before, struct entries *applied,
			 struct entries *now, struct buf *changes)
{
	while (before->path.ptr || applied->path.ptr) {
		struct str path = applied->path;
		struct str old, staged;

		if (!path.ptr ||
		    (before->path.ptr && compare(before->path, path) < 0))
			path = before->path;
		while (now->path.ptr && compare(now->path, path) < 0)
			(void)take_path(now, now->path);
		old = take_path(before, path);
		staged = take_path(applied, path);
		if (str_eq(old, staged) ||
		    !str_eq(take_path(now, path), staged))
			continue;
		buf_adds(changes, "0 " NO_OID "\t");
		buf_addstr(changes, path);
		buf_addc(changes, '\0');
		buf_addstr(changes, old);
	}
}

static int change_index(const struct git *g, const char *index,
			const struct buf *changes, const struct stop *stop,
			struct error *err)
{
	const char *argv[] = { "update-index", "--no-split-index", "-z",
			       "--index-info", NULL };
	struct git own = *g;
	struct git_request r = { .argv = argv, .input = buf_str(changes) };

	if (buf_check(changes, "the list of changes", err) < 0)
		return -1;
	own.index = index;
	return git_run(&own, &r, stop, err);
}

/* 1: the new index is in to. */
static int unstage(const struct git *g, const struct apply_unstage *q,
		   bool force, const struct stop *stop, struct error *err)
{
	struct entries before = { 0 };
	struct entries applied = { 0 };
	struct entries now = { 0 };
	struct buf changes = BUF_INIT(LIST_MAX);
	int rc = 0;

	if (read_entries(&before, g, q->before, stop, err) < 0 ||
	    read_entries(&applied, g, q->applied, stop, err) < 0 ||
	    read_entries(&now, g, q->to, stop, err) < 0) {
		rc = -1;
	} else if (str_eq(buf_str(&applied.text), buf_str(&now.text))) {
		rc = user_index_copy(q->before, q->to, err) < 0 ? -1 : 1;
	} else if (force) {
		find_changes(&before, &applied, &now, &changes);
		rc = change_index(g, q->to, &changes, stop, err) < 0 ? -1 : 1;
	}
	buf_release(&before.text);
	buf_release(&applied.text);
	buf_release(&now.text);
	buf_release(&changes);
	return rc;
}

int bring_unstage(void *bring, const struct apply_unstage *q, struct error *err)
{
	struct bring *b = bring;
	struct stop stop = app_stop(b->app);
	struct user_git u;
	int rc;

	if (user_git_open(&u, b->workspace, &stop, err) < 0)
		return -1;
	rc = user_repo_copy_index(&u.repo, &u.git, q->to, err);
	if (rc == 0)
		rc = unstage(&u.git, q, b->options.force, &stop, err);
	if (rc != 1)
		unlink(q->to);
	user_git_close(&u);
	return rc;
}
