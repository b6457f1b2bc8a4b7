/* editor_test.c - a draft is edited as its keys say, and drawn as it is. */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/str.h"
#include "editor/editor.h"
#include "unit.h"

#define FAMILY "\xF0\x9F\x91\xA8\xE2\x80\x8D\xF0\x9F\x91\xA9"
#define E_ACUTE "e\xCC\x81"

static void on_event(void *context, const struct key_event *event)
{
	enum editor_result *last = ((void **)context)[1];

	*last = editor_event(((void **)context)[0], event);
}

/* Feeds bytes of a terminal; returns what the last event gave. */
static enum editor_result type(struct editor *e, const char *bytes)
{
	struct key_reader k = { 0 };
	enum editor_result last = EDITOR_NOTHING;
	void *context[] = { e, &last };
	struct key_sink sink = { on_event, context };

	for (; *bytes; bytes++)
		keys_feed(&k, (struct str){ bytes, 1 }, 0, sink);
	keys_timeout(&k, 1000, sink);
	return last;
}

/* The draft, with the caret as a bar where there are no pastes. */
static void expect(struct editor *e, const char *text)
{
	struct buf out = BUF_INIT(1 << 20);
	struct buf all = BUF_INIT(1 << 20);
	const char *bar = strchr(text, '|');

	editor_text(e, &out);
	if (bar) {
		buf_addf(&all, "%.*s|", (int)e->caret, out.ptr ? out.ptr : "");
		buf_addstr(&all, str_skip(buf_str(&out), e->caret));
	} else {
		buf_addstr(&all, buf_str(&out));
	}
	buf_adds(&all, "");
	assert_string_equal(all.ptr, text);
	buf_release(&out);
	buf_release(&all);
}

/* Rows as text, the caret as "row,column" after them. */
static void expect_rows(struct editor *e, size_t columns, size_t max,
			const char *want)
{
	struct rows rows = { 0 };
	struct buf out = BUF_INIT(1 << 20);
	size_t row = 0;
	size_t column = 0;

	editor_render(e, columns, max, &rows, &row, &column);
	for (size_t i = 0; i < rows.n; i++) {
		assert_true(rows_cells(&rows, i) < columns);
		buf_addstr(&out, rows_view(&rows, i).bytes);
		buf_addc(&out, '\n');
	}
	buf_addf(&out, "%zu,%zu", row, column);
	assert_string_equal(out.ptr, want);
	buf_release(&out);
	rows_release(&rows);
}

static const struct {
	const char *keys;
	const char *text;
} edits[] = {
	{ "abc", "abc|" },
	{ "abc\x1b[D\x1b[DX", "aX|bc" },
	{ "abc\x01X\x05Y", "Xabc"
			   "Y|" },
	{ "a" FAMILY "b\x1b[D\x1b[D", "a|" FAMILY "b" },
	{ "x" E_ACUTE "\x7F", "x|" },
	{ "x" E_ACUTE "\x1b[D\x1b[3~", "x|" },
	{ "\xE4\xBD\xA0\xE5\xA5\xBD\x02", "\xE4\xBD\xA0|\xE5\xA5\xBD" },
	{ "one\ntwo\x1b[A\x1b[HX", "X|one\ntwo" },
	{ "a\x1b[13;2u"
	  "b\x1b\r"
	  "c\x1b[13;5u"
	  "d\x1b[27;2;13~"
	  "e",
	  "a\nb\nc\nd\ne|" },
	{ "a\\\rb", "a\nb|" },
	{ "one two three\x1b"
	  "b\x1b"
	  "bX",
	  "one X|two three" },
	{ "one two\x01\x1b"
	  "f\x1b[1;5CX",
	  "one twoX|" },
	{ "one two-three\x17", "one |" },
	{ "one two-three\x1b\x7F", "one two-|" },
	{ "one two\x01\x1b"
	  "d",
	  "| two" },
	{ "one\ntwo\x15", "one\n|" },
	{ "one\ntwo\x15\x15", "one|" },
	{ "one\ntwo\x1b[A\x01\x0B", "|\ntwo" },
	{ "one\ntwo\x1b[A\x01\x0B\x0B", "|two" },
	{ "one two\x17\x17\x19", "one two|" },
	{ "aa\x17"
	  "bb\x17"
	  "cc\x19",
	  "ccbb|" },
	{ "aa\x17 \x7F"
	  "bb\x17 \x7F\x19\x1b"
	  "y",
	  "aa|" },
	{ "a b\x1b"
	  "y",
	  "a b|" },
	{ "one two\x1F", "one |" },
	{ "one two\x1F\x1F", "|" },
	{ "one two\x1F\x1b_", "one two|" },
	{ "one\x17\x1F\x1b[122;6u", "|" },
	{ "ab\x02\x04", "a|" },
	{ "ab\x04", "ab|" },
	{ "abcdef\nx\nabcdef\x1b[A\x1b[AX", "abcdefX|\nx\nabcdef" },
	{ "a.b\x1b[1;5D\x1b[1;5D", "|a.b" },
};

static void test_each_key_edits_as_it_should(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(edits) / sizeof(*edits); i++) {
		struct editor e = { 0 };

		type(&e, edits[i].keys);
		expect(&e, edits[i].text);
		editor_release(&e);
	}
}

static void test_keys_that_the_caller_answers(void **state)
{
	static const struct {
		const char *keys;
		enum editor_result result;
	} cases[] = {
		{ "\r", EDITOR_SUBMIT },
		{ "a\r", EDITOR_SUBMIT },
		{ "\x04", EDITOR_EOF },
		{ "a\x04", EDITOR_NOTHING },
		{ "\x1b", EDITOR_ESCAPE },
		{ "\x03", EDITOR_INTERRUPT },
		{ "\x1a", EDITOR_SUSPEND },
		{ "\x0c", EDITOR_REDRAW },
		{ "\x18", EDITOR_EXTERNAL },
		{ "\x0f", EDITOR_OUTPUT },
		{ "\x12", EDITOR_SEARCH },
		{ "\t", EDITOR_COMPLETE },
		{ "\x14", EDITOR_MODE },
		{ "\x1b[Z", EDITOR_MODE },
		{ "\x1b[A", EDITOR_OLDER },
		{ "\x1b[B", EDITOR_NEWER },
		{ "a\nb\x1b[A", EDITOR_CHANGED },
		{ "a\nb\x1b[A\x10", EDITOR_OLDER },
		{ "a\nb\x1b[A\x0e", EDITOR_CHANGED },
		{ "a\nb\x0e", EDITOR_NEWER },
		{ "\x1b[15~", EDITOR_NOTHING },
		{ "a\\\x1b[D\r", EDITOR_SUBMIT },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct editor e = { 0 };

		assert_int_equal(type(&e, cases[i].keys), cases[i].result);
		editor_release(&e);
	}
}

static void test_rows_have_the_prompt_and_the_caret_its_cell(void **state)
{
	struct editor e = { .prompt = STR("> ") };

	(void)state;
	expect_rows(&e, 20, 5, "> \n0,2");
	type(&e, "abc\nd");
	editor_type(&e, STR("\tx"));
	expect_rows(&e, 20, 5, "> abc\n  d       x\n1,11");
	type(&e, "\x1b[A");
	expect_rows(&e, 20, 5, "> abc\n  d       x\n0,5");
	editor_reset(&e);
	/* The blank behind a full row is not the first of the next one. */
	type(&e, "1234567 9");
	expect_rows(&e, 10, 5, "> 1234567\n  9\n1,3");
	type(&e, "\x1b[D\x1b[D");
	expect_rows(&e, 10, 5, "> 1234567\n  9\n0,9");
	editor_reset(&e);
	/* 7 cells a row: a wide character is never split. */
	type(&e, "abcdef\xE4\xBD\xA0\xE5\xA5\xBD");
	expect_rows(&e, 10, 5, "> abcdef\n  \xE4\xBD\xA0\xE5\xA5\xBD\n1,6");
	type(&e, "\x02\x02");
	expect_rows(&e, 10, 5, "> abcdef\n  \xE4\xBD\xA0\xE5\xA5\xBD\n1,2");
	type(&e, "\x02");
	expect_rows(&e, 10, 5, "> abcdef\n  \xE4\xBD\xA0\xE5\xA5\xBD\n0,7");
	/* A full row goes on below only with the next character. */
	editor_reset(&e);
	type(&e, "1234567");
	expect_rows(&e, 10, 5, "> 1234567\n0,9");
	type(&e, "8");
	expect_rows(&e, 10, 5, "> 1234567\n  8\n1,3");
	/* Hidden characters are seen. */
	editor_reset(&e);
	type(&e, "a\xE2\x80\xAE"
		 "b");
	expect_rows(&e, 20, 5, "> a<U+202E>b\n0,12");
	editor_release(&e);
}

static void test_the_view_scrolls_to_the_caret_and_back(void **state)
{
	struct editor e = { .prompt = STR("> ") };

	(void)state;
	type(&e, "1\n2\n3\n4\n5");
	expect_rows(&e, 20, 3, "^ 3\n  4\n  5\n2,3");
	type(&e, "\x1b[A\x1b[A");
	expect_rows(&e, 20, 3, "^ 3\n  4\n  5\n0,3");
	type(&e, "\x1b[A");
	expect_rows(&e, 20, 3, "^ 2\n  3\nv 4\n0,3");
	type(&e, "\x1b[1;5H");
	expect_rows(&e, 20, 3, "> 1\n  2\nv 3\n0,2");
	type(&e, "\x1b[1;5F\x15\x15\x15\x15");
	expect_rows(&e, 20, 3, "> 1\n  2\n  3\n2,3");
	expect_rows(&e, 20, 1, "^ 3\n0,3");
	editor_release(&e);
}

static void test_the_goal_column_is_kept_over_short_rows(void **state)
{
	struct editor e = { .prompt = STR("> ") };

	(void)state;
	type(&e, "abcdef\nx\n\xE4\xBD\xA0\xE5\xA5\xBD\xE4\xBD\xA0\nabcdef");
	expect_rows(&e, 20, 9,
		    "> abcdef\n  x\n"
		    "  \xE4\xBD\xA0\xE5\xA5\xBD\xE4\xBD\xA0\n"
		    "  abcdef\n3,8");
	type(&e, "\x1b[D\x1b[A");
	assert_int_equal(e.caret, 9 + 6);
	type(&e, "\x1b[A");
	assert_int_equal(e.caret, 8);
	type(&e, "\x1b[A");
	assert_int_equal(e.caret, 5);
	editor_release(&e);
}

static void paste_in_steps(struct editor *e, struct str bytes, size_t step)
{
	editor_paste_begin(e);
	for (size_t n; bytes.len; bytes = str_skip(bytes, n)) {
		n = bytes.len < step ? bytes.len : step;
		editor_paste_feed(e, (struct str){ bytes.ptr, n });
	}
	editor_paste_end(e);
}

static void paste(struct editor *e, struct str bytes)
{
	paste_in_steps(e, bytes, 4096);
}

static void test_a_short_paste_is_text_a_long_one_a_marker(void **state)
{
	struct editor e = { .prompt = STR("> ") };

	(void)state;
	paste(&e, STR("a\rb\rc"));
	expect(&e, "a\nb\nc|");
	editor_reset(&e);
	type(&e, "x");
	paste(&e, STR("a\rb\rc\rd"));
	type(&e, "y");
	expect_rows(&e, 60, 5, "> x[Pasted #1: 4 lines, 7 B]y\n0,29");
	expect(&e, "xa\nb\nc\ndy");
	/* One cluster for the caret, deleted whole, taken back whole. */
	type(&e, "\x1b[D\x1b[D");
	expect_rows(&e, 60, 5, "> x[Pasted #1: 4 lines, 7 B]y\n0,3");
	type(&e, "\x1b[3~");
	expect(&e, "x|y");
	type(&e, "\x1F");
	expect(&e, "xa\nb\nc\ndy");
	/* The same again puts it there as text. */
	paste(&e, STR("a\rb\rc\rd"));
	expect(&e, "xa\nb\nc\nd|y");
	expect_rows(&e, 60, 5, "> xa\n  b\n  c\n  dy\n3,3");
	editor_release(&e);
}

static void test_a_paste_keeps_its_bytes_but_what_is_no_utf8(void **state)
{
	struct editor e = { .prompt = STR("> ") };
	struct buf out = BUF_INIT(100);

	(void)state;
	paste(&e, STR("a\0b\r\n\x1b[31m"));
	expect_rows(&e, 70, 5,
		    "> [Pasted #1: 2 lines, 9 B, with control characters]\n"
		    "0,52");
	editor_text(&e, &out);
	assert_int_equal(out.len, 9);
	assert_memory_equal(out.ptr, "ab\r\n\x1b[31m", 9);
	/* The same again is a second one: as text it would be controls. */
	paste(&e, STR("a\0b\r\n\x1b[31m"));
	buf_clear(&out);
	editor_text(&e, &out);
	assert_int_equal(out.len, 18);
	editor_reset(&e);
	paste(&e, STR("\xFF\xC3(\xE2\x82"));
	expect_rows(&e, 80, 5,
		    "> [Pasted #1: 5 B, invalid UTF-8 sent as U+FFFD]\n0,48");
	expect(&e, "\xEF\xBF\xBD\xEF\xBF\xBD(\xEF\xBF\xBD\xEF\xBF\xBD");
	editor_release(&e);
	buf_release(&out);
}

static void test_a_paste_is_judged_the_same_however_it_arrives(void **state)
{
	static const struct {
		const char *text;
		bool clean;
	} pastes[] = {
		{ "\xE6\xBC\xA2 a\xC3\xA4\xF0\x9F\x98\x80\xC2\xA0 b", true },
		{ "abcdefghijklmnopqrstu\n\tv\xE6\xBC\xA2", true },
		{ "a\rbcdefghijklmn", true }, /* a line end */
		{ "a\rbcdefgh\nijklmn", false },
		{ "\xE6\xBC\xA2 ab\xC2\x9F cdefghijkl", false },
		{ "\xE6\xBC\xA2 abcdefghijkl\x1B", false },
		{ "\x7F\xE6\xBC\xA2 abcdefghijkl", false },
		{ "abcdefgh\xE6\xBC ijklmnop", false },
		{ "abcdefghijklmnop\xF0\x9F\x98", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(pastes) / sizeof(pastes[0]); i++)
		for (size_t step = 1; step < 20; step++) {
			struct editor e = { 0 };

			paste_in_steps(&e, str_of(pastes[i].text), step);
			assert_int_equal(e.pastes.n, !pastes[i].clean);
			editor_release(&e);
		}
}

static void test_line_ends_are_mended_the_same_however_they_arrive(void **state)
{
	static const char *const pastes[][2] = {
		{ "a\rb\r", "a\nb\n" },           { "\r\r\r", "\n\n\n" },
		{ "a\rb\r\n", "a\rb\r\n" },       { "\n\ra\r", "\n\ra\r" },
		{ "a\r\rb\nc\r", "a\r\rb\nc\r" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(pastes) / sizeof(pastes[0]); i++)
		for (size_t step = 1; step < 9; step++) {
			struct editor e = { 0 };

			paste_in_steps(&e, str_of(pastes[i][0]), step);
			expect(&e, pastes[i][1]);
			editor_release(&e);
		}
}

static void test_lines_that_end_in_cr_are_checked_as_they_arrive(void **state)
{
	struct editor e = { 0 };

	(void)state;
	editor_paste_begin(&e);
	editor_paste_feed(&e, STR("one\rtwo\r\rthree"));
	assert_int_equal(e.clean, 14);
	editor_release(&e);
}

static void test_a_cut_marker_can_be_put_back_until_it_is_sent(void **state)
{
	struct editor e = { 0 };

	(void)state;
	paste(&e, STR("a\rb\rc\rd"));
	type(&e, "\x15\x19\x19");
	expect(&e, "a\nb\nc\nda\nb\nc\nd");
	editor_reset(&e);
	type(&e, "\x19");
	expect(&e, "|");
	type(&e, "word\x15");
	editor_reset(&e);
	type(&e, "\x19");
	expect(&e, "word|");
	editor_release(&e);
}

static void test_a_draft_that_is_set_can_be_taken_back(void **state)
{
	struct editor e = { 0 };

	(void)state;
	type(&e, "mine");
	editor_set(&e, STR("older\nprompt"));
	expect(&e, "older\nprompt|");
	type(&e, "\x1F");
	expect(&e, "mine|");
	editor_set(&e, STR("nul\0"));
	assert_int_equal(e.pastes.n, 1);
	editor_replace_before(&e, 4, STR("x"));
	expect(&e, "x|");
	assert_true(str_is(editor_before(&e, 100), "x"));
	editor_release(&e);
}

static void test_a_recalled_prompt_has_the_markers_of_its_draft(void **state)
{
	struct editor e = { .prompt = STR("> ") };
	struct buf sent = BUF_INIT(1000);

	(void)state;
	type(&e, "fix \x1b[200~a\nb\nc\nd\n\x1b[201~ now");
	editor_text(&e, &sent);
	editor_reset(&e);
	editor_set(&e, buf_str(&sent));
	expect_rows(&e, 60, 9, "> fix [Pasted #1: 4 lines, 8 B] now\n0,35");
	expect(&e, "fix a\nb\nc\nd\n now");
	editor_reset(&e);
	editor_set(&e, STR("a\nb\nc\nd")); /* without its last line end */
	expect_rows(&e, 60, 9, "> [Pasted #1: 4 lines, 7 B]\n0,27");
	editor_set(&e, STR("a\nb"));
	expect_rows(&e, 60, 9, "> a\n  b\n1,3");
	editor_set(&e, STR(""));
	expect(&e, "|");
	for (int i = 0; i < PASTES_RECENT; i++) {
		char paste[40];

		snprintf(paste, sizeof(paste), "\x1b[200~%d\n\n\nx\x1b[201~",
			 i);
		type(&e, paste);
	}
	editor_reset(&e);
	editor_set(&e, STR("a\nb\nc\nd")); /* was long ago */
	assert_int_equal(e.pastes.n, 0);
	buf_release(&sent);
	editor_release(&e);
}

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Types, moves and draws in a text of so many bytes; the time that it took. */
static double work(struct str text)
{
	struct editor e = { .prompt = STR("> ") };
	struct rows rows = { 0 };
	size_t row;
	size_t column;
	double begun;

	editor_set(&e, text);
	type(&e, "\x1b[A\x1b[A");
	editor_render(&e, 80, 20, &rows, &row, &column);
	begun = seconds();
	for (int i = 0; i < 50; i++) {
		type(&e, "x\x1b[D\x1b[A\x1b[B\x7F"
			 "y\x1b[C");
		rows_clear(&rows);
		editor_render(&e, 80, 20, &rows, &row, &column);
	}
	begun = seconds() - begun;
	rows_release(&rows);
	editor_release(&e);
	return begun;
}

static void test_work_of_a_key_does_not_grow_with_the_text(void **state)
{
	enum { SMALL = 200000, LARGE = 10000000 };
	char *bytes = malloc(LARGE);
	double small;

	(void)state;
	/* One line of all, the worst there is. */
	memset(bytes, 'a', LARGE);
	small = work((struct str){ bytes, SMALL });
	assert_true(work((struct str){ bytes, LARGE }) < 10 * small + 0.05);
	for (size_t i = 60; i < LARGE; i += 61)
		bytes[i] = '\n';
	small = work((struct str){ bytes, SMALL });
	assert_true(work((struct str){ bytes, LARGE }) < 10 * small + 0.05);
	free(bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_key_edits_as_it_should),
		cmocka_unit_test(test_keys_that_the_caller_answers),
		cmocka_unit_test(
			test_rows_have_the_prompt_and_the_caret_its_cell),
		cmocka_unit_test(test_the_view_scrolls_to_the_caret_and_back),
		cmocka_unit_test(test_the_goal_column_is_kept_over_short_rows),
		cmocka_unit_test(
			test_a_short_paste_is_text_a_long_one_a_marker),
		cmocka_unit_test(
			test_a_paste_keeps_its_bytes_but_what_is_no_utf8),
		cmocka_unit_test(
			test_a_paste_is_judged_the_same_however_it_arrives),
		cmocka_unit_test(
			test_line_ends_are_mended_the_same_however_they_arrive),
		cmocka_unit_test(
			test_lines_that_end_in_cr_are_checked_as_they_arrive),
		cmocka_unit_test(
			test_a_cut_marker_can_be_put_back_until_it_is_sent),
		cmocka_unit_test(test_a_draft_that_is_set_can_be_taken_back),
		cmocka_unit_test(
			test_a_recalled_prompt_has_the_markers_of_its_draft),
		cmocka_unit_test(
			test_work_of_a_key_does_not_grow_with_the_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
