/* fetch_tree.h - a tree in a sandbox, for the tests of a fetch. */
/* SPDX-License-Identifier: MIT */
#ifndef TESTS_UNIT_FETCH_TREE_H
#define TESTS_UNIT_FETCH_TREE_H

#include "commit_files.h"
#include "files_room.h"
#include "worktree/fetch.h"

struct tree { /* sent to a sandbox of some kind, or to one that lies */
	struct room room;
	struct workspace w;
	struct listing base;
	struct commit_file files[16];
	size_t n;
	char *state;
	struct fetch_request request;
	struct fetch f;
	/* What the lying one answers. */
	struct buf report, tar;
	bool unended; /* the report has no last record but its own */
};

__attribute__((unused)) static void base_file(struct tree *t, const char *name,
					      struct str data, mode_t mode)
{
	unsigned git = mode & 0100 ? LISTING_PROGRAM : LISTING_FILE;
	char hash[LISTING_HASH];

	put(&t->room, name, data, mode);
	listing_digest(data, hash);
	listing_add(&t->base, git, hash, str_of(name));
	t->files[t->n++] = (struct commit_file){ str_of(name), git, data };
}

__attribute__((unused)) static void begin(struct tree *t, int kind)
{
	struct odb_commit_info info = { .message = "base\n" };
	char oid[GIT_OID];

	*t = (struct tree){ .report = BUF_INIT(1 << 20),
			    .tar = BUF_INIT(8 << 20) };
	enter(&t->room, kind);
	t->state = xasprintf("%s/state.XXXXXX", tools);
	assert_non_null(mkdtemp(t->state));
	t->room.state.home = t->state;
	t->room.sb.workdir = t->room.dir;
	make_dir(&t->room, "src");
	base_file(t, "a", STR("one\r\n\0two"), 0644);
	base_file(t, "run", STR("#!/bin/sh\n"), 0755);
	base_file(t, "src/x", STR("x\n"), 0644);
	base_file(t, ".gitignore", STR("*.o\n"), 0644);
	WORKS(&t->room, workspace_open(&t->w, t->state, tools, "dcode-abcd2345",
				       &t->room.stop, &t->room.err));
	info.ref = t->w.base_ref;
	WORKS(&t->room, commit_files(&t->w.git, &info, t->files, t->n, oid,
				     &t->room.stop, &t->room.err));
	WORKS(&t->room,
	      workspace_set_base(&t->w, oid, &t->room.stop, &t->room.err));
	WORKS(&t->room,
	      workspace_write_listing(&t->w, &t->base, oid, &t->room.err));
	t->request = (struct fetch_request){ .sandbox = &t->room.sb,
					     .exclude = STR("*.log"),
					     .file_max = 1 << 20,
					     .total_max = 4 << 20 };
}

__attribute__((unused)) static void end(struct tree *t)
{
	fetch_release(&t->f);
	workspace_close(&t->w);
	listing_release(&t->base);
	buf_release(&t->report);
	buf_release(&t->tar);
	free(t->state);
	leave(&t->room);
}

__attribute__((unused)) static void fetch(struct tree *t)
{
	fetch_release(&t->f);
	WORKS(&t->room, fetch_changes(&t->w, &t->request, &t->f, &t->room.stop,
				      &t->room.err));
}

__attribute__((unused)) static void fails(struct tree *t, enum err code)
{
	assert_int_equal(fetch_changes(&t->w, &t->request, &t->f, &t->room.stop,
				       &t->room.err),
			 -1);
	assert_int_equal(t->room.err.code, code);
}

/* Against what git prints of base and theirs: "A new|M a|". */
__attribute__((unused)) static void differs(struct tree *t, const char *want)
{
	const char *argv[] = { "diff",    "--name-status", "--no-renames",
			       t->w.base, t->f.theirs,     NULL };
	struct buf out = BUF_INIT(1 << 16);
	struct git_request r = { .argv = argv, .out = &out };

	WORKS(&t->room, git_run(&t->w.git, &r, &t->room.stop, &t->room.err));
	for (size_t i = 0; i < out.len; i++)
		if (out.ptr[i] == '\n')
			out.ptr[i] = '|';
	assert_string_equal(out.len ? out.ptr : "", want);
	buf_release(&out);
}

__attribute__((unused)) static void contains(struct tree *t, const char *path,
					     struct str want)
{
	char *name = xasprintf("%s:%s", t->f.theirs, path);
	const char *argv[] = { "cat-file", "blob", name, NULL };
	struct buf out = BUF_INIT(1 << 16);
	struct git_request r = { .argv = argv, .out = &out };

	WORKS(&t->room, git_run(&t->w.git, &r, &t->room.stop, &t->room.err));
	assert_true(str_eq(buf_str(&out), want));
	buf_release(&out);
	free(name);
}

__attribute__((unused)) static const char *why(const struct fetch_item *items,
					       size_t n, const char *path)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(items[i].path, path))
			return items[i].why;
	return "not named";
}

__attribute__((unused)) static void
refuses(const struct tree *t, const char *path, const char *reason)
{
	assert_string_equal(why(t->f.refused, t->f.n_refused, path), reason);
}

__attribute__((unused)) static void names(const struct tree *t,
					  const char *path, const char *reason)
{
	assert_string_equal(why(t->f.left, t->f.n_left, path), reason);
}

#endif
