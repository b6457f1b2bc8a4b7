/* files_target_test.c - links are resolved once, and not followed after. */
/* SPDX-License-Identifier: MIT */
#include "files_calls.h"
#include "files_room.h"

static const char *at(struct room *r, const struct files_target *t)
{
	size_t len = strlen(r->dir);

	if (strncmp(t->real, r->dir, len) != 0)
		return t->real;
	return t->real + len + (t->real[len] == '/');
}

static void leads(struct room *r, const char *name, unsigned how,
		  const char *real, int kind)
{
	struct files_target t;

	WORKS(r,
	      files_resolve(&r->sb, in(r, name), how, &t, &r->stop, &r->err));
	assert_string_equal(at(r, &t), real);
	assert_string_equal(t.workdir, r->sb.workdir);
	assert_int_equal(t.kind, kind);
	files_target_release(&t);
}

static void refuses(struct room *r, const char *name, const char *why)
{
	struct files_target t;

	FAILS(r, files_resolve(&r->sb, in(r, name), 0, &t, &r->stop, &r->err),
	      why);
	files_target_release(&t);
}

static void make_links(struct room *r)
{
	make_dir(r, "d");
	make_dir(r, "d/e");
	put(r, "d/f", STR("x"), 0644);
	assert_int_equal(symlink("d/f", in(r, "file")), 0);
	assert_int_equal(symlink("d/e", in(r, "dir")), 0);
	assert_int_equal(symlink("dir/../new", in(r, "up")), 0);
	assert_int_equal(symlink("nowhere/x", in(r, "dangling")), 0);
	assert_int_equal(symlink("gone/../../x", in(r, "climbs")), 0);
	assert_int_equal(symlink("/etc/passwd", in(r, "out")), 0);
	assert_int_equal(symlink("round", in(r, "round")), 0);
}

static void links_are_resolved(void **arg)
{
	(void)arg;
	for (int k = 0; k < KINDS; k++) {
		struct room r;

		enter(&r, k);
		r.sb.workdir = r.dir;
		make_links(&r);
		leads(&r, "d/f", 0, "d/f", TARGET_FILE);
		leads(&r, "file", 0, "d/f", TARGET_FILE);
		leads(&r, "file", RESOLVE_SELF, "file", TARGET_LINK);
		leads(&r, "dir", RESOLVE_SELF, "dir", TARGET_LINK);
		leads(&r, "dir", 0, "d/e", TARGET_DIR);
		leads(&r, "dir/n", 0, "d/e/n", TARGET_NONE);
		leads(&r, "dir/a/b\n", 0, "d/e/a/b\n", TARGET_NONE);
		/* "dir/.." is d, whatever a shell's cd thinks. */
		leads(&r, "up", 0, "d/new", TARGET_NONE);
		leads(&r, "dangling", 0, "nowhere/x", TARGET_NONE);
		leads(&r, "out", 0, "/etc/passwd", TARGET_FILE);
		refuses(&r, "round", "link_loop");
		refuses(&r, "climbs", "path_not_found");
		refuses(&r, "d/f/x", "not_a_directory");
		refuses(&r, "dangling/x", "not_a_directory");
		leave(&r);
	}
}

static void repositories_are_known_by_their_contents(void **arg)
{
	struct files_target t;
	struct room r;

	(void)arg;
	enter(&r, 0);
	r.sb.workdir = r.dir;
	make_dir(&r, "data");
	make_dir(&r, "data/objects");
	make_dir(&r, "data/hooks");
	put(&r, "data/HEAD", STR("ref: refs/heads/main\n"), 0644);
	for (int i = 0; i < 2; i++) {
		WORKS(&r, files_resolve(&r.sb, in(&r, "data/hooks/x"), 0, &t,
					&r.stop, &r.err));
		assert_int_equal(t.git, i);
		files_target_release(&t);
		if (!i)
			make_dir(&r, "data/refs");
	}
	leave(&r);
}

static void what_a_directory_holds_is_listed(void **arg)
{
	struct files_target t;
	struct room r;

	(void)arg;
	enter(&r, 0);
	r.sb.workdir = r.dir;
	make_dir(&r, "d");
	make_dir(&r, "d/.git");
	WORKS(&r, files_resolve(&r.sb, in(&r, "d"), RESOLVE_BELOW, &t, &r.stop,
				&r.err));
	assert_string_equal(t.below.ptr, ".\n./.git\n");
	files_target_release(&t);
	leave(&r);
}

/* What was resolved is acted on, or nothing: a link that came since then is
 * not followed. */
static void exact_paths_follow_no_link(void **arg)
{
	(void)arg;
	for (int k = 0; k < KINDS; k++) {
		struct room r;
		int64_t n;

		enter(&r, k);
		r.sb.workdir = r.dir;
		make_links(&r);
		FAILS(&r,
		      files_write(&r.sb, in(&r, "file"), true, STR("y"),
				  &r.stop, &r.err),
		      "path_changed");
		FAILS(&r,
		      files_write(&r.sb, in(&r, "dir/n"), true, STR("y"),
				  &r.stop, &r.err),
		      "path_changed");
		FAILS(&r,
		      files_delete(&r.sb, in(&r, "dir/n"), true, &r.stop,
				   &r.err),
		      "path_changed");
		FAILS(&r,
		      files_edit(&r.sb,
				 &(struct files_replacement){
					 in(&r, "file"), STR("x"), STR("y"),
					 false, true, NULL, NULL, NULL },
				 &n, &r.stop, &r.err),
		      "path_changed");
		holds(&r, "d/f", STR("x"));
		WORKS(&r, files_write(&r.sb, in(&r, "d/f"), true, STR("y"),
				      &r.stop, &r.err));
		holds(&r, "d/f", STR("y"));
		WORKS(&r, files_write(&r.sb, in(&r, "d/new/f"), true, STR("z"),
				      &r.stop, &r.err));
		holds(&r, "d/new/f", STR("z"));
		WORKS(&r, files_delete(&r.sb, in(&r, "file"), true, &r.stop,
				       &r.err));
		holds(&r, "d/f", STR("y"));
		is_tidy(&r);
		leave(&r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(links_are_resolved),
		cmocka_unit_test(repositories_are_known_by_their_contents),
		cmocka_unit_test(what_a_directory_holds_is_listed),
		cmocka_unit_test(exact_paths_follow_no_link),
	};

	return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
