/* tree_watch_test.c - what a command on this machine changed in the tree. */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "unit.h"
#include "worktree/tree_watch.h"

struct place {
	char directory[64];
	char *state, *repo;
	struct tree_watch watch;
	struct stop stop;
	char seen[256]; /* "PATH BEFORE AFTER KNOWN;", lengths of the texts */
};

static void run_script(const struct place *p, const char *script)
{
	char *line = xasprintf("set -e; cd '%s'; %s", p->repo, script);

	/* NOLINTNEXTLINE(cert-env33-c): a fixed command */
	assert_int_equal(system(line), 0);
	free(line);
}

static int setup(void **state)
{
	struct place *p = xcalloc(1, sizeof(*p));
	struct error err = { 0 };

	snprintf(p->directory, sizeof(p->directory), "/tmp/dcode-watch-XXXXXX");
	assert_non_null(mkdtemp(p->directory));
	p->state = path_join(p->directory, "state");
	p->repo = path_join(p->directory, "repo");
	assert_int_equal(path_mkdirs(p->repo, 0700, &err), 0);
	assert_int_equal(path_mkdirs(p->state, 0700, &err), 0);
	p->stop = stop_cleanup(60000);
	run_script(p, "git init -q; echo old >a; echo old >1:a; git add -A; "
		      "git -c user.name=a -c user.email=a@b commit -qm x");
	*state = p;
	return 0;
}

static int teardown(void **state)
{
	struct place *p = *state;
	struct error ignored = { 0 };

	tree_watch_close(&p->watch);
	(void)path_remove_tree(p->directory, &ignored);
	free(p->state);
	free(p->repo);
	free(p);
	return 0;
}

static void note_change(void *arg, const struct tree_watch_change *c)
{
	struct place *p = arg;
	size_t len = strlen(p->seen);

	snprintf(p->seen + len, sizeof(p->seen) - len, "%s %zu %zu %d;",
		 c->path, c->before.len, c->after.len, c->known);
}

static const char *watch_command(struct place *p, const char *script)
{
	p->seen[0] = '\0';
	tree_watch_begin(&p->watch, p->state, p->repo, NULL, &p->stop);
	run_script(p, script);
	tree_watch_end(&p->watch, note_change, p, &p->stop);
	return p->seen;
}

/* Makes the tree that of a submodule, whose configuration git has to read, and
 * a git that is slow at that while the file "slow" exists. */
static void slow_down_git(const struct place *p)
{
	char *bin = path_join(p->directory, "bin");
	char *path = xasprintf("%s:%s", bin, getenv("PATH"));

	run_script(p, "mv .git ../mod; echo gitdir: ../mod >.git; "
		      "git config -f ../mod/config core.worktree ../repo; "
		      "cd ..; mkdir bin; touch slow; (echo '#!/bin/sh'; "
		      "echo 'case $* in *core.worktree*)'; "
		      "echo \"[ ! -e $PWD/slow ] || sleep 2;; esac\"; "
		      "echo \"exec $(command -v git)\" '\"$@\"') >bin/git; "
		      "chmod 755 bin/git");
	setenv("PATH", path, 1);
	free(bin);
	free(path);
}

static void test_a_slow_first_command_does_not_end_the_watch(void **state)
{
	char *path = xstrdup(getenv("PATH"));
	struct place *p = *state;

	slow_down_git(p);
	tree_watch_begin(&p->watch, p->state, p->repo, NULL, &p->stop);
	assert_false(p->watch.begun);
	run_script(p, "rm ../slow");
	assert_string_equal(watch_command(p, "echo new >>a"), "a 4 8 1;");
	setenv("PATH", path, 1);
	free(path);
}

static void test_a_link_does_not_lift_the_limit_of_what_is_copied(void **state)
{
	struct place *p = *state;

	/* b00 to b63 are all that may be copied; then come c, a link, and d */
	run_script(p, "dd if=/dev/zero of=all bs=256k count=64 2>/dev/null; "
		      "split -b 256k -d all b; rm all; ln -s a c; echo 1 >d");
	assert_string_equal(watch_command(p, "echo 2 >>d"), "d 0 0 0;");
}

static void test_a_large_file_that_is_deleted_is_not_counted(void **state)
{
	struct place *p = *state;

	run_script(p, "dd if=/dev/zero of=large bs=1k count=300 2>/dev/null; "
		      ": >empty");
	assert_string_equal(watch_command(p, "rm empty large"),
			    "empty 0 0 1;large 0 0 0;");
}

static void test_a_name_like_a_stage_of_the_index_is_a_name(void **state)
{
	struct place *p = *state;

	assert_string_equal(watch_command(p, "echo new >>1:a"), "1:a 4 8 1;");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			test_a_slow_first_command_does_not_end_the_watch, setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			test_a_link_does_not_lift_the_limit_of_what_is_copied,
			setup, teardown),
		cmocka_unit_test_setup_teardown(
			test_a_large_file_that_is_deleted_is_not_counted, setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			test_a_name_like_a_stage_of_the_index_is_a_name, setup,
			teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
