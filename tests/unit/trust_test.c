/* trust_test.c - what a repository brings runs only as it was allowed. */
/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "trust/trust.h"

/* A home with the store, two repositories a and b, and a directory beside. */
struct room {
	char top[32];
	char *store;
	int answer; /* to the question */
	int asked;
	char *files; /* that the last one named; owned */
	char warned[512];
};

static struct room *the_room; /* of trust_ui.warn, which has no arg */

static void put(const struct room *r, const char *name, const char *text)
{
	char *path = path_join(r->top, name);
	struct error err = { 0 };

	if (path_write(path, str_of(text), 0755, &err) < 0)
		fail_msg("%s", err.message);
	free(path);
}

static void link_to(const struct room *r, const char *to, const char *name)
{
	char *path = path_join(r->top, name);

	(void)unlink(path);
	assert_int_equal(symlink(to, path), 0);
	free(path);
}

static int set_up(void **state)
{
	static const char *const dirs[] = { "a/tools", "b", "home", "beside" };
	struct room *r = xcalloc(1, sizeof(*r));
	struct error err = { 0 };

	snprintf(r->top, sizeof(r->top), "/tmp/dcode-trust.XXXXXX");
	assert_non_null(mkdtemp(r->top));
	for (size_t i = 0; i < 4; i++) {
		char *dir = path_join(r->top, dirs[i]);

		assert_int_equal(path_mkdirs(dir, 0700, &err), 0);
		free(dir);
	}
	r->store = path_join(r->top, "home/.state/trusted.json");
	r->answer = 1;
	put(r, "a/run.sh", "echo one\n");
	put(r, "beside/own.sh", "echo own\n");
	the_room = r;
	*state = r;
	return 0;
}

static int tear_down(void **state)
{
	struct room *r = *state;
	struct error err = { 0 };

	assert_int_equal(path_remove_tree(r->top, &err), 0);
	free(r->store);
	free(r->files);
	free(r);
	return 0;
}

static int on_ask(void *arg, const struct trust_entry *e, const char *files,
		  struct error *err)
{
	struct room *r = arg;

	(void)e;
	r->asked++;
	free(r->files);
	r->files = xstrdup(files);
	if (r->answer < 0)
		error_set(err, ERR_CANCELLED, "no answer");
	return r->answer;
}

static void on_warn(const char *line)
{
	snprintf(the_room->warned, sizeof(the_room->warned), "%s", line);
}

struct attempt {
	const char *root; /* "a" */
	const char *command;
	const char *text; /* NULL: the command */
	unsigned flags;
	bool headless;
};

/* What a new dcode decides, and how often it asked. */
static enum trust_verdict attempt(struct room *r, const struct attempt *a)
{
	struct trust_ui ui = { a->headless ? NULL : on_ask, NULL, on_warn, r };
	struct trust *t = trust_new(r->store, a->flags, &ui);
	char *root = path_join(r->top, a->root);
	const char *words[] = { a->command };
	struct trust_entry e = {
		.kind = TRUST_HOOK,
		.root = root,
		.file = "hooks.json",
		.name = "Stop",
		.text = str_of(a->text ? a->text : a->command),
		.words = words,
		.n_words = 1,
		.path = "/usr/bin:/bin",
	};
	enum trust_verdict verdict = TRUST_REFUSED;
	struct error err = { 0 };

	r->asked = 0;
	if (trust_ask(t, &e, &verdict, &err) == 0 && verdict != TRUST_ALLOWED) {
		/* A no holds for this run, also against check. */
		assert_int_equal(trust_check(t, &e), TRUST_REFUSED);
	}
	trust_free(t);
	free(root);
	return verdict;
}

/* Allowed, with so many questions. */
static void expect(struct room *r, const char *root, const char *command,
		   int asked)
{
	struct attempt a = { .root = root, .command = command };

	assert_int_equal(attempt(r, &a), TRUST_ALLOWED);
	if (r->asked != asked)
		fail_msg("'%s' asked %d times, not %d", command, r->asked,
			 asked);
}

static void test_a_yes_is_asked_for_once(void **state)
{
	struct room *r = *state;
	struct stat st;

	expect(r, "a", "./run.sh", 1);
	assert_non_null(strstr(r->files, "/a/run.sh\n"));
	expect(r, "a", "./run.sh", 0);
	assert_int_equal(stat(r->store, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
}

static void test_a_no_holds_for_one_run(void **state)
{
	struct room *r = *state;
	struct attempt a = { .root = "a", .command = "./run.sh" };

	r->answer = 0;
	assert_int_equal(attempt(r, &a), TRUST_REFUSED);
	assert_int_equal(r->asked, 1);
	r->answer = 1;
	expect(r, "a", "./run.sh", 1);
}

/* Every way in which a shell's line can name the file. */
static void test_a_changed_file_is_asked_about_again(void **state)
{
	static const char *const lines[] = {
		"./run.sh",
		"run.sh",
		"sh run.sh --fast",
		"sh -c 'exec ./run.sh'",
		"exec \"./run.sh\";true",
		"make CHECK=./run.sh",
		"python3 -W./run.sh",
		"true && $PWD/run.sh",
		"\"$(pwd)/run.sh\" x",
		"$(git rev-parse --show-toplevel)/run.sh x",
		"`pwd`//run.sh",
		"sh \"`pwd`\"/run.sh",
		"cat<run.sh|sh",
		"./tools/../run.sh",
		"cd tools && ../run.sh",
		"node --require=./run.sh,x",
		"./ru\\n.sh",
	};
	struct room *r = *state;

	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		put(r, "a/run.sh", "echo one\n");
		expect(r, "a", lines[i], 1);
		expect(r, "a", lines[i], 0);
		put(r, "a/run.sh", "echo two\n");
		expect(r, "a", lines[i], 1);
	}
	/* Control: a file that no word names is not covered. */
	expect(r, "a", "make check", 1);
	put(r, "a/run.sh", "echo three\n");
	expect(r, "a", "make check", 0);
}

static void test_a_directory_that_is_entered_is_looked_into(void **state)
{
	struct room *r = *state;

	put(r, "a/tools/go", "echo one\n");
	expect(r, "a", "cd tools && ./go", 1);
	expect(r, "a", "cd tools && ./go", 0);
	put(r, "a/tools/go", "echo two\n");
	expect(r, "a", "cd tools && ./go", 1);
}

static void test_a_file_that_comes_or_goes_is_asked_about(void **state)
{
	struct room *r = *state;

	expect(r, "a", "node late.js", 1);
	put(r, "a/late.js", "1\n");
	expect(r, "a", "node late.js", 1);
	expect(r, "a", "node late.js", 0);
}

static void test_a_link_that_leads_elsewhere_is_asked_about(void **state)
{
	struct room *r = *state;

	put(r, "a/one", "echo same\n");
	put(r, "a/two", "echo same\n");
	link_to(r, "one", "a/link");
	expect(r, "a", "./link", 1);
	expect(r, "a", "./link", 0);
	link_to(r, "two", "a/link"); /* the content is the same */
	expect(r, "a", "./link", 1);
	link_to(r, "../beside/own.sh", "a/link");
	expect(r, "a", "./link", 1);
	put(r, "beside/own.sh", "echo new\n");
	expect(r, "a", "./link", 1);
	link_to(r, "/dev/zero", "a/link"); /* is never read */
	expect(r, "a", "./link", 1);
}

static void test_a_directory_that_becomes_a_link_is_asked_about(void **state)
{
	struct room *r = *state;

	put(r, "a/tools/go", "echo one\n");
	put(r, "beside/go", "echo one\n");
	expect(r, "a", "tools/go", 1);
	put(r, "a/tools/keep", "");
	assert_int_equal(chdir(r->top), 0);
	assert_int_equal(rename("a/tools", "a/was"), 0);
	link_to(r, "../beside", "a/tools");
	assert_int_equal(chdir("/"), 0);
	expect(r, "a", "tools/go", 1);
}

static void test_a_file_outside_of_the_repository_is_the_users(void **state)
{
	struct room *r = *state;
	char *line = xasprintf("%s/beside/own.sh --x", r->top);

	expect(r, "a", line, 1);
	put(r, "beside/own.sh", "echo an update\n");
	expect(r, "a", line, 0);
	free(line);
}

static void test_equal_entries_of_two_repositories_are_two(void **state)
{
	struct room *r = *state;

	put(r, "b/run.sh", "echo one\n");
	expect(r, "a", "./run.sh", 1);
	expect(r, "b", "./run.sh", 1);
	expect(r, "a", "./run.sh", 0);
	link_to(r, "a", "alias"); /* the same repository by another name */
	expect(r, "alias", "./run.sh", 0);
}

static void test_a_changed_entry_is_asked_about_again(void **state)
{
	struct room *r = *state;
	struct attempt a = { .root = "a",
			     .command = "./run.sh",
			     .text = "{\"timeout\":1}" };

	assert_int_equal(attempt(r, &a), TRUST_ALLOWED);
	assert_int_equal(attempt(r, &a), TRUST_ALLOWED);
	assert_int_equal(r->asked, 0);
	a.text = "{\"timeout\":2}";
	assert_int_equal(attempt(r, &a), TRUST_ALLOWED);
	assert_int_equal(r->asked, 1);
}

static void test_without_a_user_only_what_was_allowed_runs(void **state)
{
	struct room *r = *state;
	struct attempt a = { .root = "a",
			     .command = "./run.sh",
			     .headless = true };

	assert_int_equal(attempt(r, &a), TRUST_REFUSED);
	a.flags = TRUST_MCP; /* of another kind */
	assert_int_equal(attempt(r, &a), TRUST_REFUSED);
	a.flags = TRUST_HOOK;
	assert_int_equal(attempt(r, &a), TRUST_ALLOWED);
	a.flags = 0; /* a flag is for one run */
	assert_int_equal(attempt(r, &a), TRUST_REFUSED);
	expect(r, "a", "./run.sh", 1);
	assert_int_equal(attempt(r, &a), TRUST_ALLOWED);
}

static void test_a_cancelled_question_is_no_answer(void **state)
{
	struct room *r = *state;
	struct attempt a = { .root = "a", .command = "./run.sh" };

	r->answer = -1;
	assert_int_equal(attempt(r, &a), TRUST_REFUSED);
	assert_int_equal(access(r->store, F_OK), -1);
}

static void test_a_store_that_others_can_write_allows_nothing(void **state)
{
	struct room *r = *state;
	struct attempt a = { .root = "a",
			     .command = "./run.sh",
			     .headless = true };

	expect(r, "a", "./run.sh", 1);
	assert_int_equal(chmod(r->store, 0666), 0);
	assert_int_equal(attempt(r, &a), TRUST_REFUSED);
	assert_non_null(strstr(r->warned, "others may write to it"));
	assert_int_equal(chmod(r->store, 0600), 0);
	assert_int_equal(attempt(r, &a), TRUST_ALLOWED);
	put(r, "home/.state/trusted.json", "{\"version\":1");
	assert_int_equal(chmod(r->store, 0600), 0);
	assert_int_equal(attempt(r, &a), TRUST_REFUSED);
	assert_non_null(strstr(r->warned, "damaged"));
}

static void test_too_long_a_command_line_needs_the_flag(void **state)
{
	struct room *r = *state;
	struct buf line = BUF_INIT(1 << 16);
	struct attempt a = { .root = "a" };

	for (int i = 0; i < 3000; i++)
		buf_addf(&line, "w%d ", i);
	a.command = line.ptr;
	assert_int_equal(attempt(r, &a), TRUST_REFUSED);
	assert_int_equal(r->asked, 0);
	a.flags = TRUST_HOOK;
	assert_int_equal(attempt(r, &a), TRUST_ALLOWED);
	buf_release(&line);
}

/* Attack: directories that say nothing, and behind them the one whose program
 * is changed afterwards. */
static void test_too_many_directories_need_the_flag(void **state)
{
	struct room *r = *state;
	struct buf line = BUF_INIT(1 << 16);
	struct attempt a = { .root = "a" };
	struct error err = { 0 };
	char name[32];
	char *dir;

	for (int i = 0; i < 33; i++) {
		snprintf(name, sizeof(name), "a/d%d", i);
		dir = path_join(r->top, name);
		assert_int_equal(path_mkdirs(dir, 0700, &err), 0);
		free(dir);
		buf_addf(&line, "%scd d%d", i ? "; cd ..; " : "", i);
		a.command = line.ptr;
		if (i == 29)
			assert_int_equal(attempt(r, &a), TRUST_ALLOWED);
	}
	buf_adds(&line, "; ./go");
	a.command = line.ptr;
	assert_int_equal(attempt(r, &a), TRUST_REFUSED);
	assert_int_equal(r->asked, 0);
	a.flags = TRUST_HOOK;
	assert_int_equal(attempt(r, &a), TRUST_ALLOWED);
	buf_release(&line);
}

static bool count(void *arg, const struct trust_record *record)
{
	assert_string_equal(record->kind, "hook");
	assert_string_equal(record->name, "Stop");
	++*(int *)arg;
	return true;
}

static void test_what_is_forgotten_is_asked_about_again(void **state)
{
	struct room *r = *state;
	struct trust_ui ui = { 0 };
	struct trust *t = trust_new(r->store, 0, &ui);
	char *root = path_join(r->top, "a");
	struct error err = { 0 };
	int n = 0;

	assert_int_equal(trust_list(t, count, &n, &err), 0);
	assert_int_equal(n, 0);
	put(r, "b/run.sh", "echo one\n");
	expect(r, "a", "./run.sh", 1);
	expect(r, "b", "./run.sh", 1);
	assert_int_equal(trust_list(t, count, &n, &err), 0);
	assert_int_equal(n, 2);
	assert_int_equal(trust_forget(t, root, &err), 1);
	expect(r, "b", "./run.sh", 0);
	expect(r, "a", "./run.sh", 1);
	trust_free(t);
	free(root);
}

int main(void)
{
#define ROW(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		ROW(test_a_yes_is_asked_for_once),
		ROW(test_a_no_holds_for_one_run),
		ROW(test_a_changed_file_is_asked_about_again),
		ROW(test_a_directory_that_is_entered_is_looked_into),
		ROW(test_a_file_that_comes_or_goes_is_asked_about),
		ROW(test_a_link_that_leads_elsewhere_is_asked_about),
		ROW(test_a_directory_that_becomes_a_link_is_asked_about),
		ROW(test_a_file_outside_of_the_repository_is_the_users),
		ROW(test_equal_entries_of_two_repositories_are_two),
		ROW(test_a_changed_entry_is_asked_about_again),
		ROW(test_without_a_user_only_what_was_allowed_runs),
		ROW(test_a_cancelled_question_is_no_answer),
		ROW(test_a_store_that_others_can_write_allows_nothing),
		ROW(test_too_long_a_command_line_needs_the_flag),
		ROW(test_too_many_directories_need_the_flag),
		ROW(test_what_is_forgotten_is_asked_about_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
