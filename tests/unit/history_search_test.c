/* history_search_test.c - Ctrl+R: what is found while one types. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/str.h"
#include "editor/history_search.h"
#include "markup.h"
#include "unit.h"

static struct prompt_history history;
static struct history_search search;

static int open_search(void **state)
{
	static const char *const prompts[] = {
		"make the tests pass",   "Fix TEST of cells",
		"one\ntwo tests\nthree", "make it fast",
		"make it fast",          "last words",
	};
	struct error err = { 0 };

	(void)state;
	history = (struct prompt_history){ .draft = BUF_INIT(SIZE_MAX),
					   .filter = BUF_INIT(SIZE_MAX) };
	for (size_t i = 0; i < sizeof(prompts) / sizeof(*prompts); i++)
		prompt_history_add(&history, str_of(prompts[i]), &err);
	for (size_t i = 0; i < history.n; i++)
		history.items[i].time = 0; /* as an older dcode stored them */
	history_search_begin(&search, &history);
	return 0;
}

static int close_search(void **state)
{
	(void)state;
	history_search_release(&search);
	prompt_history_release(&history);
	return 0;
}

static enum history_search_result type(const char *text)
{
	return history_search_event(
		&search, &(struct key_event){ .kind = KEY_EVENT_TEXT,
					      .text = str_of(text) });
}

static enum history_search_result press(enum key_name name, char c)
{
	struct key key = { name, (uint32_t)c, c ? KEY_CTRL : 0 };

	return history_search_event(
		&search,
		&(struct key_event){ .kind = KEY_EVENT_KEY, .key = key });
}

static void finds(const char *expected)
{
	struct str text = { 0 };

	assert_true(history_search_text(&search, &text));
	assert_true(str_is(text, expected));
}

static void finds_nothing(void)
{
	struct str text;

	assert_false(history_search_text(&search, &text));
}

static void each_character_narrows_what_is_found(void **state)
{
	(void)state;
	finds("last words");
	type("t");
	finds("last words");
	type("e");
	finds("one\ntwo tests\nthree");
	type("st o");
	finds("Fix TEST of cells");
	press(KEY_BACKSPACE, 0);
	press(KEY_BACKSPACE, 0);
	finds("one\ntwo tests\nthree");
}

static void again_goes_older_and_back(void **state)
{
	(void)state;
	type("make");
	finds("make it fast");
	press(KEY_CHAR, 'r');
	finds("make the tests pass"); /* what is there twice counts once */
	press(KEY_CHAR, 'r');
	finds("make the tests pass"); /* the oldest one */
	press(KEY_CHAR, 's');
	finds("make it fast");
	press(KEY_CHAR, 's');
	finds("make it fast"); /* the newest one */
}

static void a_query_with_capitals_is_exact(void **state)
{
	(void)state;
	type("Test");
	finds_nothing();
	for (int i = 0; i < 3; i++)
		press(KEY_BACKSPACE, 0);
	type("EST");
	finds("Fix TEST of cells");
}

static void what_failed_is_found_again_with_less(void **state)
{
	(void)state;
	type("fast");
	type("er");
	finds_nothing();
	press(KEY_BACKSPACE, 0);
	press(KEY_BACKSPACE, 0);
	finds("make it fast");
}

static void nothing_typed_looks_for_the_last_query(void **state)
{
	(void)state;
	type("test");
	assert_int_equal(press(KEY_ENTER, 0), HISTORY_SEARCH_TAKEN);
	assert_false(search.on);
	history_search_begin(&search, &history);
	finds("last words");
	press(KEY_CHAR, 'r');
	finds("one\ntwo tests\nthree");
	press(KEY_CHAR, 'r');
	finds("Fix TEST of cells");
}

static void keys_end_it_in_three_ways(void **state)
{
	static const struct {
		enum key_name name;
		char c;
		enum history_search_result result;
	} cases[] = {
		{ KEY_ENTER, 0, HISTORY_SEARCH_TAKEN },
		{ KEY_TAB, 0, HISTORY_SEARCH_TAKEN },
		{ KEY_ESCAPE, 0, HISTORY_SEARCH_CANCELLED },
		{ KEY_CHAR, 'g', HISTORY_SEARCH_CANCELLED },
		{ KEY_CHAR, 'c', HISTORY_SEARCH_CANCELLED },
		{ KEY_LEFT, 0, HISTORY_SEARCH_LEFT },
		{ KEY_CHAR, 'a', HISTORY_SEARCH_LEFT },
		{ KEY_CHAR, 'r', HISTORY_SEARCH_GOES_ON },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		history_search_begin(&search, &history);
		assert_int_equal(press(cases[i].name, cases[i].c),
				 cases[i].result);
		assert_int_equal(search.on,
				 cases[i].result == HISTORY_SEARCH_GOES_ON);
	}
}

static void shows(size_t columns, size_t max_rows, const char *expected,
		  size_t at)
{
	struct rows rows = { 0 };
	size_t row;
	size_t column;
	char *text;

	history_search_render(&search, columns, max_rows, &rows, &row, &column);
	text = rows_text(&rows);
	assert_string_equal(text, expected);
	assert_int_equal(row, 0);
	assert_int_equal(column, at);
	for (size_t i = 0; i < rows.n; i++)
		assert_true(rows_cells(&rows, i) <= columns);
	free(text);
	rows_release(&rows);
}

static void the_caret_stands_behind_the_query(void **state)
{
	(void)state;
	type("two t");
	shows(40, 5, "History: two t   1 of 1\n> one two tests three\n", 14);
	shows(40, 1, "History: two t   1 of 1\n", 14);
	shows(10, 1, "Histowo t\n", 9);
	type("\xE4\xB8\xAD");
	shows(40, 1, "No such prompt: two t\xE4\xB8\xAD\n", 23);
}

static void the_matches_are_a_list(void **state)
{
	(void)state;
	shows(40, 9,
	      "History:    1 of 5\n> last words\n  make it fast\n"
	      "  one two tests three\n  Fix TEST of cells\n"
	      "  make the tests pass\n",
	      9);
	press(KEY_DOWN, 0);
	press(KEY_CHAR, 'r');
	finds("one\ntwo tests\nthree");
	/* A list that is longer than the rows scrolls. */
	shows(40, 3,
	      "History:    3 of 5\n  make it fast\n> one two tests three\n", 9);
	press(KEY_UP, 0);
	finds("make it fast");
	press(KEY_PAGE_DOWN, 0);
	finds("Fix TEST of cells");
	type("tests");
	shows(40, 3,
	      "History: tests   1 of 2\n> one two tests three\n"
	      "  make the tests pass\n",
	      14);
	/* Of a long text the part with the match is shown. */
	shows(16, 2, "History:tests\n> ...e two tes…\n", 13);
}

static void prompts_of_other_projects_come_last_and_are_named(void **state)
{
	(void)state;
	history.project = strdup("/src/mine");
	history.items[4].project = strdup("/src/other");
	for (int i = 0; i < 4; i++)
		history.items[i].project = strdup("/src/mine");
	shows(60, 2, "History:    1 of 5\n> last words  other\n", 9);
	press(KEY_DOWN, 0);
	shows(60, 3,
	      "History:    2 of 5\n  last words  other\n> make it fast\n", 9);
}

static void the_age_of_a_match_is_on_the_right(void **state)
{
	static const int64_t ages[] = { 3 * 86400, 2 * 86400 + 5, 7230, 310,
					5 };

	(void)state;
	for (size_t i = 0; i < history.n; i++)
		history.items[i].time = (int64_t)time(NULL) - ages[i];
	shows(40, 9,
	      "History:    1 of 5\n"
	      "> last words                        now\n"
	      "  make it fast                    5 min\n"
	      "  one two tests three               2 h\n"
	      "  Fix TEST of cells                 2 d\n"
	      "  make the tests pass               3 d\n",
	      9);
	history.items[4].time = 0;
	shows(29, 2, "History:    1 of 5\n> last words\n", 9);
	press(KEY_DOWN, 0);
	shows(29, 3, "History:    2 of 5\n  last words\n> make it fast\n", 9);
}

static void an_empty_history_has_nothing(void **state)
{
	struct prompt_history none = { 0 };
	struct str text;

	(void)state;
	history_search_begin(&search, &none);
	type("x");
	press(KEY_CHAR, 'r');
	press(KEY_CHAR, 's');
	press(KEY_BACKSPACE, 0);
	press(KEY_BACKSPACE, 0);
	assert_int_equal(press(KEY_ENTER, 0), HISTORY_SEARCH_TAKEN);
	assert_false(history_search_text(&search, &text));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, open_search, close_search)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(each_character_narrows_what_is_found),
		TEST(again_goes_older_and_back),
		TEST(a_query_with_capitals_is_exact),
		TEST(what_failed_is_found_again_with_less),
		TEST(nothing_typed_looks_for_the_last_query),
		TEST(keys_end_it_in_three_ways),
		TEST(the_caret_stands_behind_the_query),
		TEST(the_matches_are_a_list),
		TEST(prompts_of_other_projects_come_last_and_are_named),
		TEST(the_age_of_a_match_is_on_the_right),
		TEST(an_empty_history_has_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
