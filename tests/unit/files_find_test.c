/* files_find_test.c - glob and grep over real shells. */
/* SPDX-License-Identifier: MIT */
#include "files_calls.h"
#include "files_room.h"

static void tree(struct room *r)
{
	make_dir(r, "sub");
	make_dir(r, "sub/nested");
	make_dir(r, ".hidden");
	make_dir(r, ".github");
	make_dir(r, ".github/workflows");
	put(r, "a.py", STR("needle\nx\n"), 0644);
	put(r, "sub/b.py", STR("a:needle"), 0644);
	put(r, "sub/nested/c.py", STR("x\nno\nneedle \xff\0end\n"), 0644);
	put(r, "readme.md", STR("needle\n"), 0644);
	put(r, ".hidden.py", STR("needle\n"), 0644);
	put(r, ".hidden/x.py", STR("needle\n"), 0644);
	put(r, ".github/workflows/ci.yml", STR("\n"), 0644);
	put(r, "a:12:b\n.py", STR("5:needle\n"), 0644);
	assert_int_equal(symlink("a.py", in(r, "in.py")), 0);
	assert_int_equal(symlink("/etc/passwd", in(r, "out.py")), 0);
	assert_int_equal(mkfifo(in(r, "fifo.py"), 0644), 0);
}

static void globs(struct room *r, const char *pattern, const char *const *names,
		  size_t n)
{
	struct files_names list;
	int before = r->state.executes;

	assert_int_equal(
		GLOB(&r->sb, r->dir, pattern, &list, &r->stop, &r->err), 0);
	assert_int_equal(r->state.executes, before + 1);
	assert_false(list.incomplete);
	listed(r, &list, names, n);
	files_names_release(&list);
}

static void glob_finds(void **arg)
{
	static const char *const py[] = { ".hidden/x.py", "a.py",
					  "a:12:b\n.py",  "in.py",
					  "sub/b.py",     "sub/nested/c.py" };
	static const char *const deep[] = { "a.py", "a:12:b\n.py", "in.py",
					    "sub/b.py", "sub/nested/c.py" };
	static const char *const top[] = { "a.py", "a:12:b\n.py", "in.py" };
	static const char *const yml[] = { ".github/workflows/ci.yml" };
	static const char *const sub[] = { "sub/b.py", "sub/nested/c.py" };

	(void)arg;
	for (int k = 0; k < KINDS; k++) {
		struct files_names list;
		struct room r;

		enter(&r, k);
		tree(&r);
		globs(&r, "*.py", py, 6);
		globs(&r, "**/*.py", deep, 5);
		globs(&r, "/*.py", top, 3);
		globs(&r, "*.yml", yml, 1);
		globs(&r, "**/*.yml", NULL, 0);
		globs(&r, ".github/**/*.yml", yml, 1);
		globs(&r, "sub/**/*.{py,md}", sub, 2);
		globs(&r, "sub//**", sub, 2);
		FAILS(&r, GLOB(&r.sb, r.dir, "../x", &list, &r.stop, &r.err),
		      "invalid_pattern");
		FAILS(&r,
		      GLOB(&r.sb, in(&r, "no"), "*", &list, &r.stop, &r.err),
		      "path_not_found");
		FAILS(&r,
		      GLOB(&r.sb, in(&r, "a.py"), "*", &list, &r.stop, &r.err),
		      "not_a_directory");
		leave(&r);
	}
}

static void found(struct room *r, const struct files_matches *list, size_t i,
		  const char *path, int64_t line, const char *text)
{
	assert_in_range(i, 0, list->n - 1);
	assert_string_equal(list->items[i].path, in(r, path));
	assert_int_equal(list->items[i].line, line);
	assert_string_equal(list->items[i].text, text);
}

static void greps(struct room *r, const char *pattern, const char *glob,
		  int64_t cap, size_t n, struct files_matches *list)
{
	int before = r->state.executes;

	WORKS(r, GREP(&r->sb, r->dir, pattern, glob, cap, list, &r->stop,
		      &r->err));
	assert_int_equal(r->state.executes, before + 1);
	if (list->n != n)
		for (size_t i = 0; i < list->n; i++)
			print_message("%s:%" PRId64 ":%s\n",
				      list->items[i].path, list->items[i].line,
				      list->items[i].text);
	assert_int_equal(list->n, n);
}

static void grep_finds(void **arg)
{
	(void)arg;
	for (int k = 0; k < KINDS; k++) {
		struct files_matches list;
		struct room r;

		enter(&r, k);
		tree(&r);
		greps(&r, "needle", NULL, 1000, 7, &list);
		assert_false(list.incomplete);
		found(&r, &list, 0, ".hidden.py", 1, "needle");
		found(&r, &list, 2, "a.py", 1, "needle");
		found(&r, &list, 3, "a:12:b\n.py", 1, "5:needle");
		found(&r, &list, 5, "sub/b.py", 1, "a:needle");
		files_matches_release(&list);
		greps(&r, "needle", "*.md", 1000, 1, &list);
		found(&r, &list, 0, "readme.md", 1, "needle");
		files_matches_release(&list);
		greps(&r, "needle", "sub/**/*.py", 1000, 2, &list);
		assert_int_equal(list.items[1].line, 3);
		files_matches_release(&list);
		greps(&r, "needle", "/*.{md,py}", 1000, 3, &list);
		files_matches_release(&list);
		greps(&r, "needle", NULL, 3, 3, &list);
		assert_true(list.incomplete);
		files_matches_release(&list);
		greps(&r, "needle", NULL, 20, 7, &list);
		assert_false(list.incomplete);
		files_matches_release(&list);
		greps(&r, "a\nneedle", NULL, 9, 0, &list);
		greps(&r, "-e", NULL, 9, 0, &list);
		greps(&r, "$(x)", NULL, 9, 0, &list);
		greps(&r, "", "/a.py", 9, 2, &list);
		files_matches_release(&list);
		FAILS(&r,
		      GREP(&r.sb, r.dir, "x", "../*", 9, &list, &r.stop,
			   &r.err),
		      "invalid_pattern");
		FAILS(&r,
		      GREP(&r.sb, in(&r, "no"), "x", NULL, 9, &list, &r.stop,
			   &r.err),
		      "path_not_found");
		WORKS(&r, GREP(&r.sb, in(&r, "a.py"), "need", "*.md", 9, &list,
			       &r.stop, &r.err));
		assert_int_equal(list.n, 1);
		found(&r, &list, 0, "a.py", 1, "needle");
		files_matches_release(&list);
		leave(&r);
	}
}

/* What a search found until its time was up is kept. */
static void time_is_up(void **arg)
{
	static const char slow[] =
		"find() { command find \"$@\"; sleep 20; }; ";

	(void)arg;
	for (int i = 0; i < 2; i++) {
		struct shell_kind kind = kinds[0];
		struct files_names list;
		struct files_matches lines;
		struct files_search what;
		struct room r;

		enter(&r, 0);
		tree(&r);
		kind.noise = slow;
		kind.mangle = i == 1;
		r.state.kind = &kind;
		r.client.provider = i ? &shell_text : &shell_bytes;
		r.state.hurry = 400;
		what = (struct files_search){ .root = r.dir,
					      .pattern = "*.py",
					      .ignored = true };
		WORKS(&r, files_glob(&r.sb, &what, &list, &r.stop, &r.err));
		assert_true(list.incomplete);
		/* Text is encoded in blocks that may not have left yet. */
		assert_in_range(list.n, i ? 0 : 1, 6);
		files_names_release(&list);
		what = (struct files_search){ .root = r.dir,
					      .pattern = "needle",
					      .cap = 9,
					      .ignored = true };
		WORKS(&r, files_grep(&r.sb, &what, &lines, &r.stop, &r.err));
		assert_true(lines.incomplete);
		files_matches_release(&lines);
		r.err = (struct error){ 0 };
		kind.noise = "ls() { sleep 20; }; ";
		assert_int_equal(files_write(&r.sb, in(&r, "a.py"), false,
					     STR("x"), &r.stop, &r.err),
				 -1);
		assert_int_equal(r.err.code, ERR_TIMEOUT);
		leave(&r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(glob_finds),
		cmocka_unit_test(grep_finds),
		cmocka_unit_test(time_is_up),
	};

	return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
