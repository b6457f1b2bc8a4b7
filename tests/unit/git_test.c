/* git_test.c - git, started so that a repository cannot steer it. */
/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "unit.h"
#include "worktree/git.h"

/* A repository in which everything that can start a program does: each
 * appends its name to the file "ran". */
static const char planted[] =
	"set -e\n"
	"export HOME=$D/home GIT_CONFIG_NOSYSTEM=1\n"
	"mkdir -p home bin elsewhere\n"
	"for n in fsmonitor textconv extdiff filter driver gpg cred pager"
	" editor ssh alias include; do\n"
	" printf '#!/bin/sh\\necho %s >>%s/ran\\n' $n $D >bin/$n\n"
	" case $n in filter) echo cat >>bin/$n;; textconv|extdiff) echo 'cat "
	"\"$1\" 2>/dev/null;"
	" true' >>bin/$n;; driver) echo 'exit 1' >>bin/$n;; esac\n"
	" chmod 755 bin/$n; done\n"
	"git init -q -b main repo; cd repo\n"
	"git config user.name a; git config user.email a@b\n"
	"echo '* filter=f diff=d merge=m' >.gitattributes\n"
	"echo one >a; git add .; git commit -qm one\n"
	"git branch side\n"
	"for h in post-index-change post-checkout pre-commit"
	" reference-transaction post-commit; do\n"
	" printf '#!/bin/sh\\necho hook >>%s/ran\\n' $D >.git/hooks/$h\n"
	" chmod 755 .git/hooks/$h; done\n"
	"git config core.fsmonitor $D/bin/fsmonitor\n"
	"git config filter.f.clean $D/bin/filter\n"
	"git config filter.f.smudge $D/bin/filter\n"
	"git config diff.d.textconv $D/bin/textconv\n"
	"git config diff.external $D/bin/extdiff\n"
	"git config merge.m.driver $D/bin/driver\n"
	"git config gpg.program $D/bin/gpg\n"
	"git config commit.gpgSign true\n"
	"git config credential.helper $D/bin/cred\n"
	"git config core.pager $D/bin/pager\n"
	"git config core.editor $D/bin/editor\n"
	"git config core.sshCommand $D/bin/ssh\n"
	"git config alias.st '!'$D/bin/alias\n"
	"git config core.worktree $D/elsewhere\n"
	"printf '[alias]\\n ink = !%s/bin/include\\n' $D >$D/inc\n"
	"git config include.path $D/inc\n"
	"git config remote.origin.url ssh://nowhere.invalid/x\n"
	"git config remote.origin.promisor true\n"
	"git config extensions.partialClone origin\n"
	"rm -f $D/ran\n";

/* What plain git runs there, as a control of what was planted. */
static const char plain[] =
	"export HOME=$D/home GIT_CONFIG_NOSYSTEM=1 GIT_WORK_TREE=$D/repo\n"
	"cd repo\n"
	"git status >/dev/null 2>&1\n" /* fsmonitor, clean filter */
	"echo two >a\n"
	"git -c diff.external= diff --textconv >/dev/null 2>&1\n"
	"git diff >/dev/null 2>&1\n"               /* external diff */
	"git diff --no-ext-diff >/dev/null 2>&1\n" /* textconv */
	"git add a >/dev/null 2>&1\n"
	"git commit -qm two >/dev/null 2>&1\n"             /* signing, hooks */
	"git commit -q --no-gpg-sign -e >/dev/null 2>&1\n" /* editor */
	"git -c commit.gpgSign=false commit -qm two >/dev/null 2>&1\n"
	"git checkout -q side 2>/dev/null && echo three >a &&"
	" git -c commit.gpgSign=false commit -qam three 2>/dev/null\n"
	"git -c commit.gpgSign=false merge main >/dev/null 2>&1\n" /* driver */
	"git st; git ink\n"
	"git cat-file -p 0123456789012345678901234567890123456789"
	" >/dev/null 2>&1\n" /* lazy fetch by ssh */
	"printf 'protocol=https\\nhost=h\\n' |"
	" GIT_ASKPASS=true git credential fill >/dev/null 2>&1\n"
	"script -qec 'git -c core.fsmonitor=false log' /dev/null"
	" >/dev/null 2>&1 </dev/null\n"
	"sort -u $D/ran\n";

struct place {
	char directory[64];
	char *program;
	char *git_dir, *index, *repo, *objects;
	struct stop stop;
};

static int setup(void **state)
{
	struct place *p = xcalloc(1, sizeof(*p));
	struct error err = { 0 };

	snprintf(p->directory, sizeof(p->directory), "/tmp/dcode-git-XXXXXX");
	assert_non_null(mkdtemp(p->directory));
	assert_int_equal(git_find(NULL, &p->program, &err), 0);
	p->git_dir = path_join(p->directory, "ours");
	p->index = path_join(p->directory, "index");
	p->repo = path_join(p->directory, "repo");
	p->objects = path_join(p->repo, ".git/objects");
	p->stop = stop_cleanup(60000);
	*state = p;
	return 0;
}

static int teardown(void **state)
{
	struct place *p = *state;
	struct error ignored = { 0 };

	(void)path_remove_tree(p->directory, &ignored);
	free(p->program);
	free(p->git_dir);
	free(p->index);
	free(p->repo);
	free(p->objects);
	free(p);
	return 0;
}

/* What a script prints, in the place's directory, which it knows as $D. */
static void run_script(const struct place *p, const char *script,
		       struct buf *out)
{
	char *all = xasprintf("cd '%s'; D='%s'; %s", p->directory, p->directory,
			      script);
	char *file = path_join(p->directory, "script");
	char *line = xasprintf("sh %s", file);
	struct error err = { 0 };
	char room[4096];
	FILE *f;
	size_t n;

	assert_int_equal(path_write(file, str_of(all), 0700, &err), 0);
	f = popen(line, "r"); /* NOLINT(cert-env33-c): a fixed command */
	assert_non_null(f);
	while ((n = fread(room, 1, sizeof(room), f)) > 0)
		buf_add(out, room, n);
	assert_int_equal(pclose(f), 0);
	free(all);
	free(file);
	free(line);
}

static bool ran_anything(const struct place *p)
{
	char *file = path_join(p->directory, "ran");
	bool there = access(file, F_OK) == 0;

	free(file);
	return there;
}

static void run_ours(const struct place *p, const struct git *g,
		     const char *const *argv, struct buf *out)
{
	struct error err = { 0 };
	int status = 0;
	struct git_request r = { .argv = argv, .out = out, .status = &status };

	buf_clear(out);
	if (git_run(g, &r, &p->stop, &err) < 0)
		fail_msg("%s", err.message);
}

static void copy_index(const struct place *p)
{
	struct buf out = BUF_INIT(4096);

	run_script(p,
		   "cp repo/.git/index index; cp repo/.git/sharedindex.*"
		   " ours/ 2>/dev/null; echo two >repo/a",
		   &out);
	buf_release(&out);
}

static void test_nothing_planted_in_a_repository_runs(void **state)
{
	static const char *const calls[][8] = {
		{ "ls-files", "-z", "-s", "-t", "--sparse" },
		{ "ls-files", "-z", "-o",
		  "--exclude-per-directory=.gitignore" },
		{ "ls-files", "-m" },
		{ "diff", "--", "a" },
		{ "diff-files", "-p" },
		{ "status" },
		{ "add", "a" },
		{ "write-tree" },
		{ "commit", "-m", "x" },
		{ "commit", "--amend", "-e" },
		{ "log" },
		{ "log", "-p", "--all" },
		{ "st" },
		{ "ink" },
		{ "cat-file", "-p",
		  "0123456789012345678901234567890123456789" },
		{ "fetch", "ssh://nowhere.invalid/x" },
		{ "ls-remote", "file:///tmp" },
		{ "merge", "HEAD" },
		{ "checkout-index", "-a", "-f" },
		{ "rev-parse", "--show-toplevel" },
	};
	struct place *p = *state;
	struct git g = { .program = p->program,
			 .dir = p->git_dir,
			 .index = p->index,
			 .work_tree = p->repo,
			 .objects = p->objects };
	struct buf out = BUF_INIT(1 << 20);
	struct error err = { 0 };

	run_script(p, planted, &out);
	if (git_init(&g, &p->stop, &err) < 0)
		fail_msg("%s", err.message);
	copy_index(p);
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		run_ours(p, &g, calls[i], &out);
		if (ran_anything(p))
			fail_msg("git %s ran something", calls[i][0]);
	}
	assert_true(str_is(str_trim(buf_str(&out)), p->repo));
	buf_release(&out);
}

static void test_plain_git_runs_all_that_is_planted(void **state)
{
	static const char *const names[] = {
		"fsmonitor", "textconv", "extdiff", "filter", "driver",
		"gpg",       "cred",     "pager",   "editor", "ssh",
		"alias",     "include",  "hook",
	};
	struct place *p = *state;
	struct buf out = BUF_INIT(1 << 20);

	run_script(p, planted, &out);
	run_script(p, plain, &out);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!out.ptr || !strstr(out.ptr, names[i]))
			fail_msg("%s did not run: %s", names[i],
				 out.ptr ? out.ptr : "");
	buf_release(&out);
}

static void test_a_git_of_the_tree_is_not_found(void **state)
{
	struct place *p = *state;
	char *old = xstrdup(getenv("PATH"));
	char *path = xasprintf("%s/bin:%s", p->directory, old);
	struct buf out = BUF_INIT(4096);
	struct error err = { 0 };
	char *found = NULL;

	run_script(p, "mkdir bin; cp /bin/true bin/git", &out);
	setenv("PATH", path, 1); /* NOLINT(concurrency-mt-unsafe) */
	assert_int_equal(git_find(NULL, &found, &err), 0);
	assert_int_equal(strncmp(found, p->directory, strlen(p->directory)), 0);
	free(found);
	assert_int_equal(git_find(p->directory, &found, &err), 0);
	assert_string_equal(found, p->program);
	free(found);
	setenv("PATH", old, 1); /* NOLINT(concurrency-mt-unsafe) */
	free(old);
	free(path);
	buf_release(&out);
}

static void test_a_failure_says_what_git_said(void **state)
{
	static const char *const argv[] = { "cat-file", "-p", "nothing", NULL };
	struct place *p = *state;
	struct git g = { .program = p->program, .dir = p->git_dir };
	struct buf out = BUF_INIT(4096);
	struct error err = { 0 };

	assert_int_equal(git_init(&g, &p->stop, &err), 0);
	assert_int_equal(git_ask(&g, argv, &out, &p->stop, &err), -1);
	assert_non_null(strstr(err.message, "git cat-file exited with "
					    "status 128: "));
	assert_non_null(strstr(err.message, "nothing"));
	buf_release(&out);
}

static int64_t endless(void *arg, char *room, size_t len, struct error *err)
{
	(void)arg;
	(void)err;
	memset(room, 'a', len);
	return (int64_t)len;
}

static void test_a_cancel_ends_git(void **state)
{
	static const char *const argv[] = { "hash-object", "--stdin", NULL };
	struct place *p = *state;
	struct git g = { .program = p->program, .dir = p->git_dir };
	struct git_request r = { .argv = argv, .source = endless };
	struct stop soon = stop_cleanup(300);
	struct error err = { 0 };

	assert_int_equal(git_init(&g, &p->stop, &err), 0);
	assert_int_equal(git_run(&g, &r, &soon, &err), -1);
	assert_int_equal(err.code, ERR_TIMEOUT);
}

/* A process with a git that waits for input for good: a third one holds the
 * other end, until hold is closed. */
static pid_t start_waiting(struct place *p, const int names[2],
			   const int hold[2])
{
	static const char *const argv[] = { "hash-object", "--stdin", NULL };
	struct git g = { .program = p->program, .dir = p->git_dir };
	struct git_request r = { .argv = argv };
	struct git_process *process = NULL;
	struct error err = { 0 };
	pid_t parent = fork();
	char byte;

	if (parent != 0)
		return parent;
	close(hold[1]);
	if (git_start(&process, &g, &r, &p->stop, &err) == 0)
		(void)!write(names[1], "x", 1);
	(void)fork();
	(void)!read(hold[0], &byte, 1);
	_exit(0);
}

static void test_git_does_not_outlive_a_kill_of_its_parent(void **state)
{
	struct place *p = *state;
	struct git g = { .program = p->program, .dir = p->git_dir };
	struct error err = { 0 };
	int names[2];
	int hold[2];
	char byte;
	char *find;
	pid_t parent;
	int alive = 0;

	assert_int_equal(git_init(&g, &p->stop, &err), 0);
	find = xasprintf("grep -lz GIT_DIR=%s /proc/[0-9]*/environ 2>/dev/null"
			 " | grep -q .",
			 p->git_dir);
	assert_int_equal(pipe(names), 0);
	assert_int_equal(pipe(hold), 0);
	parent = start_waiting(p, names, hold);
	close(names[1]);
	assert_int_equal(read(names[0], &byte, 1), 1);
	assert_int_equal(system(find), 0); /* the control: it runs */
	kill(parent, SIGKILL);
	waitpid(parent, NULL, 0);
	for (int i = 0; i < 500 && (alive = system(find)) == 0; i++)
		usleep(10000);
	close(names[0]);
	close(hold[0]);
	close(hold[1]);
	free(find);
	assert_int_not_equal(alive, 0);
}

static void test_what_a_killed_git_left_does_not_stop_the_next(void **state)
{
	static const char *const set[] = { "update-ref", "refs/dcode/x/base",
					   NULL, NULL };
	static const char *const make[] = { "hash-object", "-w", "--stdin",
					    NULL };
	struct place *p = *state;
	struct git g = { .program = p->program, .dir = p->git_dir };
	const struct timespec old[2] = { { .tv_sec = 1 }, { .tv_sec = 1 } };
	const struct stop over = stop_cleanup(0);
	const char *argv[4];
	struct buf oid = BUF_INIT(4096);
	struct buf out = BUF_INIT(4096);
	struct error err = { 0 };
	char *lock;

	/* A first init that ended in its middle. */
	assert_int_equal(path_mkdirs(p->git_dir, 0700, &err), 0);
	lock = path_join(p->git_dir, "HEAD");
	assert_int_equal(
		path_write(lock, STR("ref: refs/heads/x\n"), 0600, &err), 0);
	free(lock);
	assert_int_equal(git_init(&g, &p->stop, &err), 0);
	assert_int_equal(git_ask(&g, make, &oid, &p->stop, &err), 0);
	memcpy(argv, set, sizeof(set));
	oid.ptr[str_trim(buf_str(&oid)).len] = '\0';
	argv[2] = oid.ptr;
	assert_int_equal(git_ask(&g, argv, &out, &p->stop, &err), 0);
	/* A lock that may be held stays, one that is old goes. */
	lock = path_join(p->git_dir, "refs/dcode/x/base.lock");
	assert_int_equal(path_write(lock, STR(""), 0600, &err), 0);
	assert_int_equal(git_init(&g, &over, &err), 0);
	assert_int_equal(access(lock, F_OK), 0);
	assert_int_equal(git_ask(&g, argv, &out, &p->stop, &err), -1);
	assert_int_equal(utimensat(AT_FDCWD, lock, old, 0), 0);
	err = (struct error){ 0 };
	assert_int_equal(git_init(&g, &p->stop, &err), 0);
	assert_int_equal(access(lock, F_OK), -1);
	assert_int_equal(git_ask(&g, argv, &out, &p->stop, &err), 0);
	free(lock);
	buf_release(&oid);
	buf_release(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			test_nothing_planted_in_a_repository_runs, setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			test_plain_git_runs_all_that_is_planted, setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			test_a_git_of_the_tree_is_not_found, setup, teardown),
		cmocka_unit_test_setup_teardown(
			test_a_failure_says_what_git_said, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_cancel_ends_git, setup,
						teardown),
		cmocka_unit_test_setup_teardown(
			test_git_does_not_outlive_a_kill_of_its_parent, setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			test_what_a_killed_git_left_does_not_stop_the_next,
			setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
