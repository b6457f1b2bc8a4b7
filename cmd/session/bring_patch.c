/* bring_patch.c - dcode apply --patch: a patch file as a side of the merge. */
/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "cmd/session/bring.h"
#include "cmd/session/tree_index.h"

enum { PATCH_MAX = 512 << 20 };

/* What git apply could not merge: base gets stage 1 and theirs stage 3 of each
 * path, so that the merge of both sides finds the same conflicts. */
static int split_conflicts(struct tree_index *base, struct tree_index *theirs,
			   struct str unmerged, const struct stop *stop,
			   struct error *err)
{
	struct str entry;

	while (str_split(&unmerged, '\0', &entry)) {
		struct str info = { entry.ptr, str_find(entry, '\t') };
		struct str path = str_skip(entry, info.len + 1);
		struct str mode = { 0 }, oid = { 0 }, stage = { 0 };

		(void)(str_split(&info, ' ', &mode) &&
		       str_split(&info, ' ', &oid) &&
		       str_split(&info, ' ', &stage));
		tree_index_forget(base, path);
		tree_index_forget(theirs, path);
		if (str_is(stage, "1"))
			tree_index_set(base, mode, oid, path);
		if (str_is(stage, "3"))
			tree_index_set(theirs, mode, oid, path);
	}
	if (tree_index_update(base, stop, err) < 0)
		return -1;
	return tree_index_update(theirs, stop, err);
}

/* Whether git finds no file's changes in it. */
static bool is_empty(const struct git *g, struct str patch,
		     const struct stop *stop)
{
	const char *argv[] = { "apply", "--numstat", "--allow-empty", "-",
			       NULL };
	struct buf out = BUF_INIT(PATCH_MAX);
	struct git_request r = { .argv = argv, .input = patch, .out = &out };
	struct error ignored = { 0 };
	bool empty = git_run(g, &r, stop, &ignored) == 0 && !out.len;

	buf_release(&out);
	return empty;
}

static int run_apply(const struct git *g, struct str patch, struct buf *left,
		     const struct stop *stop, struct error *err)
{
	const char *argv[] = { "apply",
			       "--cached",
			       "--3way",
			       "--binary",
			       "--whitespace=nowarn",
			       "-",
			       NULL };
	const char *unmerged[] = { "ls-files", "-u", "-z", NULL };
	struct git_request r = { .argv = argv, .input = patch };
	struct git_request list = { .argv = unmerged, .out = left };
	struct error why = { 0 };

	if (git_run(g, &r, stop, err) == 0)
		return 0;
	if (git_run(g, &list, stop, &why) == 0 && left->len)
		return 0;
	if (is_empty(g, patch, stop))
		return error_set(err, ERR_USAGE, "the input contains no patch");
	return error_wrap(err, "the patch does not apply here");
}

/* The whole of standard input. */
static int read_stdin(struct buf *patch, const struct stop *stop,
		      struct error *err)
{
	char chunk[65536];

	for (;;) {
		struct pollfd set[2] = {
			{ .fd = STDIN_FILENO, .events = POLLIN },
			{ .fd = stop_fd(stop), .events = POLLIN }
		};
		ssize_t n;

		if (poll(set, 2, stop_poll_ms(stop, -1)) < 0 && errno != EINTR)
			return error_errno(err, "reading standard input");
		if (stop_check(stop, err) < 0)
			return -1;
		if (!set[0].revents)
			continue;
		n = read(STDIN_FILENO, chunk, sizeof(chunk));
		if (n < 0 && errno != EINTR && errno != EAGAIN)
			return error_errno(err, "reading standard input");
		if (n == 0)
			return buf_check(patch, "the patch", err);
		if (n > 0)
			buf_add(patch, chunk, (size_t)n);
		if (patch->over)
			return buf_check(patch, "the patch", err);
	}
}

int bring_patch(struct bring *b, const char *ours, char base[GIT_OID],
		const struct stop *stop, struct error *err)
{
	struct workspace *w = b->workspace;
	struct tree_index mine, theirs;
	struct buf patch = BUF_INIT(PATCH_MAX);
	struct buf left = BUF_INIT(64 << 20);
	int rc = strcmp(b->options.patch, "-") != 0
			 ? path_read(b->options.patch, &patch, err)
			 : read_stdin(&patch, stop, err);

	tree_index_init(&mine, &w->git, w->directory, "patch.base");
	tree_index_init(&theirs, &w->git, w->directory, "patch.theirs");
	if (rc == 0)
		rc = tree_index_read(&mine, ours, stop, err);
	if (rc == 0)
		rc = tree_index_read(&theirs, ours, stop, err);
	if (rc == 0)
		rc = run_apply(&theirs.git, buf_str(&patch), &left, stop, err);
	if (rc == 0)
		rc = split_conflicts(&mine, &theirs, buf_str(&left), stop, err);
	if (rc == 0)
		rc = tree_index_write(&mine, base, stop, err);
	if (rc == 0)
		rc = tree_index_write(&theirs, b->theirs, stop, err);
	tree_index_release(&mine);
	tree_index_release(&theirs);
	buf_release(&patch);
	buf_release(&left);
	return rc;
}
