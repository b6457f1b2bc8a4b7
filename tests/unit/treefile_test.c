/* treefile_test.c - writes below a root: what must not happen. */
/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/path.h"
#include "base/str.h"
#include "unit.h"
#include "worktree/treefile.h"

struct room {
	char top[64];
	int root;
	struct treefile from, to;
	struct treefile_write w;
	struct error err;
};

static void write_text(const struct room *r, const char *name, const char *text)
{
	char *path = path_join(r->top, name);
	struct error err = { 0 };

	assert_int_equal(path_write(path, str_of(text), 0644, &err), 0);
	free(path);
}

static bool holds(const struct room *r, const char *name, const char *text)
{
	char *path = path_join(r->top, name);
	struct buf out = BUF_INIT(1000);
	struct error err = { 0 };
	bool same =
		path_read(path, &out, &err) == 0 && str_is(buf_str(&out), text);

	free(path);
	buf_release(&out);
	return same;
}

/* d/a shall become what new holds. */
static void open_room(struct room *r)
{
	char *path;

	*r = (struct room){ .top = "/tmp/dcode-treefile-XXXXXX" };
	assert_non_null(mkdtemp(r->top));
	r->root = open(r->top, O_RDONLY | O_DIRECTORY);
	assert_int_equal(mkdirat(r->root, "d", 0755), 0);
	write_text(r, "d/a", "old\n");
	write_text(r, "new", "new\n");
	assert_int_equal(treefile_stat(r->root, "d/a", &r->from, &r->err), 0);
	assert_int_equal(treefile_stat(r->root, "new", &r->to, &r->err), 0);
	r->to.mtime.tv_nsec = UTIME_OMIT;
	path = path_join(r->top, "new");
	r->w = (struct treefile_write){ .root = r->root,
					.path = "d/a",
					.from = &r->from,
					.to = &r->to,
					.source = open(path, O_RDONLY),
					.token = "t" };
	free(path);
}

static int put(const struct treefile_write *w, struct error *err)
{
	if (treefile_stage(w, err) < 0 || treefile_sync(w, err) < 0)
		return -1;
	return treefile_put(w, err);
}

static void close_room(struct room *r)
{
	struct error err = { 0 };

	close(r->root);
	close(r->w.source);
	assert_int_equal(path_remove_tree(r->top, &err), 0);
}

/* Root gives it to whom it was of before, as an editor does. */
static void a_file_that_is_replaced_keeps_its_owner(void **arg)
{
	bool root = geteuid() == 0;
	uid_t owner = root ? 12345 : geteuid();
	gid_t group = root ? 54321 : getegid();
	struct stat st;
	struct room r;

	(void)arg;
	open_room(&r);
	assert_int_equal(fchownat(r.root, "d/a", owner, group, 0), 0);
	assert_int_equal(fchmodat(r.root, "d/a", 0640, 0), 0);
	r.to.perm = 0640;
	assert_int_equal(put(&r.w, &r.err), 0);
	assert_true(holds(&r, "d/a", "new\n"));
	assert_int_equal(fstatat(r.root, "d/a", &st, 0), 0);
	assert_int_equal(st.st_uid, owner);
	assert_int_equal(st.st_gid, group);
	assert_int_equal(st.st_mode & 07777, 0640);
	close_room(&r);
}

static void a_file_that_is_as_expected_is_replaced(void **arg)
{
	struct room r;

	(void)arg;
	open_room(&r);
	assert_int_equal(put(&r.w, &r.err), 0);
	assert_true(holds(&r, "d/a", "new\n"));
	assert_int_not_equal(faccessat(r.root, "d/.dcode-t.swap", F_OK, 0), 0);
	close_room(&r);
}

static void a_file_that_was_changed_stays(void **arg)
{
	struct room r;

	(void)arg;
	open_room(&r);
	write_text(&r, "d/a", "mine\n");
	assert_int_equal(put(&r.w, &r.err), -1);
	assert_int_equal(r.err.code, ERR_BUSY);
	assert_int_equal(treefile_remove(&r.w, &r.err), -1);
	assert_true(holds(&r, "d/a", "mine\n"));
	r.from = (struct treefile){ 0 }; /* nothing was expected there */
	assert_int_equal(put(&r.w, &r.err), -1);
	assert_true(holds(&r, "d/a", "mine\n"));
	close_room(&r);
}

static void a_directory_that_is_a_link_leads_nowhere(void **arg)
{
	struct treefile t;
	struct room r;

	(void)arg;
	open_room(&r);
	assert_int_equal(renameat(r.root, "d", r.root, "elsewhere"), 0);
	assert_int_equal(symlinkat("elsewhere", r.root, "d"), 0);
	assert_int_equal(put(&r.w, &r.err), -1);
	assert_int_equal(treefile_remove(&r.w, &r.err), -1);
	assert_int_equal(treefile_mkdir(r.root, "d/x", 0755, &r.err), -1);
	assert_true(holds(&r, "elsewhere/a", "old\n"));
	assert_int_equal(treefile_stat(r.root, "d/a", &t, &r.err), 0);
	assert_int_equal(t.mode, TREEFILE_BLOCKED);
	close_room(&r);
}

static void what_was_displaced_in_a_crash_is_put_back(void **arg)
{
	struct room r;
	bool saved;

	(void)arg;
	open_room(&r);
	write_text(&r, "d/a", "new\n");
	write_text(&r, "d/.dcode-t.swap", "typed meanwhile\n");
	write_text(&r, "d/.dcode-t.new", "half");
	assert_int_equal(treefile_clean(&r.w, &saved, &r.err), 0);
	assert_false(saved);
	assert_true(holds(&r, "d/a", "typed meanwhile\n"));
	assert_int_not_equal(faccessat(r.root, "d/.dcode-t.new", F_OK, 0), 0);
	write_text(&r, "d/.dcode-t.swap", "another\n");
	assert_int_equal(treefile_clean(&r.w, &saved, &r.err), 0);
	assert_true(saved);
	assert_true(holds(&r, "d/a.saved-t", "another\n"));
	assert_true(holds(&r, "d/a", "typed meanwhile\n"));
	close_room(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_that_is_as_expected_is_replaced),
		cmocka_unit_test(a_file_that_is_replaced_keeps_its_owner),
		cmocka_unit_test(a_file_that_was_changed_stays),
		cmocka_unit_test(a_directory_that_is_a_link_leads_nowhere),
		cmocka_unit_test(what_was_displaced_in_a_crash_is_put_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
