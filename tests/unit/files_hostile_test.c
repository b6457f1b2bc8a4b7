/* files_hostile_test.c - what may not be done, odd files, no shell at all. */
/* SPDX-License-Identifier: MIT */
#include "files_calls.h"
#include "files_room.h"

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
	      READ(&r->sb, in(r, "secret"), 0, 1, false, &page, &r->stop,
		   &r->err),
	      "permission_denied");
	FAILS(r,
	      READ(&r->sb, in(r, "shut/f"), 0, 1, false, &page, &r->stop,
		   &r->err),
	      "permission_denied");
	FAILS(r, files_ls(&r->sb, in(r, "shut"), &list, &r->stop, &r->err),
	      "permission_denied");
	FAILS(r,
	      GREP(&r->sb, in(r, "shut"), "x", NULL, 9, &found_, &r->stop,
		   &r->err),
	      "permission_denied");
	FAILS(r,
	      files_write(&r->sb, in(r, "shown"), false, STR("z"), &r->stop,
			  &r->err),
	      "permission_denied");
	FAILS(r,
	      EDIT(&r->sb, in(r, "shown"), STR("x"), STR("z"), false, &n,
		   &r->stop, &r->err),
	      "permission_denied");
	FAILS(r,
	      files_write(&r->sb, in(r, "shut/new/f"), false, STR("z"),
			  &r->stop, &r->err),
	      "permission_denied");
	holds(r, "shown", STR("x y"));
}

/* What may be written in place only. */
static void permissions_in_place(struct room *r)
{
	struct stat st;
	int64_t n;

	put(r, "theirs", STR("one"), 0666);
	WORKS(r, files_write(&r->sb, in(r, "theirs"), false, STR("two"),
			     &r->stop, &r->err));
	holds(r, "theirs", STR("two"));
	assert_int_equal(stat(in(r, "theirs"), &st), 0);
	assert_int_equal(st.st_uid, 0);
	make_dir(r, "fixed");
	put(r, "fixed/mine", STR("a b"), 0644);
	own(r, "fixed/mine");
	WORKS(r, EDIT(&r->sb, in(r, "fixed/mine"), STR("b"), STR("cc"), false,
		      &n, &r->stop, &r->err));
	holds(r, "fixed/mine", STR("a cc"));
	put(r, "ours", STR("x"), 0751);
	own(r, "ours");
	WORKS(r, files_write(&r->sb, in(r, "ours"), false, STR("new"), &r->stop,
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
	assert_int_equal(chmod(tools, 0755), 0);
	for (int i = 0; i < 2; i++) {
		struct room r;

		enter(&r, 0);
		r.client.provider = providers[i];
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
		      files_write(&r.sb, in(&r, "fifo"), false, STR("x"),
				  &r.stop, &r.err),
		      "not_a_file");
		FAILS(&r,
		      READ(&r.sb, in(&r, "fifo"), 0, 1, false, &page, &r.stop,
			   &r.err),
		      "not_a_file");
		/* A file of /proc has no size and some content. */
		WORKS(&r, READ(&r.sb, "/proc/version", 0, 1, false, &page,
			       &r.stop, &r.err));
		assert_true(page.text.len > 5);
		buf_release(&page.text);
		assert_int_equal(symlink("made", in(&r, "dangling")), 0);
		WORKS(&r, files_write(&r.sb, in(&r, "dangling"), false,
				      STR("x"), &r.stop, &r.err));
		holds(&r, "made", STR("x"));
		assert_int_equal(symlink("loop", in(&r, "loop")), 0);
		r.err = (struct error){ 0 };
		assert_int_equal(files_write(&r.sb, in(&r, "loop"), false,
					     STR("x"), &r.stop, &r.err),
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
		WORKS(&r, EDIT(&r.sb, in(&r, "f"), STR("one"), STR("1"), false,
			       &n, &r.stop, &r.err));
		holds(&r, "f", STR("1 two three"));
		assert_int_equal(r.state.executes, 4);
		r.state.before = change_always;
		FAILS(&r,
		      EDIT(&r.sb, in(&r, "f"), STR("one"), STR("1"), false, &n,
			   &r.stop, &r.err),
		      "changed");
		r.state.before = NULL;
		is_tidy(&r);
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
		r.client.provider = i % 2 ? &shell_text : &shell_bytes;
		r.err = (struct error){ 0 };
		assert_int_equal(files_ls(&r.sb, "/", &list, &r.stop, &r.err),
				 -1);
		assert_int_equal(r.err.code, ERR_PROTOCOL);
		assert_non_null(
			strstr(r.err.message, "unexpected server response: "));
		r.err = (struct error){ 0 };
		assert_int_equal(EDIT(&r.sb, "/x", STR("a"), STR("b"), false,
				      &n, &r.stop, &r.err),
				 -1);
		assert_int_equal(r.err.code, ERR_PROTOCOL);
		leave(&r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(odd_files),
		cmocka_unit_test(edit_sees_changes),
		cmocka_unit_test(no_shell),
	};
	const struct CMUnitTest of_root[] = { cmocka_unit_test(permissions) };
	int failed = 0;

	if (geteuid() == 0) /* only root can become nobody */
		failed = cmocka_run_group_tests(of_root, group_setup,
						group_teardown);
	return failed +
	       cmocka_run_group_tests(tests, group_setup, group_teardown);
}
