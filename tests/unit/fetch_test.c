/* fetch_test.c - what a sandbox changed becomes a commit, and no more. */
/* SPDX-License-Identifier: MIT */
#include <sys/stat.h>

#include "base/path.h"
#include "fetch_tree.h"

static void changes_become_a_commit_on_the_base(void **arg)
{
	(void)arg;
	for (int k = kind_first(); k < KINDS; k += kind_step()) {
		struct tree t;
		const struct str bytes = STR("\0\r\nnew\xff");

		begin(&t, k);
		fetch(&t);
		assert_true(t.f.same);
		assert_string_equal(t.f.theirs, t.w.base);
		put(&t.room, "a", bytes, 0755);
		put(&t.room, "n w", STR("new"), 0644);
		put(&t.room, "twin", STR("same bytes"), 0644);
		assert_int_equal(unlink(in(&t.room, "run")), 0);
		assert_int_equal(symlink("a", in(&t.room, "run")), 0);
		assert_int_equal(unlink(in(&t.room, "src/x")), 0);
		put(&t.room, "x.o", STR("object"), 0644);
		put(&t.room, "x.log", STR("log"), 0644);
		fetch(&t);
		assert_false(t.f.same);
		differs(&t, "M	a|A	n w|T	run|D	src/x|A	"
			    "twin|");
		contains(&t, "a", bytes);
		contains(&t, "run", STR("a"));
		assert_int_equal(t.f.ignored, 2);
		assert_int_equal(t.f.n_refused + t.f.n_left, 0);
		end(&t);
	}
}

static void an_undone_change_is_no_change(void **arg)
{
	(void)arg;
	for (int k = kind_first(); k < KINDS; k += kind_step()) {
		struct tree t;

		begin(&t, k);
		put(&t.room, "run", STR("other"), 0755);
		fetch(&t);
		assert_false(t.f.same);
		put(&t.room, "run", STR("#!/bin/sh\n"), 0755);
		fetch(&t);
		assert_true(t.f.same);
		differs(&t, "");
		end(&t);
	}
}

static void hard_links_and_named_ignored_files_come(void **arg)
{
	static const char *const include[] = { "*.o" };

	(void)arg;
	for (int k = kind_first(); k < KINDS; k += kind_step()) {
		struct tree t;
		char *one;

		begin(&t, k);
		put(&t.room, "one", STR("linked"), 0644);
		one = xstrdup(in(&t.room, "one"));
		assert_int_equal(link(one, in(&t.room, "two")), 0);
		put(&t.room, "x.o", STR("object"), 0644);
		put(&t.room, "x.log", STR("log"), 0644);
		t.request.include = include;
		t.request.n_include = 1;
		fetch(&t);
		differs(&t, "A	one|A	two|A	x.o|");
		contains(&t, "one", STR("linked"));
		contains(&t, "two", STR("linked"));
		assert_int_equal(t.f.ignored, 1);
		free(one);
		end(&t);
	}
}

static void new_ignore_files_count_at_once(void **arg)
{
	(void)arg;
	for (int k = kind_first(); k < KINDS; k += kind_step()) {
		struct tree t;

		begin(&t, k);
		make_dir(&t.room, "venv");
		make_dir(&t.room, "venv/lib");
		make_dir(&t.room, "sub");
		put(&t.room, "venv/.gitignore", STR("*\n"), 0644);
		put(&t.room, "venv/lib/x", STR("x"), 0644);
		put(&t.room, "sub/.gitignore", STR("*.tmp\n!b.tmp\n"), 0644);
		put(&t.room, "sub/a.tmp", STR("a"), 0644);
		put(&t.room, "sub/b.tmp", STR("b"), 0644);
		put(&t.room, "a.tmp", STR("not of sub"), 0644);
		fetch(&t);
		differs(&t, "A	a.tmp|A	sub/.gitignore|A	"
			    "sub/b.tmp|");
		assert_int_equal(t.f.ignored, 3);
		assert_int_equal(t.f.n_refused + t.f.n_left, 0);
		end(&t);
	}
}

static void what_no_tree_can_hold_is_named(void **arg)
{
	(void)arg;
	for (int k = kind_first(); k < KINDS; k += kind_step()) {
		struct tree t;

		begin(&t, k);
		t.request.file_max = 100;
		put(&t.room, "core", STR(""), 0644);
		assert_int_equal(truncate(in(&t.room, "core"), 5000), 0);
		put(&t.room, "a", STR(""), 0644);
		assert_int_equal(truncate(in(&t.room, "a"), 5000), 0);
		assert_int_equal(mkfifo(in(&t.room, "fifo"), 0644), 0);
		put(&t.room, "run", STR("new"), 0755);
		assert_int_equal(chmod(in(&t.room, "run"), 04755), 0);
		make_dir(&t.room, ".GIT");
		put(&t.room, ".GIT/config", STR("x"), 0644);
		assert_int_equal(symlink("/etc", in(&t.room, "out")), 0);
		put(&t.room, "ok", STR("fine"), 0644);
		fetch(&t);
		differs(&t, "A	ok|");
		names(&t, "core", "is larger than allowed");
		names(&t, "a", "is larger than allowed");
		names(&t, "fifo", "is a pipe, a socket or a device");
		refuses(&t, "run", "has the setuid, setgid or sticky bit");
		refuses(&t, ".GIT/config", "is inside .git");
		refuses(&t, "out",
			"is a link that leads out of the working tree");
		assert_int_equal(t.f.n_left, 3); /* each once */
		end(&t);
	}
}

static void put_zeros(struct tree *t, const char *name, off_t size)
{
	put(&t->room, name, STR(""), 0644);
	assert_int_equal(truncate(in(&t->room, name), size), 0);
}

static void begin_large(struct tree *t, int kind, int64_t total_max)
{
	static const char *const large[] = { "b\n\xff", "b0", "b1",
					     "b2",      "b3", "b4" };

	begin(t, kind);
	t->request.small_first = true;
	t->request.file_max = 300 << 10;
	t->request.total_max = total_max;
	put(&t->room, "s", STR("small"), 0644);
	assert_int_equal(unlink(in(&t->room, "a")), 0);
	put_zeros(t, "huge", 400 << 10);
	for (size_t i = 0; i < sizeof(large) / sizeof(*large); i++)
		put_zeros(t, large[i], 200 << 10);
	fetch(t);
}

/* The first answer is to be no larger than 1 MiB, so 64 KiB a file. */
static void small_files_come_first_and_large_ones_as_they_fit(void **arg)
{
	(void)arg;
	for (int k = kind_first(); k < KINDS; k += kind_step()) {
		struct tree t;
		char oid[GIT_OID];

		begin_large(&t, k, 1 << 20);
		differs(&t, "D	a|A	s|");
		assert_int_equal(t.f.n_later, 6);
		names(&t, "huge", "is larger than allowed");
		WORKS(&t.room, fetch_later(&t.w, &t.request, &t.f, &t.room.stop,
					   &t.room.err));
		differs(&t, "D	a|A	\"b\\n\\377\"|A	b0|A	b1|A	"
			    "b2|A	b3|A	s|");
		assert_int_equal(t.f.n_later, 0);
		names(&t, "b4", "does not fit into [workspace] fetch_mb");
		assert_int_equal(t.f.left[1].size, 200 << 10);
		WORKS(&t.room, odb_ref_get(&t.w.git, t.w.theirs_ref, oid,
					   &t.room.stop, &t.room.err));
		assert_string_equal(oid, t.f.theirs);
		end(&t);
	}
}

static void what_came_stays_when_the_time_for_large_files_is_over(void **arg)
{
	(void)arg;
	for (int k = kind_first(); k < KINDS; k += kind_step()) {
		const struct stop over = stop_cleanup(0);
		struct tree t;

		begin_large(&t, k, 1 << 20);
		assert_int_equal(
			fetch_later(&t.w, &t.request, &t.f, &over, &t.room.err),
			-1);
		assert_int_equal(t.room.err.code, ERR_TIMEOUT);
		differs(&t, "D	a|A	s|");
		names(&t, "b4", FETCH_NO_TIME);
		end(&t);
		begin_large(&t, k, 4 << 20); /* all fits the first answer */
		assert_int_equal(t.f.n_later, 0);
		assert_int_equal(t.f.n_left, 1);
		end(&t);
	}
}

/* HEAD, objects and refs in a directory of the sandbox. */
static void put_repository(struct tree *t, const char *where)
{
	static const char *const parts[] = { "", "/objects", "/refs" };
	char *name;

	for (size_t i = 0; i < 3; i++) {
		name = xasprintf("%s%s", where, parts[i]);
		make_dir(&t->room, name);
		free(name);
		name = xasprintf("%s%s/%s", where, parts[i], i ? "x" : "HEAD");
		put(&t->room, name, STR("ref: refs/heads/main\n"), 0644);
		free(name);
	}
}

/* HEAD and objects in a directory of the user's. */
static void put_on_disk(const char *root, const char *where)
{
	static const char *const parts[] = { "", "/HEAD", "/objects" };

	for (size_t i = 0; i < 3; i++) {
		char *name = xasprintf("%s/%s%s", root, where, parts[i]);
		struct error err = { 0 };

		assert_int_equal(i == 1 ? path_write(name, STR("x"), 0600, &err)
					: mkdir(name, 0700),
				 0);
		free(name);
	}
}

static const char inside[] =
	"is inside a directory that git treats as a repository, whose config "
	"can run commands";

static void a_bare_repository_of_the_sandbox_is_refused_by_name(void **arg)
{
	(void)arg;
	for (int k = kind_first(); k < KINDS; k += kind_step()) {
		struct tree t;

		begin(&t, k);
		put_repository(&t, "emb");
		put(&t.room, "emb/config", STR("[core]\n"), 0644);
		make_dir(&t.room, "half"); /* the control: no refs */
		make_dir(&t.room, "half/objects");
		put(&t.room, "half/HEAD", STR("x"), 0644);
		put(&t.room, "half/objects/x", STR("x"), 0644);
		make_dir(&t.room, "odd");
		put(&t.room, "odd/head", STR("x"), 0644);
		put(&t.room, "odd/CommonDir", STR("x"), 0644);
		put(&t.room, "a", STR("new"), 0644);
		fetch(&t);
		differs(&t, "M	a|A	half/HEAD|A	half/objects/x|");
		refuses(&t, "emb/HEAD", inside);
		refuses(&t, "emb/config", inside);
		refuses(&t, "emb/objects/x", inside);
		refuses(&t, "odd/head", inside);
		assert_int_equal(t.f.n_refused, 6);
		end(&t);
	}
}

static void the_missing_part_of_a_repository_is_refused(void **arg)
{
	(void)arg;
	for (int k = kind_first(); k < KINDS; k += kind_step()) {
		struct tree t;
		char *user;

		begin(&t, k);
		user = xasprintf("%s/user", t.state);
		assert_int_equal(mkdir(user, 0700), 0);
		free(t.w.root);
		t.w.root = user;
		make_dir(&t.room, "src/refs");
		put(&t.room, "src/refs/x", STR("x"), 0644);
		put(&t.room, "src/x", STR("new"), 0644);
		fetch(&t); /* the control */
		differs(&t, "A	src/refs/x|M	src/x|");
		put_on_disk(user, "src");
		fetch(&t);
		assert_true(t.f.same);
		refuses(&t, "src/refs/x", inside);
		refuses(&t, "src/x", inside);
		end(&t);
	}
}

static void a_repository_in_the_base_stays_as_it_is(void **arg)
{
	(void)arg;
	for (int k = kind_first(); k < KINDS; k += kind_step()) {
		struct tree t;

		begin(&t, k);
		put_repository(&t, "emb");
		assert_int_equal(unlink(in(&t.room, "emb/HEAD")), 0);
		fetch(&t);
		differs(&t, "A	emb/objects/x|A	emb/refs/x|");
		WORKS(&t.room, workspace_set_base(&t.w, t.f.theirs,
						  &t.room.stop, &t.room.err));
		put(&t.room, "emb/HEAD", STR("x"), 0644);
		assert_int_equal(unlink(in(&t.room, "emb/refs/x")), 0);
		put(&t.room, "emb/objects/x", STR("new"), 0644);
		fetch(&t);
		assert_true(t.f.same);
		refuses(&t, "emb/HEAD", inside);
		refuses(&t, "emb/refs/x", inside);
		refuses(&t, "emb/objects/x", inside);
		end(&t);
	}
}

static void a_large_part_of_a_repository_is_refused_later(void **arg)
{
	(void)arg;
	for (int k = kind_first(); k < KINDS; k += kind_step()) {
		struct tree t;

		begin(&t, k);
		t.request.small_first = true;
		put_repository(&t, "emb");
		put_zeros(&t, "emb/objects/x", 100 << 10);
		put_zeros(&t, "emb/HEAD", 900 << 10);
		put_zeros(&t, "big", 900 << 10);
		put_zeros(&t, "big2", 900 << 10);
		fetch(&t);
		WORKS(&t.room, fetch_later(&t.w, &t.request, &t.f, &t.room.stop,
					   &t.room.err));
		differs(&t, "A	big|A	big2|");
		refuses(&t, "emb/HEAD", inside);
		refuses(&t, "emb/refs/x", inside);
		end(&t);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(changes_become_a_commit_on_the_base),
		cmocka_unit_test(an_undone_change_is_no_change),
		cmocka_unit_test(hard_links_and_named_ignored_files_come),
		cmocka_unit_test(new_ignore_files_count_at_once),
		cmocka_unit_test(
			small_files_come_first_and_large_ones_as_they_fit),
		cmocka_unit_test(
			what_came_stays_when_the_time_for_large_files_is_over),
		cmocka_unit_test(what_no_tree_can_hold_is_named),
		cmocka_unit_test(
			a_bare_repository_of_the_sandbox_is_refused_by_name),
		cmocka_unit_test(the_missing_part_of_a_repository_is_refused),
		cmocka_unit_test(a_repository_in_the_base_stays_as_it_is),
		cmocka_unit_test(a_large_part_of_a_repository_is_refused_later),
	};

	return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
