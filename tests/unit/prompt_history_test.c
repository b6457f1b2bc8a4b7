/* prompt_history_test.c - prompts come back, secrets and broken lines not. */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "editor/prompt_history.h"
#include "unit.h"

static char folder[] = "/tmp/prompt-history-XXXXXX";
static char *path;

static int make_folder(void **state)
{
	(void)state;
	memcpy(folder + sizeof(folder) - 7, "XXXXXX", 6);
	path = mkdtemp(folder) ? xasprintf("%s/state/h.jsonl", folder) : NULL;
	return path ? 0 : -1;
}

static int remove_folder(void **state)
{
	struct error err = { 0 };

	(void)state;
	free(path);
	return path_remove_tree(folder, &err);
}

static void open_in(struct prompt_history *h, const char *project,
		    const struct mask *mask)
{
	struct error err = { 0 };

	assert_int_equal(prompt_history_open(h, path, project, mask, &err), 0);
}

static void open_history(struct prompt_history *h, const struct mask *mask)
{
	open_in(h, NULL, mask);
}

static void add(struct prompt_history *h, const char *text)
{
	struct error err = { 0 };

	assert_int_equal(prompt_history_add(h, str_of(text), &err), 0);
}

/* Removes the times, which differ from run to run. */
static void drop_times(struct buf *all)
{
	static const char name[] = ",\"time\":";
	char *at;

	while ((at = strstr(all->ptr, name))) {
		char *end = at + strlen(name);

		end += strspn(end, "0123456789");
		memmove(at, end, strlen(end) + 1);
	}
}

static void expect_file(const char *want)
{
	struct buf all = BUF_INIT(1 << 20);
	struct error err = { 0 };
	struct stat st;

	assert_int_equal(path_read(path, &all, &err), 0);
	drop_times(&all);
	assert_string_equal(all.ptr, want);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	buf_release(&all);
}

static bool has_in_spool(const struct prompt_history *h, const char *text)
{
	struct str all = spool_text(&h->texts, 0, h->texts.end);

	return str_search(all, str_of(text)) < all.len;
}

/* Without a temporary file, prompts stay in memory. */
static void test_prompts_are_found_without_a_temporary_file(void **state)
{
	struct prompt_history h;
	struct str text;

	(void)state;
	setenv("TMPDIR", "/nowhere", 1);
	open_history(&h, NULL);
	add(&h, "one");
	add(&h, "two");
	prompt_history_release(&h);
	open_history(&h, NULL);
	add(&h, "three");
	unsetenv("TMPDIR");
	assert_int_equal(h.texts.end, 0);
	assert_true(prompt_history_older(&h, STR("o"), &text));
	assert_true(str_is(text, "two"));
	assert_true(prompt_history_older(&h, text, &text));
	assert_true(str_is(text, "one"));
	prompt_history_release(&h);
}

static void test_prompts_are_stored_but_not_what_is_no_prompt(void **state)
{
	struct mask *mask = mask_new();
	struct prompt_history h;
	struct str text;

	(void)state;
	mask_add(mask, "API_KEY", STR("sk-very-secret"));
	open_history(&h, mask);
	add(&h, "one\n\"two\"");
	add(&h, "one\n\"two\"");
	add(&h, "  ");
	add(&h, "/help");
	add(&h, "/skill:x");
	add(&h, "use sk-very-secret");
	expect_file("\"one\\n\\\"two\\\"\"\n\"/skill:x\"\n");
	assert_true(has_in_spool(&h, "two"));
	assert_false(has_in_spool(&h, "sk-very-secret"));
	/* This session has it all the same. */
	assert_true(prompt_history_older(&h, STR(""), &text));
	assert_true(str_is(text, "use sk-very-secret"));
	assert_true(
		prompt_history_older(&h, str_of("use sk-very-secret"), &text));
	assert_true(str_is(text, "/skill:x"));
	assert_true(prompt_history_older(&h, STR("/skill:x"), &text));
	assert_true(str_is(text, "/help"));
	prompt_history_release(&h);
	open_history(&h, mask);
	assert_int_equal(h.n, 2);
	assert_true(prompt_history_older(&h, STR(""), &text));
	assert_true(str_is(text, "/skill:x"));
	prompt_history_release(&h);
	mask_free(mask);
}

static void test_up_and_down_walk_and_keep_the_draft(void **state)
{
	struct prompt_history h;
	struct str text = { 0 };

	(void)state;
	open_history(&h, NULL);
	add(&h, "fix the parser");
	add(&h, "run tests");
	add(&h, "fix tests");
	assert_true(prompt_history_older(&h, STR("fix"), &text));
	assert_true(str_is(text, "fix tests"));
	assert_true(prompt_history_older(&h, text, &text));
	assert_true(str_is(text, "fix the parser"));
	assert_false(prompt_history_older(&h, text, &text));
	assert_true(prompt_history_newer(&h, text, &text));
	assert_true(str_is(text, "fix tests"));
	assert_true(prompt_history_newer(&h, text, &text));
	assert_true(str_is(text, "fix"));
	assert_false(prompt_history_newer(&h, text, &text));
	/* An edited one is a draft of its own. */
	assert_true(prompt_history_older(&h, STR(""), &text));
	assert_true(prompt_history_older(&h, STR("tests"), &text));
	assert_true(str_is(text, "fix tests"));
	assert_true(prompt_history_newer(&h, text, &text));
	assert_true(str_is(text, "tests"));
	prompt_history_release(&h);
}

static void test_broken_lines_are_skipped_and_a_cut_one_is_ended(void **state)
{
	struct prompt_history h;
	struct error err = { 0 };
	struct str text;

	(void)state;
	open_history(&h, NULL);
	add(&h, "first");
	assert_int_equal(path_write(path,
				    STR("\"good\"\nnot json\n{\"a\":1}\n17\n\n"
					"\"b\\u00e9\"\n\xFF\xFE\n\"cut"),
				    0644, &err),
			 0);
	prompt_history_release(&h);
	open_history(&h, NULL);
	assert_int_equal(h.n, 2);
	add(&h, "next");
	prompt_history_release(&h);
	open_history(&h, NULL);
	assert_int_equal(h.n, 3);
	assert_true(prompt_history_older(&h, STR(""), &text));
	assert_true(str_is(text, "next"));
	assert_true(prompt_history_older(&h, text, &text));
	assert_true(str_is(text, "b\xC3\xA9"));
	prompt_history_release(&h);
}

static void test_a_long_prompt_is_stored_cut_between_characters(void **state)
{
	struct prompt_history h;
	struct buf text = BUF_INIT(1 << 20);

	(void)state;
	for (size_t i = 0; i < PROMPT_HISTORY_TEXT / 3 + 1; i++)
		buf_adds(&text, "\xE4\xBD\xA0");
	open_history(&h, NULL);
	add(&h, text.ptr);
	prompt_history_release(&h);
	open_history(&h, NULL);
	assert_int_equal(h.items[0].len, PROMPT_HISTORY_TEXT / 3 * 3);
	text.len = h.items[0].len;
	assert_true(str_eq(prompt_history_text(&h, 0), buf_str(&text)));
	prompt_history_release(&h);
	buf_release(&text);
}

static void add_many(int from, int n)
{
	struct prompt_history h;

	open_history(&h, NULL);
	for (int i = from; i < from + n; i++) {
		char text[32];

		snprintf(text, sizeof(text), "prompt %d", i);
		add(&h, text);
	}
	prompt_history_release(&h);
}

/* Writes a file of n lines at once. */
static void write_many(int n)
{
	struct buf all = BUF_INIT(1 << 20);
	struct error err = { 0 };

	for (int i = 0; i < n; i++)
		buf_addf(&all, "\"prompt %d\"\n", i);
	add_many(0, 1);
	assert_int_equal(path_write(path, buf_str(&all), 0600, &err), 0);
	buf_release(&all);
}

static void test_the_file_shrinks_to_the_newest_5000(void **state)
{
	struct prompt_history h;

	(void)state;
	write_many(PROMPT_HISTORY_COMPACT - 1);
	open_history(&h, NULL);
	assert_int_equal(h.n, PROMPT_HISTORY_KEEP);
	add(&h, "newest");
	prompt_history_release(&h);
	open_history(&h, NULL);
	assert_int_equal(h.lines, PROMPT_HISTORY_KEEP);
	assert_true(str_is(prompt_history_text(&h, 0), "prompt 1000"));
	assert_true(str_is(prompt_history_text(&h, 4998), "prompt 5998"));
	assert_true(str_is(prompt_history_text(&h, 4999), "newest"));
	prompt_history_release(&h);
}

static void test_prompts_of_this_project_come_first(void **state)
{
	struct prompt_history h;
	struct str text = { 0 };

	(void)state;
	open_in(&h, "/here", NULL);
	add(&h, "old here");
	prompt_history_release(&h);
	open_in(&h, "/there", NULL);
	add(&h, "new there");
	prompt_history_release(&h);
	expect_file("{\"prompt\":\"old here\",\"project\":\"/here\"}\n"
		    "{\"prompt\":\"new there\",\"project\":\"/there\"}\n");
	open_in(&h, "/here", NULL);
	assert_true(prompt_history_older(&h, STR(""), &text));
	assert_true(str_is(text, "old here"));
	assert_true(prompt_history_older(&h, text, &text));
	assert_true(str_is(text, "new there"));
	prompt_history_release(&h);
	open_in(&h, "/there", NULL);
	assert_true(prompt_history_older(&h, STR(""), &text));
	assert_true(str_is(text, "new there"));
	prompt_history_release(&h);
}

static void test_the_time_of_a_prompt_is_stored(void **state)
{
	struct prompt_history h;
	int64_t now = (int64_t)time(NULL);

	(void)state;
	open_in(&h, "/here", NULL);
	add(&h, "old");
	prompt_history_release(&h);
	open_in(&h, "/here", NULL);
	assert_int_equal(h.n, 1);
	assert_true(h.items[0].time >= now && h.items[0].time <= now + 60);
	prompt_history_release(&h);
}

static void test_a_file_with_too_many_bytes_shrinks(void **state)
{
	struct buf text = BUF_INIT(1 << 20);
	struct prompt_history h;
	struct error err = { 0 };
	struct stat st;

	(void)state;
	write_many(1);
	assert_int_equal(truncate(path, PROMPT_HISTORY_FILE - 10), 0);
	for (int i = 0; i < PROMPT_HISTORY_TEXT; i++)
		buf_addc(&text, 'x');
	open_history(&h, NULL);
	assert_int_equal(prompt_history_add(&h, buf_str(&text), &err), 0);
	prompt_history_release(&h);
	assert_int_equal(stat(path, &st), 0);
	assert_true(st.st_size < 2 * PROMPT_HISTORY_TEXT);
	open_history(&h, NULL);
	assert_int_equal(h.n, 1);
	prompt_history_release(&h);
	buf_release(&text);
}

static bool has_prompt(const struct prompt_history *h, const char *text)
{
	for (size_t i = 0; i < h->n; i++)
		if (str_is(prompt_history_text(h, i), text))
			return true;
	return false;
}

static void test_processes_that_add_at_once_lose_nothing(void **state)
{
	enum { PROCESSES = 4, EACH = 20 };
	struct prompt_history h;
	int status;

	(void)state;
	write_many(PROMPT_HISTORY_COMPACT - 1);
	for (int i = 0; i < PROCESSES; i++) {
		pid_t pid = fork();

		assert_true(pid >= 0);
		if (!pid) {
			add_many(1000 * (i + 1), EACH);
			_exit(0);
		}
	}
	for (int i = 0; i < PROCESSES; i++) {
		assert_true(wait(&status) > 0);
		assert_int_equal(status, 0);
	}
	open_history(&h, NULL);
	assert_int_equal(h.n, PROMPT_HISTORY_KEEP);
	for (int i = 0; i < PROCESSES * EACH; i++) {
		char text[32];

		snprintf(text, sizeof(text), "prompt %d",
			 1000 * (i / EACH + 1) + i % EACH);
		assert_true(has_prompt(&h, text));
	}
	prompt_history_release(&h);
}

/* Another process has the lock all the time, as if it were stopped. */
static void test_without_the_lock_nothing_is_lost_either(void **state)
{
	struct prompt_history h;
	struct error err = { 0 };
	char *name = xasprintf("%s.lock", path);
	int lock;

	(void)state;
	add_many(0, 1);
	lock = path_lock(name, NULL, &err);
	assert_true(lock >= 0);
	add_many(1, 1);
	close(lock);
	open_history(&h, NULL);
	assert_int_equal(h.n, 2);
	prompt_history_release(&h);
	free(name);
}

static void
test_a_file_that_is_none_is_an_error_and_history_goes_on(void **state)
{
	struct prompt_history h;
	struct error err = { 0 };
	struct str text;

	(void)state;
	assert_int_equal(prompt_history_open(&h, folder, NULL, NULL, &err), -1);
	assert_int_equal(err.code, ERR_SYSTEM);
	assert_int_equal(prompt_history_add(&h, STR("x"), &err), -1);
	assert_true(prompt_history_older(&h, STR(""), &text));
	assert_true(str_is(text, "x"));
	prompt_history_release(&h);
}

#define ROW(test)                                                              \
	cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ROW(test_prompts_are_stored_but_not_what_is_no_prompt),
		ROW(test_prompts_are_found_without_a_temporary_file),
		ROW(test_up_and_down_walk_and_keep_the_draft),
		ROW(test_broken_lines_are_skipped_and_a_cut_one_is_ended),
		ROW(test_a_long_prompt_is_stored_cut_between_characters),
		ROW(test_the_file_shrinks_to_the_newest_5000),
		ROW(test_prompts_of_this_project_come_first),
		ROW(test_the_time_of_a_prompt_is_stored),
		ROW(test_a_file_with_too_many_bytes_shrinks),
		ROW(test_processes_that_add_at_once_lose_nothing),
		ROW(test_without_the_lock_nothing_is_lost_either),
		ROW(test_a_file_that_is_none_is_an_error_and_history_goes_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
