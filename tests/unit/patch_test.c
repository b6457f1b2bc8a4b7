/* patch_test.c - changes are saved as a patch, and named where they matter. */
/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/ids.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "commit_files.h"
#include "unit.h"
#include "worktree/patch.h"

#define THREAD "0198c0de-0000-7000-8000-000000000001"

struct room {
	char top[64];
	struct workspace w;
	struct fetch f;
	struct patch_save save;
	char *directory;
	struct stop stop;
	struct error err;
};

#define WORKS(r, call)                                                         \
	do {                                                                   \
		(r)->err = (struct error){ 0 };                                \
		if (call)                                                      \
			fail_msg("%s", (r)->err.message);                      \
	} while (0)

/* One file on top of parent. */
static void commit(struct room *r, const char *ref, const char *parent,
		   const char *path, struct str bytes, char oid[GIT_OID])
{
	const struct odb_commit_info info = { .ref = ref,
					      .parent = parent,
					      .message = "one\n" };
	struct commit_file file = { str_of(path), LISTING_FILE, bytes };

	WORKS(r,
	      commit_files(&r->w.git, &info, &file, 1, oid, &r->stop, &r->err));
}

static void begin(struct room *r)
{
	char oid[GIT_OID];

	*r = (struct room){ .stop = stop_on(NULL) };
	snprintf(r->top, sizeof(r->top), "/tmp/patch_test.XXXXXX");
	assert_non_null(mkdtemp(r->top));
	WORKS(r, workspace_open(&r->w, r->top, r->top, "dcode-abcd2345",
				&r->stop, &r->err));
	commit(r, r->w.base_ref, NULL, "a", STR("one\r\n"), oid);
	WORKS(r, workspace_set_base(&r->w, oid, &r->stop, &r->err));
	commit(r, r->w.theirs_ref, oid, "b", STR("\0\xff two"), r->f.theirs);
	r->directory = path_join(r->top, "patches");
	r->save = (struct patch_save){ .directory = r->directory,
				       .thread = THREAD,
				       .workspace = &r->w,
				       .fetch = &r->f };
}

static void end(struct room *r)
{
	workspace_close(&r->w);
	free(r->directory);
	WORKS(r, path_remove_tree(r->top, &r->err));
}

static char *save(struct room *r)
{
	char *path = NULL;

	WORKS(r, patch_save(&r->save, &path, &r->stop, &r->err));
	return path;
}

static bool exists(const struct room *r, const char *name)
{
	char *path = path_join(r->directory, name);
	bool is = access(path, F_OK) == 0;

	free(path);
	return is;
}

static void a_saved_patch_is_whole_private_and_exact(void **arg)
{
	struct room r;
	struct stat st;
	char *path;
	char *line;

	(void)arg;
	begin(&r);
	path = save(&r);
	assert_true(str_ends(str_of(path), THREAD "-1.patch"));
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(st.st_nlink, 1);
	line = xasprintf("cd %s && mkdir t && cd t && printf 'one\\r\\n' >a &&"
			 " git apply %s && printf '\\0\\377 two' | cmp - b",
			 r.top, path);
	assert_int_equal(system(line), 0);
	free(line);
	free(path);
	end(&r);
}

static void no_patch_is_overwritten(void **arg)
{
	struct room r;
	char *first;
	char *again;
	char *second;
	char *third;

	(void)arg;
	begin(&r);
	first = save(&r);
	again = save(&r); /* says the same: no second one */
	assert_string_equal(again, first);
	commit(&r, r.w.theirs_ref, r.w.base, "b", STR("other"), r.f.theirs);
	second = save(&r);
	assert_true(str_ends(str_of(second), "-2.patch"));
	assert_int_equal(unlink(first), 0);
	assert_int_equal(unlink(second), 0);
	second[strlen(second) - strlen("2.patch")] = '1';
	assert_int_equal(symlink("/dev/null", second), 0);
	third = save(&r);
	assert_true(str_ends(str_of(third), "-2.patch"));
	free(first);
	free(again);
	free(second);
	free(third);
	end(&r);
}

/* A saved one, so many days old. */
static void old_patch(struct room *r, const char *name, int days, size_t size)
{
	char *path = path_join(r->directory, name);
	struct timespec times[2] = { { time(NULL) - days * 86400, 0 },
				     { time(NULL) - days * 86400, 0 } };
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	for (size_t i = 0; i < size; i++)
		fputc('x', f);
	fclose(f);
	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
	free(path);
}

static void old_and_large_ones_go_the_newest_of_a_thread_later(void **arg)
{
	struct room r;
	char *newest;

	(void)arg;
	begin(&r);
	WORKS(&r, path_mkdirs(r.directory, 0700, &r.err));
	old_patch(&r, "t-1-1.patch", 100, 10);
	old_patch(&r, "t-1-2.patch", 50, 10);
	old_patch(&r, "t-1-10.patch", 40, 10);
	old_patch(&r, "u-2-1.patch", 3, 1000);
	old_patch(&r, "u-2-2.patch", 2, 1000);
	old_patch(&r, "u-2-3.patch", 1, 1000);
	old_patch(&r, "notes.txt", 400, 10);
	newest = patch_newest(r.directory, "t-1");
	assert_true(str_ends(str_of(newest), "/t-1-10.patch"));
	assert_null(patch_newest(r.directory, "t"));
	assert_int_equal(patch_sweep(r.directory, 30, 1 << 20), 2);
	assert_false(exists(&r, "t-1-1.patch"));
	assert_false(exists(&r, "t-1-2.patch"));
	assert_true(exists(&r, "t-1-10.patch"));
	assert_int_equal(patch_sweep(r.directory, 30, 2500), 1);
	assert_false(exists(&r, "u-2-1.patch"));
	assert_int_equal(patch_sweep(r.directory, 45, 0), 1);
	assert_true(exists(&r, "t-1-10.patch"));
	assert_true(exists(&r, "u-2-3.patch"));
	assert_int_equal(patch_sweep(r.directory, 30, 0), 1);
	assert_false(exists(&r, "t-1-10.patch"));
	assert_true(exists(&r, "u-2-3.patch"));
	old_patch(&r, "v-3-1.patch", 359, 10);
	old_patch(&r, "w-4-1.patch", 361, 10);
	assert_int_equal(patch_sweep(r.directory, 30, 1 << 20), 1);
	assert_true(exists(&r, "v-3-1.patch"));
	assert_true(exists(&r, "notes.txt"));
	free(newest);
	end(&r);
}

static void files_that_make_programs_run_are_loud(void **arg)
{
	static const char *const names[] = { ".envrc", ".vscode" };
	const struct protect p = { names, 2 };
	static const char *const loud[] = {
		".github/workflows/ci.yml",
		".gitlab-ci.yml",
		"ci/Jenkinsfile",
		".circleci/config.yml",
		".githooks/pre-commit",
		".GitHub/Workflows/x.yml",
		"sub/.envrc",
		".vscode/tasks.json",
		"sub/.gitattributes",
		".husky/pre-push",
	};
	static const char *const quiet[] = { "a.c", "github/workflows/x",
					     ".github/README.md",
					     "gitattributes" };

	(void)arg;
	for (size_t i = 0; i < sizeof(loud) / sizeof(*loud); i++)
		assert_non_null(review_path(&p, str_of(loud[i])));
	for (size_t i = 0; i < sizeof(quiet) / sizeof(*quiet); i++)
		assert_null(review_path(&p, str_of(quiet[i])));
}

static void a_review_lists_changes_and_renames(void **arg)
{
	struct review v = { 0 };
	struct room r;
	char one[GIT_OID];
	char two[GIT_OID];

	(void)arg;
	begin(&r);
	commit(&r, "refs/dcode/x/one", NULL, ".gitlab-ci.yml",
	       STR("some bytes\n"), one);
	commit(&r, "refs/dcode/x/two", NULL, "n\n ew", STR("some bytes\n"),
	       two);
	WORKS(&r, review_read(&v, &r.w.git, one, two, &r.stop, &r.err));
	assert_int_equal(v.n, 1);
	assert_int_equal(v.files[0].status, 'R');
	assert_string_equal(v.files[0].from, ".gitlab-ci.yml");
	assert_string_equal(v.files[0].path, "n\n ew");
	assert_int_equal(v.n_loud, 1);
	review_release(&v);
	end(&r);
}

static int group_setup(void **arg)
{
	(void)arg;
	ids_init();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_saved_patch_is_whole_private_and_exact),
		cmocka_unit_test(no_patch_is_overwritten),
		cmocka_unit_test(
			old_and_large_ones_go_the_newest_of_a_thread_later),
		cmocka_unit_test(files_that_make_programs_run_are_loud),
		cmocka_unit_test(a_review_lists_changes_and_renames),
	};

	return cmocka_run_group_tests(tests, group_setup, NULL);
}
