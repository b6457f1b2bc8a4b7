/* files_test.c - file operations over real shells, kind and hostile ones. */
/* SPDX-License-Identifier: MIT */
#include "files_calls.h"
#include "files_room.h"

static void ls_lists(void **arg)
{
	static const char *const names[] = { "*",    "-n",      ".hidden",
					     "..x",  "a\nb",    "dir/",
					     "link", "\xff\xfe" };
	static const char *const sorted[] = {
		"*", "-n", "..x", ".hidden", "a\nb", "dir/", "link", "\xff\xfe"
	};

	(void)arg;
	for (int k = 0; k < KINDS; k++) {
		struct files_names list;
		struct room r;

		enter(&r, k);
		WORKS(&r, files_ls(&r.sb, r.dir, &list, &r.stop, &r.err));
		assert_int_equal(list.n, 0);
		for (size_t i = 0; i < 5; i++)
			put(&r, names[i], STR("x"), 0644);
		put(&r, "\xff\xfe", STR("x"), 0644);
		make_dir(&r, "dir");
		assert_int_equal(symlink("dir", in(&r, "link")), 0);
		r.state.executes = 0;
		WORKS(&r, files_ls(&r.sb, r.dir, &list, &r.stop, &r.err));
		assert_int_equal(r.state.executes, 1);
		listed(&r, &list, sorted, 8);
		files_names_release(&list);
		FAILS(&r, files_ls(&r.sb, in(&r, "no"), &list, &r.stop, &r.err),
		      "path_not_found");
		assert_int_equal(r.err.code, ERR_NOT_FOUND);
		FAILS(&r, files_ls(&r.sb, in(&r, "*"), &list, &r.stop, &r.err),
		      "not_a_directory");
		leave(&r);
	}
}

static void write_writes(void **arg)
{
	static const char any[] = "$(id) `id` 'q' \"d\" %s \\n\n-e\r\n\t\x01"
				  "\0nul\xff\xfe \xe2\x82\xac\n\n";

	(void)arg;
	for (int k = 0; k < KINDS; k++) {
		struct str text = { any, sizeof(any) - 1 };
		struct room r;

		enter(&r, k);
		WORKS(&r, files_write(&r.sb, in(&r, "a/b c/f"), false, text,
				      &r.stop, &r.err));
		assert_in_range(r.state.executes, 1,
				kinds[k].path == poor ? 2 : 1);
		holds(&r, "a/b c/f", text);
		put(&r, "old", STR("something longer than the new"), 0750);
		assert_int_equal(symlink("old", in(&r, "link")), 0);
		WORKS(&r, files_write(&r.sb, in(&r, "link"), false, STR("-n"),
				      &r.stop, &r.err));
		holds(&r, "old", STR("-n"));
		WORKS(&r, files_write(&r.sb, in(&r, "old"), false, STR(""),
				      &r.stop, &r.err));
		holds(&r, "old", STR(""));
		{
			struct stat st;

			assert_int_equal(lstat(in(&r, "link"), &st), 0);
			assert_true(S_ISLNK(st.st_mode));
			assert_int_equal(stat(in(&r, "old"), &st), 0);
			assert_int_equal(st.st_mode & 07777, 0750);
		}
		FAILS(&r,
		      files_write(&r.sb, in(&r, "a"), false, STR("x"), &r.stop,
				  &r.err),
		      "is_directory");
		FAILS(&r,
		      files_write(&r.sb, in(&r, "old/x/y"), false, STR("x"),
				  &r.stop, &r.err),
		      "not_a_directory");
		is_tidy(&r);
		leave(&r);
	}
}

/* What "f" held, as a write of "new" gives it back; NULL: it does not. A line
 * break at its end stays. */
static void overwrites(struct room *r, size_t most, const char *held)
{
	bool ends = held && str_ends(str_of(held), "\n");
	struct files_before before = { .text = BUF_INIT(most) };
	struct files_writing writing = { .path = in(r, "f"),
					 .content = STR("new"),
					 .before = &before };
	int executes = r->state.executes;

	WORKS(r, files_overwrite(&r->sb, &writing, &r->stop, &r->err));
	assert_in_range(r->state.executes - executes, 1,
			ends || (!r->bytes && r->state.executes) ? 2 : 1);
	holds(r, "f", ends ? STR("new\n") : STR("new"));
	assert_int_equal(before.known, held != NULL);
	if (held)
		assert_true(str_is(buf_str(&before.text), held));
	buf_release(&before.text);
}

static void write_gives_back_what_was_there(void **arg)
{
	(void)arg;
	for (int k = 0; k < KINDS; k++) {
		struct room r;

		enter(&r, k);
		overwrites(&r, 100, "");
		overwrites(&r, 100, "new");
		put(&r, "f", STR("a\nb\n\n"), 0644);
		overwrites(&r, 100, "a\nb\n\n");
		overwrites(&r, 100, "new\n");
		put(&r, "f", STR("longer"), 0644);
		overwrites(&r, 5, NULL);
		put(&r, "f", STR(""), 0644);
		overwrites(&r, 5, "");
		is_tidy(&r);
		leave(&r);
	}
}

/* Each kind of shell has to see what is special, and nothing else. */
static void write_keeps_the_form(void **arg)
{
	static const struct {
		const char *held;
		const char *text;
		const char *want;
		int executes;
	} cases[] = {
		{ "a\r\nb\r\n", "x\ny\n", "x\r\ny\r\n", 2 },
		{ "a\nb", "x\ny\n", "x\ny", 2 },
		{ "\xef\xbb\xbf"
		  "a\n",
		  "x\n",
		  "\xef\xbb\xbf"
		  "x\n",
		  2 },
		{ "caf\xe9\n", "th\xc3\xa9\n", "th\xe9\n", 2 },
		{ "a\nb\n", "x\n", "x\n", 1 },
		{ "abc\n", "x\n", "x\n", 1 },
		{ "de\n", "x\n", "x\n", 1 },
		{ "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80\n", "x\n", "x\n",
		  1 },
	};

	(void)arg;
	for (int k = 0; k < KINDS; k++) {
		struct room r;

		enter(&r, k);
		for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
			struct files_writing w = {
				.path = NULL,
				.content = str_of(cases[i].text),
				.written = BUF_INIT(100),
				.kept = BUF_INIT(100),
			};
			int before = r.state.executes;

			put(&r, "f", str_of(cases[i].held), 0644);
			w.path = in(&r, "f");
			WORKS(&r, files_overwrite(&r.sb, &w, &r.stop, &r.err));
			holds(&r, "f", str_of(cases[i].want));
			if (r.bytes)
				assert_int_equal(r.state.executes - before,
						 cases[i].executes);
			assert_int_equal(w.kept.len > 0, cases[i].executes > 1);
			buf_release(&w.written);
			buf_release(&w.kept);
		}
		is_tidy(&r);
		leave(&r);
	}
}

static void write_is_large(void **arg)
{
	size_t len = 700001;
	struct buf data = BUF_INIT(len);

	(void)arg;
	for (size_t i = 0; i < len; i++)
		buf_addc(&data, (char)(i % 7 ? 'a' + i % 26 : i % 251));
	for (int k = 0; k < KINDS; k++) {
		struct room r;

		enter(&r, k);
		put(&r, "f", STR("old"), 0755);
		assert_int_equal(link(in(&r, "f"), "/tmp/files_test.link"), 0);
		assert_int_equal(unlink("/tmp/files_test.link"), 0);
		WORKS(&r, files_write(&r.sb, in(&r, "f"), false, buf_str(&data),
				      &r.stop, &r.err));
		if (r.bytes)
			assert_int_equal(r.state.executes, 1);
		assert_in_range(r.state.longest, 1, shell_text.max_command);
		holds(&r, "f", buf_str(&data));
		is_tidy(&r);
		leave(&r);
	}
	buf_release(&data);
}

static void links_stay(void **arg)
{
	(void)arg;
	for (int k = 0; k < KINDS; k++) {
		struct room r;
		int64_t n;

		enter(&r, k);
		put(&r, "one", STR("a b"), 0640);
		{
			char *two = xasprintf("%s/two", r.dir);

			assert_int_equal(link(in(&r, "one"), two), 0);
			free(two);
		}
		WORKS(&r, EDIT(&r.sb, in(&r, "two"), STR("b"), STR("c"), false,
			       &n, &r.stop, &r.err));
		holds(&r, "one", STR("a c"));
		WORKS(&r, files_write(&r.sb, in(&r, "one"), false, STR("z"),
				      &r.stop, &r.err));
		holds(&r, "two", STR("z"));
		is_tidy(&r);
		leave(&r);
	}
}

static void edit_edits(void **arg)
{
	(void)arg;
	for (int k = 0; k < KINDS; k++) {
		struct room r;
		struct stat st;
		int64_t n = 0;

		enter(&r, k);
		put(&r, "f", STR("one\r\ntwo \xe2\x82\xac\r\nthree"), 0755);
		assert_int_equal(symlink("f", in(&r, "link")), 0);
		WORKS(&r, EDIT(&r.sb, in(&r, "link"), STR("one\ntwo"),
			       STR("1\n'2'%s\n"), false, &n, &r.stop, &r.err));
		assert_int_equal(n, 1);
		assert_int_equal(r.state.executes, r.bytes                 ? 1
						   : kinds[k].path == poor ? 2
									   : 2);
		holds(&r, "f", STR("1\r\n'2'%s\r\n \xe2\x82\xac\r\nthree"));
		assert_int_equal(lstat(in(&r, "link"), &st), 0);
		assert_true(S_ISLNK(st.st_mode));
		assert_int_equal(stat(in(&r, "f"), &st), 0);
		assert_int_equal(st.st_mode & 07777, 0755);
		FAILS(&r,
		      EDIT(&r.sb, in(&r, "f"), STR("e"), STR("x"), false, &n,
			   &r.stop, &r.err),
		      "multiple_occurrences");
		assert_int_equal(n, 2);
		WORKS(&r, EDIT(&r.sb, in(&r, "f"), STR("e"), STR(""), true, &n,
			       &r.stop, &r.err));
		assert_int_equal(n, 2);
		FAILS(&r,
		      EDIT(&r.sb, in(&r, "f"), STR("zzz"), STR("x"), false, &n,
			   &r.stop, &r.err),
		      "string_not_found");
		holds(&r, "f", STR("1\r\n'2'%s\r\n \xe2\x82\xac\r\nthr"));
		FAILS(&r,
		      EDIT(&r.sb, in(&r, "no"), STR("a"), STR("b"), false, &n,
			   &r.stop, &r.err),
		      "file_not_found");
		FAILS(&r,
		      EDIT(&r.sb, r.dir, STR("a"), STR("b"), false, &n, &r.stop,
			   &r.err),
		      "not_a_file");
		put(&r, "bin", STR("a\xff"), 0644);
		FAILS(&r,
		      EDIT(&r.sb, in(&r, "bin"), STR("a"), STR("b"), false, &n,
			   &r.stop, &r.err),
		      "not_a_text_file");
		is_tidy(&r);
		leave(&r);
	}
}

static void reads(struct room *r, int64_t offset, int64_t limit,
		  struct files_page *page)
{
	int before = r->state.executes;

	WORKS(r, READ(&r->sb, in(r, "f"), offset, limit, false, page, &r->stop,
		      &r->err));
	assert_int_equal(r->state.executes, before + 1);
}

static void shows(struct room *r, int64_t offset, int64_t limit,
		  const char *text, const int64_t numbers[4])
{
	struct files_page page;

	reads(r, offset, limit, &page);
	assert_string_equal(page.text.ptr ? page.text.ptr : "", text);
	assert_int_equal(page.total_lines, numbers[0]);
	assert_int_equal(page.start_line, numbers[1]);
	assert_int_equal(page.end_line, numbers[2]);
	assert_int_equal(page.next_offset, numbers[3]);
	buf_release(&page.text);
}

static void read_reads(void **arg)
{
	(void)arg;
	for (int k = 0; k < KINDS; k++) {
		struct files_page page;
		struct room r;

		enter(&r, k);
		put(&r, "f", STR("one\ntwo\r\nthree\rfour\nfive"), 0644);
		shows(&r, 1, 2, "two\nthree", (int64_t[]){ 5, 2, 3, 3 });
		shows(&r, -3, 2, "one\ntwo", (int64_t[]){ 5, 1, 2, 2 });
		shows(&r, 3, 100, "four\nfive", (int64_t[]){ 5, 4, 5, -1 });
		FAILS(&r,
		      READ(&r.sb, in(&r, "f"), 5, 1, false, &page, &r.stop,
			   &r.err),
		      "Line offset 5 exceeds file length (5 lines)");
		reads(&r, 9, 0, &page);
		assert_true(page.no_lines);
		put(&r, "f", STR(""), 0644);
		reads(&r, 0, 0, &page);
		assert_false(page.no_lines);
		assert_int_equal(page.total_lines, 0);
		FAILS(&r,
		      READ(&r.sb, in(&r, "no"), 0, 1, false, &page, &r.stop,
			   &r.err),
		      "file_not_found");
		FAILS(&r,
		      READ(&r.sb, r.dir, 0, 1, false, &page, &r.stop, &r.err),
		      "not_a_file");
		put(&r, "f", STR("a\xff\xff\n"), 0644);
		FAILS(&r,
		      READ(&r.sb, in(&r, "f"), 0, 1, false, &page, &r.stop,
			   &r.err),
		      "not_a_text_file");
		WORKS(&r, READ(&r.sb, in(&r, "f"), 0, 1, true, &page, &r.stop,
			       &r.err));
		assert_true(page.binary);
		assert_int_equal(page.text.len, 4);
		assert_memory_equal(page.text.ptr, "a\xff\xff\n", 4);
		buf_release(&page.text);
		leave(&r);
	}
}

static void fill(struct room *r, size_t lines, const char *end, size_t extra)
{
	FILE *f = fopen(in(r, "f"), "wb");

	assert_non_null(f);
	for (size_t i = 0; i < lines; i++)
		fprintf(f, "line %zu of many%s", i, end);
	for (size_t i = 0; i < extra; i++)
		putc('y', f);
	assert_int_equal(fclose(f), 0);
}

static void read_is_large(void **arg)
{
	(void)arg;
	for (int k = 0; k < KINDS; k++) {
		struct files_page page;
		struct buf big = BUF_INIT(2 << 20);
		struct room r;

		enter(&r, k);
		fill(&r, 30000, "\n", 0); /* 600 KB: lines are counted */
		shows(&r, 29998, 5, "line 29998 of many\nline 29999 of many",
		      (int64_t[]){ 30000, 29999, 30000, -1 });
		shows(&r, 100, 1, "line 100 of many",
		      (int64_t[]){ 30000, 101, 101, 101 });
		fill(&r, 100000, "\n", 3); /* 2 MB: only at the end */
		shows(&r, 100, 1, "line 100 of many",
		      (int64_t[]){ -1, 101, 101, 101 });
		shows(&r, 100000, 1, "yyy",
		      (int64_t[]){ 100001, 100001, 100001, -1 });
		FAILS(&r,
		      READ(&r.sb, in(&r, "f"), 100001, 1, false, &page, &r.stop,
			   &r.err),
		      "Line offset 100001 exceeds file length (100001 lines)");
		fill(&r, 60000, "\r\n", 0);
		shows(&r, 59999, 2, "line 59999 of many",
		      (int64_t[]){ 60000, 60000, 60000, -1 });
		fill(&r, 60000, "\r", 0);
		shows(&r, 7, 2, "line 7 of many\nline 8 of many",
		      (int64_t[]){ -1, 8, 9, 9 });
		buf_adds(&big, "first\n");
		while (big.len < (1 << 20) + 6)
			buf_addc(&big, 'a');
		buf_addc(&big, '\xff');
		put(&r, "f", buf_str(&big), 0644);
		shows(&r, 0, 1, "first", (int64_t[]){ -1, 1, 1, 1 });
		reads(&r, 1, 1, &page);
		assert_true(page.clipped);
		assert_int_equal(page.text.len, FILES_PAGE_BYTES);
		buf_release(&page.text);
		FAILS(&r,
		      READ(&r.sb, in(&r, "f"), 0, 1, true, &page, &r.stop,
			   &r.err),
		      "Binary file exceeds maximum preview size of 512000 "
		      "bytes");
		buf_release(&big);
		leave(&r);
	}
}

static void delete_deletes(void **arg)
{
	(void)arg;
	for (int k = 0; k < KINDS; k++) {
		struct room r;

		enter(&r, k);
		make_dir(&r, "d");
		put(&r, "d/-f", STR("x"), 0644);
		assert_int_equal(symlink("nowhere", in(&r, "broken")), 0);
		assert_int_equal(files_delete(&r.sb, in(&r, "d"), false,
					      &r.stop, &r.err),
				 0);
		assert_int_equal(r.state.executes, 1);
		assert_int_equal(access(in(&r, "d"), F_OK), -1);
		assert_int_equal(files_delete(&r.sb, in(&r, "broken"), false,
					      &r.stop, &r.err),
				 0);
		FAILS(&r,
		      files_delete(&r.sb, in(&r, "broken"), false, &r.stop,
				   &r.err),
		      "file_not_found");
		if (k == 0) /* where rm itself would refuse, too */
			FAILS(&r,
			      files_delete(&r.sb, "/", false, &r.stop, &r.err),
			      "permission_denied");
		leave(&r);
	}
}

static void load_takes_one_command(void **arg)
{
	struct buf text = BUF_INIT(20);
	struct buf least = BUF_INIT(5);

	(void)arg;
	for (int k = 0; k < KINDS; k++) {
		struct room r;

		enter(&r, k);
		put(&r, "f", STR("one\r\ntwo\xff"), 0644);
		buf_clear(&text);
		WORKS(&r, files_load(&r.sb, in(&r, "f"), false, &text, &r.stop,
				     &r.err));
		assert_true(str_eq(buf_str(&text), STR("one\r\ntwo\xff")));
		assert_int_equal(r.state.executes, 1);
		assert_int_equal(files_load(&r.sb, in(&r, "f"), false, &least,
					    &r.stop, &r.err),
				 -1);
		assert_int_equal(r.err.code, ERR_LIMIT);
		assert_int_equal(least.len, 0);
		FAILS(&r,
		      files_load(&r.sb, in(&r, "no"), false, &text, &r.stop,
				 &r.err),
		      "file_not_found");
		leave(&r);
	}
	buf_release(&text);
	buf_release(&least);
}

static void note_change(void *arg, struct str before, struct str after)
{
	buf_addstr(arg, before);
	buf_adds(arg, " -> ");
	buf_addstr(arg, after);
}

static void edit_says_what_it_changed(void **arg)
{
	struct buf said = BUF_INIT(100);

	(void)arg;
	for (int k = 0; k < KINDS; k++) {
		struct files_replacement change = { .old = STR("b"),
						    .new = STR("c"),
						    .made = note_change,
						    .arg = &said };
		struct room r;
		int64_t n;

		enter(&r, k);
		put(&r, "f", STR("abd\r\n"), 0644);
		change.path = in(&r, "f");
		WORKS(&r, files_edit(&r.sb, &change, &n, &r.stop, &r.err));
		assert_string_equal(said.ptr, "abd\r\n -> acd\r\n");
		buf_clear(&said);
		assert_int_equal(
			files_edit(&r.sb, &change, &n, &r.stop, &r.err), -1);
		assert_int_equal(said.len, 0);
		leave(&r);
	}
	buf_release(&said);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ls_lists),
		cmocka_unit_test(read_reads),
		cmocka_unit_test(read_is_large),
		cmocka_unit_test(write_writes),
		cmocka_unit_test(write_gives_back_what_was_there),
		cmocka_unit_test(write_keeps_the_form),
		cmocka_unit_test(write_is_large),
		cmocka_unit_test(links_stay),
		cmocka_unit_test(edit_edits),
		cmocka_unit_test(load_takes_one_command),
		cmocka_unit_test(edit_says_what_it_changed),
		cmocka_unit_test(delete_deletes),
	};

	return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
