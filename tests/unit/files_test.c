/* files_test.c - file operations over real shells, kind and hostile ones. */
/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/ids.h"
#include "base/path.h"
#include "sandbox/files.h"
#include "shell_sandbox.h"
#include "unit.h"

const struct sandbox_provider *const sandbox_providers[] = { &shell_bytes,
							     NULL };

#define BUSYBOX "/usr/bin/busybox"

static const char noise[] =
	"echo 'Welcome @dcode: to the machine'; echo warn >&2; ";

static struct shell_kind kinds[] = {
	{ .name = "dash", .shell = { "/bin/dash" }, .path = "/usr/bin:/bin" },
	{ .name = "bash", .shell = { "/bin/bash" }, .path = "/usr/bin:/bin" },
	{ .name = "busybox" }, /* no applet has a link: see group_setup() */
	{ .name = "dash with busybox alone", .shell = { "/bin/dash" } },
	{ .name = "text over dash",
	  .shell = { "/bin/dash" },
	  .path = "/usr/bin:/bin",
	  .noise = noise,
	  .mangle = true },
	{ .name = "text over busybox", .noise = noise, .mangle = true },
	{ .name = "text without base64", .noise = noise, .mangle = true },
};
enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

/* One test, on one kind, in a directory of its own. */
struct room {
	struct sandbox_host host;
	struct sandbox sb;
	struct shell_state state;
	struct stop stop;
	struct error err;
	char *dir;
	char path[600];
	bool bytes;
};

static char tools[64];
static char bare[128]; /* has sh and busybox */
static char poor[128]; /* has sh and the applets but base64 */

static void link_poor(void)
{
	static const char *const applets[] = {
		"sh",    "ls", "cat", "head",  "tail", "sed",   "tr",
		"grep",  "wc", "cp",  "mkdir", "mv",   "rm",    "readlink",
		"cksum", "od", "dd",  "find",  "cut",  "chmod", NULL
	};

	for (int i = 0; applets[i]; i++) {
		char *name = xasprintf("%s/%s", poor, applets[i]);

		assert_int_equal(symlink(BUSYBOX, name), 0);
		free(name);
	}
}

static int group_setup(void **arg)
{
	char *name;

	(void)arg;
	ids_init();
	snprintf(tools, sizeof(tools), "/tmp/files_test.XXXXXX");
	if (!mkdtemp(tools))
		return -1;
	snprintf(bare, sizeof(bare), "%s/bare", tools);
	snprintf(poor, sizeof(poor), "%s/poor", tools);
	if (mkdir(bare, 0755) || mkdir(poor, 0755))
		return -1;
	name = xasprintf("%s/busybox", bare);
	assert_int_equal(symlink(BUSYBOX, name), 0);
	free(name);
	name = xasprintf("%s/sh", bare);
	assert_int_equal(symlink(BUSYBOX, name), 0);
	free(name);
	link_poor();
	for (int i = 0; i < KINDS; i++) {
		if (kinds[i].path)
			continue;
		if (!kinds[i].shell[0]) {
			kinds[i].shell[0] = BUSYBOX;
			kinds[i].shell[1] = "sh";
		}
		kinds[i].path = strstr(kinds[i].name, "without") ? poor : bare;
	}
	return 0;
}

static int group_teardown(void **arg)
{
	struct error err = { 0 };

	(void)arg;
	return path_remove_tree(tools, &err);
}

static void enter(struct room *r, int kind)
{
	*r = (struct room){ .stop = stop_on(NULL) };
	r->bytes = !kinds[kind].mangle;
	r->host.provider = r->bytes ? &shell_bytes : &shell_text;
	r->state.kind = &kinds[kind];
	r->sb.host = &r->host;
	r->sb.priv = &r->state;
	r->dir = xasprintf("%s/it's %%s $(x) \"q\" %s.XXXXXX", tools,
			   "\xc3\xa9\xff");
	assert_non_null(mkdtemp(r->dir));
	print_message("  on %s\n", kinds[kind].name);
}

static void leave(struct room *r)
{
	free(r->dir);
}

static const char *in(struct room *r, const char *name)
{
	snprintf(r->path, sizeof(r->path), "%s/%s", r->dir, name);
	return r->path;
}

static void put(struct room *r, const char *name, struct str data, mode_t mode)
{
	FILE *f = fopen(in(r, name), "wb");

	assert_non_null(f);
	if (data.len)
		assert_int_equal(fwrite(data.ptr, 1, data.len, f), data.len);
	assert_int_equal(fclose(f), 0);
	assert_int_equal(chmod(r->path, mode), 0);
}

static void holds(struct room *r, const char *name, struct str want)
{
	struct buf got = BUF_INIT(64 << 20);
	struct error err = { 0 };

	assert_int_equal(path_read(in(r, name), &got, &err), 0);
	assert_int_equal(got.len, want.len);
	if (want.len)
		assert_memory_equal(got.ptr, want.ptr, want.len);
	buf_release(&got);
}

static void make_dir(struct room *r, const char *name)
{
	assert_int_equal(mkdir(in(r, name), 0755), 0);
}

#define WORKS(r, call)                                                         \
	do {                                                                   \
		(r)->err = (struct error){ 0 };                                \
		if (call)                                                      \
			fail_msg("%s", (r)->err.message);                      \
	} while (0)

/* Nothing of ours may stay behind. */
static void is_tidy(struct room *r)
{
	struct files_names list;

	WORKS(r, files_ls(&r->sb, r->dir, &list, &r->stop, &r->err));
	for (size_t i = 0; i < list.n; i++)
		assert_null(strstr(list.names[i], "/.dcode-"));
	files_names_release(&list);
}

#define FAILS(r, call, text)                                                   \
	do {                                                                   \
		(r)->err = (struct error){ 0 };                                \
		assert_int_equal(call, -1);                                    \
		assert_string_equal((r)->err.message, text);                   \
	} while (0)

static void listed(struct room *r, const struct files_names *list,
		   const char *const *names, size_t n)
{
	if (list->n != n)
		for (size_t i = 0; i < list->n; i++)
			print_message("got %s\n", list->names[i]);
	assert_int_equal(list->n, n);
	for (size_t i = 0; i < n; i++)
		assert_string_equal(list->names[i], in(r, names[i]));
}

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
		WORKS(&r, files_write(&r.sb, in(&r, "a/b c/f"), text, &r.stop,
				      &r.err));
		assert_in_range(r.state.executes, 1,
				kinds[k].path == poor ? 2 : 1);
		holds(&r, "a/b c/f", text);
		put(&r, "old", STR("something longer than the new"), 0750);
		assert_int_equal(symlink("old", in(&r, "link")), 0);
		WORKS(&r, files_write(&r.sb, in(&r, "link"), STR("-n"), &r.stop,
				      &r.err));
		holds(&r, "old", STR("-n"));
		WORKS(&r, files_write(&r.sb, in(&r, "old"), STR(""), &r.stop,
				      &r.err));
		holds(&r, "old", STR(""));
		{
			struct stat st;

			assert_int_equal(lstat(in(&r, "link"), &st), 0);
			assert_true(S_ISLNK(st.st_mode));
			assert_int_equal(stat(in(&r, "old"), &st), 0);
			assert_int_equal(st.st_mode & 07777, 0750);
		}
		FAILS(&r,
		      files_write(&r.sb, in(&r, "a"), STR("x"), &r.stop,
				  &r.err),
		      "is_directory");
		FAILS(&r,
		      files_write(&r.sb, in(&r, "old/x/y"), STR("x"), &r.stop,
				  &r.err),
		      "not_a_directory");
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
		WORKS(&r, files_write(&r.sb, in(&r, "f"), buf_str(&data),
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
		WORKS(&r, files_edit(&r.sb, in(&r, "two"), STR("b"), STR("c"),
				     false, &n, &r.stop, &r.err));
		holds(&r, "one", STR("a c"));
		WORKS(&r, files_write(&r.sb, in(&r, "one"), STR("z"), &r.stop,
				      &r.err));
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
		WORKS(&r, files_edit(&r.sb, in(&r, "link"), STR("one\ntwo"),
				     STR("1\n'2'%s\n"), false, &n, &r.stop,
				     &r.err));
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
		      files_edit(&r.sb, in(&r, "f"), STR("e"), STR("x"), false,
				 &n, &r.stop, &r.err),
		      "multiple_occurrences");
		assert_int_equal(n, 2);
		WORKS(&r, files_edit(&r.sb, in(&r, "f"), STR("e"), STR(""),
				     true, &n, &r.stop, &r.err));
		assert_int_equal(n, 2);
		FAILS(&r,
		      files_edit(&r.sb, in(&r, "f"), STR("zzz"), STR("x"),
				 false, &n, &r.stop, &r.err),
		      "string_not_found");
		holds(&r, "f", STR("1\r\n'2'%s\r\n \xe2\x82\xac\r\nthr"));
		FAILS(&r,
		      files_edit(&r.sb, in(&r, "no"), STR("a"), STR("b"), false,
				 &n, &r.stop, &r.err),
		      "file_not_found");
		FAILS(&r,
		      files_edit(&r.sb, r.dir, STR("a"), STR("b"), false, &n,
				 &r.stop, &r.err),
		      "not_a_file");
		put(&r, "bin", STR("a\xff"), 0644);
		FAILS(&r,
		      files_edit(&r.sb, in(&r, "bin"), STR("a"), STR("b"),
				 false, &n, &r.stop, &r.err),
		      "not_a_text_file");
		is_tidy(&r);
		leave(&r);
	}
}

static void reads(struct room *r, int64_t offset, int64_t limit,
		  struct files_page *page)
{
	int before = r->state.executes;

	WORKS(r, files_read(&r->sb, in(r, "f"), offset, limit, false, page,
			    &r->stop, &r->err));
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
		      files_read(&r.sb, in(&r, "f"), 5, 1, false, &page,
				 &r.stop, &r.err),
		      "Line offset 5 exceeds file length (5 lines)");
		reads(&r, 9, 0, &page);
		assert_true(page.no_lines);
		put(&r, "f", STR(""), 0644);
		reads(&r, 0, 0, &page);
		assert_false(page.no_lines);
		assert_int_equal(page.total_lines, 0);
		FAILS(&r,
		      files_read(&r.sb, in(&r, "no"), 0, 1, false, &page,
				 &r.stop, &r.err),
		      "file_not_found");
		FAILS(&r,
		      files_read(&r.sb, r.dir, 0, 1, false, &page, &r.stop,
				 &r.err),
		      "not_a_file");
		put(&r, "f", STR("a\xff\xff\n"), 0644);
		FAILS(&r,
		      files_read(&r.sb, in(&r, "f"), 0, 1, false, &page,
				 &r.stop, &r.err),
		      "not_a_text_file");
		WORKS(&r, files_read(&r.sb, in(&r, "f"), 0, 1, true, &page,
				     &r.stop, &r.err));
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
		      files_read(&r.sb, in(&r, "f"), 100001, 1, false, &page,
				 &r.stop, &r.err),
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
		      files_read(&r.sb, in(&r, "f"), 0, 1, true, &page, &r.stop,
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
		assert_int_equal(
			files_delete(&r.sb, in(&r, "d"), &r.stop, &r.err), 0);
		assert_int_equal(r.state.executes, 1);
		assert_int_equal(access(in(&r, "d"), F_OK), -1);
		assert_int_equal(
			files_delete(&r.sb, in(&r, "broken"), &r.stop, &r.err),
			0);
		FAILS(&r,
		      files_delete(&r.sb, in(&r, "broken"), &r.stop, &r.err),
		      "file_not_found");
		leave(&r);
	}
}

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
		files_glob(&r->sb, r->dir, pattern, &list, &r->stop, &r->err),
		0);
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
		FAILS(&r,
		      files_glob(&r.sb, r.dir, "../x", &list, &r.stop, &r.err),
		      "invalid_pattern");
		FAILS(&r,
		      files_glob(&r.sb, in(&r, "no"), "*", &list, &r.stop,
				 &r.err),
		      "path_not_found");
		FAILS(&r,
		      files_glob(&r.sb, in(&r, "a.py"), "*", &list, &r.stop,
				 &r.err),
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

	WORKS(r, files_grep(&r->sb, r->dir, pattern, glob, cap, list, &r->stop,
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
		      files_grep(&r.sb, r.dir, "x", "../*", 9, &list, &r.stop,
				 &r.err),
		      "invalid_pattern");
		FAILS(&r,
		      files_grep(&r.sb, in(&r, "no"), "x", NULL, 9, &list,
				 &r.stop, &r.err),
		      "path_not_found");
		WORKS(&r, files_grep(&r.sb, in(&r, "a.py"), "need", "*.md", 9,
				     &list, &r.stop, &r.err));
		assert_int_equal(list.n, 1);
		found(&r, &list, 0, "a.py", 1, "needle");
		files_matches_release(&list);
		leave(&r);
	}
}

/* As a user who may not do everything; root may. */
static struct shell_kind nobody = {
	.name = "nobody",
	.shell = { "/usr/bin/setpriv", "--reuid=65534", "--regid=65534",
		   "--clear-groups", "/bin/dash" },
	.path = "/usr/bin:/bin",
};

static void own(struct room *r, const char *name)
{
	assert_int_equal(lchown(in(r, name), 65534, 65534), 0);
}

/* What may not be read, listed, written, or entered. */
static void permissions_refuse(struct room *r)
{
	struct files_page page;
	struct files_names list;
	struct files_matches found_;
	int64_t n;

	put(r, "secret", STR("x"), 0600);
	put(r, "shown", STR("x y"), 0644);
	make_dir(r, "shut");
	put(r, "shut/f", STR("x"), 0644);
	assert_int_equal(chmod(in(r, "shut"), 0), 0);
	FAILS(r,
	      files_read(&r->sb, in(r, "secret"), 0, 1, false, &page, &r->stop,
			 &r->err),
	      "permission_denied");
	FAILS(r,
	      files_read(&r->sb, in(r, "shut/f"), 0, 1, false, &page, &r->stop,
			 &r->err),
	      "permission_denied");
	FAILS(r, files_ls(&r->sb, in(r, "shut"), &list, &r->stop, &r->err),
	      "permission_denied");
	FAILS(r,
	      files_grep(&r->sb, in(r, "shut"), "x", NULL, 9, &found_, &r->stop,
			 &r->err),
	      "permission_denied");
	FAILS(r,
	      files_write(&r->sb, in(r, "shown"), STR("z"), &r->stop, &r->err),
	      "permission_denied");
	FAILS(r,
	      files_edit(&r->sb, in(r, "shown"), STR("x"), STR("z"), false, &n,
			 &r->stop, &r->err),
	      "permission_denied");
	FAILS(r,
	      files_write(&r->sb, in(r, "shut/new/f"), STR("z"), &r->stop,
			  &r->err),
	      "permission_denied");
	holds(r, "shown", STR("x y"));
}

/* What may be written in place only. */
static void permissions_in_place(struct room *r)
{
	struct stat st;
	int64_t n;

	put(r, "theirs", STR("one"), 0666);
	WORKS(r, files_write(&r->sb, in(r, "theirs"), STR("two"), &r->stop,
			     &r->err));
	holds(r, "theirs", STR("two"));
	assert_int_equal(stat(in(r, "theirs"), &st), 0);
	assert_int_equal(st.st_uid, 0);
	make_dir(r, "fixed");
	put(r, "fixed/mine", STR("a b"), 0644);
	own(r, "fixed/mine");
	WORKS(r, files_edit(&r->sb, in(r, "fixed/mine"), STR("b"), STR("cc"),
			    false, &n, &r->stop, &r->err));
	holds(r, "fixed/mine", STR("a cc"));
	put(r, "ours", STR("x"), 0751);
	own(r, "ours");
	WORKS(r, files_write(&r->sb, in(r, "ours"), STR("new"), &r->stop,
			     &r->err));
	assert_int_equal(stat(in(r, "ours"), &st), 0);
	assert_int_equal(st.st_uid, 65534);
	assert_int_equal(st.st_mode & 07777, 0751);
}

static void permissions(void **arg)
{
	const struct sandbox_provider *const providers[] = { &shell_bytes,
							     &shell_text };

	(void)arg;
	if (geteuid() != 0) {
		print_message("  only root can become nobody\n");
		skip();
	}
	assert_int_equal(chmod(tools, 0755), 0);
	for (int i = 0; i < 2; i++) {
		struct room r;

		enter(&r, 0);
		r.host.provider = providers[i];
		r.state.kind = &nobody;
		nobody.mangle = i == 1;
		assert_int_equal(chown(r.dir, 65534, 65534), 0);
		permissions_refuse(&r);
		permissions_in_place(&r);
		is_tidy(&r);
		leave(&r);
	}
}

static void odd_files(void **arg)
{
	(void)arg;
	for (int k = 0; k < KINDS; k++) {
		struct files_page page;
		struct room r;

		enter(&r, k);
		assert_int_equal(mkfifo(in(&r, "fifo"), 0644), 0);
		FAILS(&r,
		      files_write(&r.sb, in(&r, "fifo"), STR("x"), &r.stop,
				  &r.err),
		      "not_a_file");
		FAILS(&r,
		      files_read(&r.sb, in(&r, "fifo"), 0, 1, false, &page,
				 &r.stop, &r.err),
		      "not_a_file");
		/* A file of /proc has no size and some content. */
		WORKS(&r, files_read(&r.sb, "/proc/version", 0, 1, false, &page,
				     &r.stop, &r.err));
		assert_true(page.text.len > 5);
		buf_release(&page.text);
		assert_int_equal(symlink("made", in(&r, "dangling")), 0);
		WORKS(&r, files_write(&r.sb, in(&r, "dangling"), STR("x"),
				      &r.stop, &r.err));
		holds(&r, "made", STR("x"));
		assert_int_equal(symlink("loop", in(&r, "loop")), 0);
		r.err = (struct error){ 0 };
		assert_int_equal(files_write(&r.sb, in(&r, "loop"), STR("x"),
					     &r.stop, &r.err),
				 -1);
		is_tidy(&r);
		leave(&r);
	}
}

static void change_once(void *arg, int n)
{
	if (n == 2)
		put(arg, "f", STR("one two three"), 0644);
}

static void change_always(void *arg, int n)
{
	char text[40];

	snprintf(text, sizeof(text), "one %d", n);
	put(arg, "f", str_of(text), 0644);
}

/* Without a dialog others may write between seeing and writing. */
static void edit_sees_changes(void **arg)
{
	(void)arg;
	for (int k = 0; k < KINDS; k++) {
		struct room r;
		int64_t n;

		if (!kinds[k].mangle)
			continue;
		enter(&r, k);
		put(&r, "f", STR("one two"), 0644);
		r.state.before = change_once;
		r.state.arg = &r;
		WORKS(&r, files_edit(&r.sb, in(&r, "f"), STR("one"), STR("1"),
				     false, &n, &r.stop, &r.err));
		holds(&r, "f", STR("1 two three"));
		assert_int_equal(r.state.executes, 4);
		r.state.before = change_always;
		FAILS(&r,
		      files_edit(&r.sb, in(&r, "f"), STR("one"), STR("1"),
				 false, &n, &r.stop, &r.err),
		      "changed");
		r.state.before = NULL;
		is_tidy(&r);
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
		struct room r;

		enter(&r, 0);
		tree(&r);
		kind.noise = slow;
		kind.mangle = i == 1;
		r.state.kind = &kind;
		r.host.provider = i ? &shell_text : &shell_bytes;
		r.state.hurry = 400;
		WORKS(&r,
		      files_glob(&r.sb, r.dir, "*.py", &list, &r.stop, &r.err));
		assert_true(list.incomplete);
		/* Text is encoded in blocks that may not have left yet. */
		assert_in_range(list.n, i ? 0 : 1, 6);
		files_names_release(&list);
		WORKS(&r, files_grep(&r.sb, r.dir, "needle", NULL, 9, &lines,
				     &r.stop, &r.err));
		assert_true(lines.incomplete);
		files_matches_release(&lines);
		r.err = (struct error){ 0 };
		kind.noise = "ls() { sleep 20; }; ";
		assert_int_equal(files_write(&r.sb, in(&r, "a.py"), STR("x"),
					     &r.stop, &r.err),
				 -1);
		assert_int_equal(r.err.code, ERR_TIMEOUT);
		leave(&r);
	}
}

/* Shells that are none. */
static void no_shell(void **arg)
{
	static const char *const programs[] = { "/bin/false", "/bin/echo",
						"/bin/true" };

	(void)arg;
	for (int i = 0; i < 6; i++) {
		struct shell_kind kind = { .name = "none",
					   .shell = { programs[i / 2] },
					   .path = "" };
		struct files_names list;
		struct room r;
		int64_t n;

		enter(&r, 0);
		r.state.kind = &kind;
		r.host.provider = i % 2 ? &shell_text : &shell_bytes;
		r.err = (struct error){ 0 };
		assert_int_equal(files_ls(&r.sb, "/", &list, &r.stop, &r.err),
				 -1);
		assert_int_equal(r.err.code, ERR_PROTOCOL);
		assert_non_null(
			strstr(r.err.message, "unexpected server response: "));
		r.err = (struct error){ 0 };
		assert_int_equal(files_edit(&r.sb, "/x", STR("a"), STR("b"),
					    false, &n, &r.stop, &r.err),
				 -1);
		assert_int_equal(r.err.code, ERR_PROTOCOL);
		leave(&r);
	}
}

struct bytes {
	struct buf data;
	size_t at;
};

static int64_t give(void *arg, char *room, size_t len, struct error *err)
{
	struct bytes *b = arg;

	(void)err;
	if (len > b->data.len - b->at)
		len = b->data.len - b->at;
	if (len)
		memcpy(room, b->data.ptr + b->at, len);
	b->at += len;
	return (int64_t)len;
}

static int accept_bytes(void *arg, struct str chunk, struct error *err)
{
	struct bytes *b = arg;

	(void)err;
	buf_addstr(&b->data, chunk);
	return 0;
}

static void transfers(void **arg)
{
	(void)arg;
	for (int k = 0; k < KINDS; k++) {
		struct bytes up = { .data = BUF_INIT(1 << 20) };
		struct bytes down[4] = { 0 };
		struct transfer in_[4] = { 0 };
		char *paths[4];
		struct room r;

		enter(&r, k);
		for (int i = 0; i < 200000; i++)
			buf_addc(&up.data, (char)((i % 1000) * i % 253));
		paths[0] = xstrdup(in(&r, "new/deep/f"));
		paths[1] = xstrdup("relative");
		paths[2] = xstrdup(r.dir);
		paths[3] = xstrdup(in(&r, "new/empty"));
		for (int i = 0; i < 4; i++)
			in_[i] = (struct transfer){ .path = paths[i],
						    .size = i ? 0 : 200000,
						    .mode = 0751,
						    .read = give,
						    .arg = &up };
		WORKS(&r, sandbox_upload(&r.sb, in_, 4, &r.stop, &r.err));
		assert_int_equal(in_[0].error, FILE_OK);
		assert_int_equal(in_[1].error, FILE_INVALID_PATH);
		assert_int_equal(in_[2].error, FILE_IS_DIRECTORY);
		assert_int_equal(in_[3].error, FILE_OK);
		holds(&r, "new/deep/f", buf_str(&up.data));
		{
			struct stat st;

			assert_int_equal(stat(paths[0], &st), 0);
			assert_int_equal(st.st_mode & 07777, 0751);
		}
		assert_in_range(r.state.longest, 1, shell_text.max_command);
		free(paths[1]);
		paths[1] = xstrdup(in(&r, "missing"));
		for (int i = 0; i < 4; i++) {
			down[i].data = BUF_INIT(1 << 20);
			in_[i] = (struct transfer){ .path = paths[i],
						    .write = accept_bytes,
						    .arg = &down[i] };
		}
		assert_int_equal(
			sandbox_download(&r.sb, in_, 4, &r.stop, &r.err), 0);
		assert_int_equal(in_[0].error, FILE_OK);
		assert_int_equal(in_[1].error, FILE_NOT_FOUND);
		assert_int_equal(in_[2].error, FILE_IS_DIRECTORY);
		assert_int_equal(in_[3].error, FILE_OK);
		assert_int_equal(down[0].data.len, up.data.len);
		assert_memory_equal(down[0].data.ptr, up.data.ptr, up.data.len);
		assert_int_equal(down[3].data.len, 0);
		for (int i = 0; i < 4; i++) {
			buf_release(&down[i].data);
			free(paths[i]);
		}
		buf_release(&up.data);
		is_tidy(&r);
		leave(&r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ls_lists),
		cmocka_unit_test(read_reads),
		cmocka_unit_test(read_is_large),
		cmocka_unit_test(write_writes),
		cmocka_unit_test(write_is_large),
		cmocka_unit_test(links_stay),
		cmocka_unit_test(edit_edits),
		cmocka_unit_test(delete_deletes),
		cmocka_unit_test(glob_finds),
		cmocka_unit_test(grep_finds),
		cmocka_unit_test(transfers),
		cmocka_unit_test(permissions),
		cmocka_unit_test(odd_files),
		cmocka_unit_test(edit_sees_changes),
		cmocka_unit_test(time_is_up),
		cmocka_unit_test(no_shell),
	};

	return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
