/* odb_test.c - commits of exact bytes in dcode's own repository. */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "commit_files.h"
#include "unit.h"
#include "worktree/merge.h"
#include "worktree/workspace.h"

struct place {
	char directory[64];
	struct workspace w;
	struct stop stop;
};

static int setup(void **state)
{
	struct place *p = xcalloc(1, sizeof(*p));
	struct error err = { 0 };
	char *root;

	snprintf(p->directory, sizeof(p->directory), "/tmp/dcode-odb-XXXXXX");
	assert_non_null(mkdtemp(p->directory));
	p->stop = stop_cleanup(60000);
	root = path_join(p->directory, "tree");
	assert_int_equal(path_mkdirs(root, 0755, &err), 0);
	if (workspace_open(&p->w, p->directory, root, "dcode-abcd2345",
			   &p->stop, &err) < 0)
		fail_msg("%s", err.message);
	free(root);
	*state = p;
	return 0;
}

static int teardown(void **state)
{
	struct place *p = *state;
	struct error ignored = { 0 };

	workspace_close(&p->w);
	(void)path_remove_tree(p->directory, &ignored);
	free(p);
	return 0;
}

static int commit(struct place *p, const char *parent,
		  const struct commit_file *files, size_t n, char oid[GIT_OID],
		  struct error *err)
{
	struct odb_commit_info info = { .ref = p->w.base_ref,
					.parent = parent,
					.message = "a \"base\"\n\nof files" };

	return commit_files(&p->w.git, &info, files, n, oid, &p->stop, err);
}

static int collect(void *arg, struct str chunk, struct error *err)
{
	(void)err;
	buf_addstr(arg, chunk);
	return 0;
}

static int note(void *arg, const struct odb_record *r, struct error *err)
{
	(void)err;
	buf_addf(arg, "%o>%o %s%s", r->old_mode, r->new_mode, r->path, "|");
	return 0;
}

static int read_blobs(void *arg, const struct odb_record *r, struct error *err)
{
	struct place *p = ((void **)arg)[0];
	const char *argv[] = { "cat-file", "blob", r->new_oid, NULL };
	struct git_request q = { .argv = argv,
				 .sink = collect,
				 .sink_arg = ((void **)arg)[1] };

	return git_run(&p->w.git, &q, &p->stop, err);
}

static void test_bytes_and_names_go_in_as_they_are(void **state)
{
	struct place *p = *state;
	struct commit_file files[] = {
		{ STR("od\nd \"\377\\"), 0100755, STR("cr\r\nlf\n\0\377$Id$") },
		{ STR("link"), 0120000, STR("../away") },
		{ STR("d/empty"), 0100644, STR("") },
	};
	char oid[GIT_OID];
	struct error err = { 0 };
	struct buf out = BUF_INIT(4096);
	void *both[] = { p, &out };

	if (commit(p, NULL, files, 3, oid, &err) < 0)
		fail_msg("%s", err.message);
	if (odb_tree_diff(&p->w.git, NULL, oid,
			  &(struct odb_sink){ note, &out }, &p->stop, &err) < 0)
		fail_msg("%s", err.message);
	assert_string_equal(out.ptr, "0>100644 d/empty|0>120000 link|"
				     "0>100755 od\nd \"\377\\|");
	buf_clear(&out);
	assert_int_equal(odb_tree_diff(&p->w.git, NULL, oid,
				       &(struct odb_sink){ read_blobs, both },
				       &p->stop, &err),
			 0);
	assert_true(str_eq(buf_str(&out), STR("../awaycr\r\nlf\n\0\377$Id$")));
	buf_release(&out);
}

static void test_a_commit_changes_what_its_parent_has(void **state)
{
	struct place *p = *state;
	struct commit_file first[] = {
		{ STR("a"), 0100644, STR("one") },
		{ STR("d/b"), 0100644, STR("two") },
	};
	struct commit_file second[] = {
		{ .path = STR("d") },
		{ STR("a"), 0100755, STR("three") },
	};
	char base[GIT_OID];
	char next[GIT_OID];
	char found[GIT_OID];
	struct error err = { 0 };
	struct buf out = BUF_INIT(4096);

	assert_int_equal(commit(p, NULL, first, 2, base, &err), 0);
	assert_int_equal(commit(p, base, second, 2, next, &err), 0);
	assert_int_equal(odb_tree_diff(&p->w.git, base, next,
				       &(struct odb_sink){ note, &out },
				       &p->stop, &err),
			 0);
	assert_string_equal(out.ptr, "100644>100755 a|100644>0 d/b|");
	assert_int_equal(
		odb_ref_get(&p->w.git, p->w.base_ref, found, &p->stop, &err),
		0);
	assert_string_equal(found, next);
	assert_int_equal(workspace_set_base(&p->w, base, &p->stop, &err), 0);
	assert_string_equal(p->w.base, base);
	buf_release(&out);
}

static void test_a_cut_file_makes_no_commit(void **state)
{
	struct place *p = *state;
	struct odb_commit_info info = { .ref = p->w.base_ref, .message = "" };
	struct odb_commit *c;
	char oid[GIT_OID];
	struct error err = { 0 };

	assert_int_equal(odb_commit_begin(&c, &p->w.git, &info, &p->stop, &err),
			 0);
	assert_int_equal(odb_commit_file(c, 0100644, STR("a"), 9, &err), 0);
	assert_int_equal(odb_commit_data(c, STR("short"), &err), 0);
	assert_int_equal(odb_commit_end(c, oid, &err), -1);
	assert_non_null(strstr(err.message, "4 bytes too early"));
	err = (struct error){ 0 };
	assert_int_equal(
		odb_ref_get(&p->w.git, p->w.base_ref, oid, &p->stop, &err), -1);
	assert_int_equal(err.code, ERR_NOT_FOUND);
}

static void test_a_workspace_is_found_again_with_its_base(void **state)
{
	struct place *p = *state;
	struct workspace again = { 0 };
	struct listing l = { 0 };
	struct listing read = { 0 };
	char hash[LISTING_HASH];
	char oid[GIT_OID];
	struct error err = { 0 };

	assert_int_equal(commit(p, NULL, NULL, 0, oid, &err), 0);
	listing_digest(STR("x"), hash);
	listing_add(&l, LISTING_FILE, hash, STR("a\nb"));
	assert_int_equal(workspace_write_listing(&p->w, &l, oid, &err), 0);
	assert_int_equal(workspace_open(&again, p->directory, p->w.root,
					"dcode-abcd2345", &p->stop, &err),
			 0);
	assert_string_equal(again.base, oid);
	assert_int_equal(workspace_read_listing(&again, &read, &p->stop, &err),
			 0);
	assert_non_null(listing_find(&read, "a\nb"));
	workspace_close(&again);
	listing_release(&l);
	listing_release(&read);
}

/* As a kill at the end of an apply leaves it: the listing is new, the base is
 * not. */
static void test_a_listing_of_another_commit_is_read_anew(void **state)
{
	struct place *p = *state;
	struct commit_file files[] = {
		{ STR("a"), 0100644, STR("one") },
		{ STR("d/b"), 0100755, STR("two") },
	};
	const char *other = "0123456789012345678901234567890123456789";
	struct listing l = { 0 };
	struct listing read = { 0 };
	char one[LISTING_HASH], changed[LISTING_HASH];
	char oid[GIT_OID];
	struct error err = { 0 };

	assert_int_equal(commit(p, NULL, files, 2, oid, &err), 0);
	assert_int_equal(workspace_set_base(&p->w, oid, &p->stop, &err), 0);
	listing_digest(STR("one"), one);
	listing_digest(STR("changed"), changed);
	listing_add(&l, LISTING_FILE, changed, STR("a"));
	assert_int_equal(workspace_write_listing(&p->w, &l, other, &err), 0);
	assert_int_equal(workspace_read_listing(&p->w, &read, &p->stop, &err),
			 0);
	assert_int_equal(read.n, 2);
	assert_string_equal(listing_find(&read, "a")->hash, one);
	assert_int_equal(listing_find(&read, "d/b")->mode, LISTING_PROGRAM);
	listing_release(&read);
	/* That of the base is believed. */
	assert_int_equal(workspace_write_listing(&p->w, &l, oid, &err), 0);
	assert_int_equal(workspace_read_listing(&p->w, &read, &p->stop, &err),
			 0);
	assert_int_equal(read.n, 1);
	assert_string_equal(listing_find(&read, "a")->hash, changed);
	listing_release(&l);
	listing_release(&read);
}

/* Sorting after each change made large trees wait for minutes. */
static void test_a_listing_follows_a_commit_and_is_sorted_once(void **state)
{
	struct place *p = *state;
	struct commit_file first[] = {
		{ STR("a"), 0100644, STR("one") },
		{ STR("b"), 0100644, STR("two") },
		{ STR("c"), 0100644, STR("three") },
	};
	struct commit_file second[] = {
		{ STR("a"), 0100755, STR("new") },
		{ .path = STR("c") },
	};
	struct listing l = { 0 };
	char changed[LISTING_HASH];
	char base[GIT_OID];
	char next[GIT_OID];
	struct error err = { 0 };

	assert_int_equal(commit(p, NULL, first, 3, base, &err), 0);
	assert_int_equal(commit(p, base, second, 2, next, &err), 0);
	assert_int_equal(
		workspace_relist(&l, &p->w.git, NULL, base, &p->stop, &err), 0);
	assert_non_null(listing_find(&l, "c"));
	assert_int_equal(
		workspace_relist(&l, &p->w.git, base, next, &p->stop, &err), 0);
	assert_true(l.unsorted);
	assert_null(listing_find(&l, "c"));
	assert_int_equal(l.n, 2);
	listing_digest(STR("new"), changed);
	assert_string_equal(listing_find(&l, "a")->hash, changed);
	assert_int_equal(listing_find(&l, "a")->mode, LISTING_PROGRAM);
	assert_non_null(listing_find(&l, "b"));
	listing_release(&l);
}

enum { LINES = 300000 };

/* LINES lines, of which one says something else. */
static void write_lines(struct buf *text, int which, const char *line)
{
	buf_clear(text);
	for (int i = 0; i < LINES; i++)
		buf_adds(text, i == which ? line : "one line of many\n");
}

static void commit_lines(struct place *p, struct buf *text, const char *parent,
			 char oid[GIT_OID])
{
	struct commit_file file = { STR("large"), 0100644, buf_str(text) };
	struct error err = { 0 };

	if (commit(p, parent, &file, 1, oid, &err) < 0)
		fail_msg("%s", err.message);
}

static void test_a_merge_says_when_memory_is_short(void **state)
{
	struct place *p = *state;
	char base[GIT_OID], ours[GIT_OID], theirs[GIT_OID];
	struct merge_sides sides = { base, ours, theirs,
				     .memory_max = 8 << 20 };
	struct buf text = BUF_INIT(16 << 20);
	struct merge m = { 0 };
	struct error err = { 0 };

	write_lines(&text, -1, "");
	commit_lines(p, &text, NULL, base);
	write_lines(&text, 2, "ours\n");
	commit_lines(p, &text, base, ours);
	write_lines(&text, LINES - 2, "theirs\n");
	commit_lines(p, &text, base, theirs);
	assert_int_equal(merge_compute(&m, &p->w.git, &sides, &p->stop, &err),
			 -1);
	assert_int_equal(err.code, ERR_LIMIT);
	assert_non_null(strstr(err.message, "8 MiB of memory"));
	merge_release(&m);
	sides.memory_max = 0;
	if (merge_compute(&m, &p->w.git, &sides, &p->stop, &err) < 0)
		fail_msg("%s", err.message);
	assert_int_equal(m.n, 0);
	merge_release(&m);
	buf_release(&text);
}

/* A git that counts its starts in the file "starts". */
static char *counting_git(struct place *p, struct error *err)
{
	char *file = path_join(p->directory, "git");
	struct buf text = BUF_INIT(4096);

	buf_addf(&text, "#!/bin/sh\necho >>%s/starts\nexec %s \"$@\"\n",
		 p->directory, p->w.program);
	assert_int_equal(path_write(file, buf_str(&text), 0700, err), 0);
	buf_release(&text);
	return file;
}

static void check_file(struct place *p, const char *name, struct str expected)
{
	char *path = xasprintf("%s/named/%s", p->directory, name);
	struct buf text = BUF_INIT(4096);
	struct error err = { 0 };

	if (path_read(path, &text, &err) < 0)
		fail_msg("%s", err.message);
	assert_true(str_eq(buf_str(&text), expected));
	buf_release(&text);
	free(path);
}

static void test_files_of_a_name_are_read_by_three_gits(void **state)
{
	enum { FILES = 50 };
	struct place *p = *state;
	struct commit_file files[FILES];
	char paths[FILES][32];
	char oid[GIT_OID];
	char *to = path_join(p->directory, "named");
	char *starts = path_join(p->directory, "starts");
	struct buf count = BUF_INIT(4096);
	struct named_files f = { .name = ".gitignore",
				 .tree = oid,
				 .first = STR("first") };
	struct git git = p->w.git;
	struct error err = { 0 };
	size_t n = 0;

	for (int i = 0; i < FILES; i++) {
		snprintf(paths[i], sizeof(paths[i]), "d%d/.gitignore", i);
		files[i] = (struct commit_file){
			str_of(i ? paths[i] : ".gitignore"), 0100644,
			i % 2 ? STR("x\ny") : STR("")
		};
	}
	assert_int_equal(commit(p, NULL, files, FILES, oid, &err), 0);
	assert_int_equal(path_mkdirs(to, 0700, &err), 0);
	git.program = counting_git(p, &err);
	if (odb_write_named_files(&f, &git, to, &n, &p->stop, &err) < 0)
		fail_msg("%s", err.message);
	assert_int_equal(n, FILES);
	assert_int_equal(path_read(starts, &count, &err), 0);
	assert_int_equal(count.len, 3);
	check_file(p, ".gitignore", STR("first\n"));
	check_file(p, "d1/.gitignore", STR("x\ny"));
	check_file(p, "d2/.gitignore", STR(""));
	free((char *)git.program);
	buf_release(&count);
	free(to);
	free(starts);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			test_bytes_and_names_go_in_as_they_are, setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			test_a_commit_changes_what_its_parent_has, setup,
			teardown),
		cmocka_unit_test_setup_teardown(test_a_cut_file_makes_no_commit,
						setup, teardown),
		cmocka_unit_test_setup_teardown(
			test_a_workspace_is_found_again_with_its_base, setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			test_a_listing_of_another_commit_is_read_anew, setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			test_a_listing_follows_a_commit_and_is_sorted_once,
			setup, teardown),
		cmocka_unit_test_setup_teardown(
			test_a_merge_says_when_memory_is_short, setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			test_files_of_a_name_are_read_by_three_gits, setup,
			teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
