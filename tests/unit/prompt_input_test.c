/* prompt_input_test.c - history, search and completion meet in the editor. */
/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/str.h"
#include "term/prompt_input.h"
#include "unit.h"

static struct prompt_input input;
static struct fuzzy_item commands[2];

static int open_input(void **state)
{
	static const char *const sent[] = { "fix the parser", "run tests",
					    "fix\ntests" };
	struct error err = { 0 };

	(void)state;
	input = (struct prompt_input){ .editor.prompt = STR("> ") };
	commands[0].name = STR("/model");
	commands[1].name = STR("/quit");
	input.complete.commands = commands;
	input.complete.n_commands = 2;
	if (prompt_history_open(&input.history, NULL, NULL, &err))
		return -1;
	for (size_t i = 0; i < sizeof(sent) / sizeof(*sent); i++) {
		editor_set(&input.editor, str_of(sent[i]));
		if (prompt_input_sent(&input, &err))
			return -1;
	}
	return 0;
}

static int close_input(void **state)
{
	(void)state;
	prompt_input_release(&input);
	return 0;
}

static void on_event(void *context, const struct key_event *event)
{
	*(enum editor_result *)context = prompt_input_event(&input, event);
}

static enum editor_result type(const char *bytes)
{
	struct key_reader k = { 0 };
	enum editor_result last = EDITOR_NOTHING;
	struct key_sink sink = { on_event, &last };

	keys_feed(&k, str_of(bytes), 0, sink);
	keys_timeout(&k, 1000, sink);
	return last;
}

static void expect(size_t max_rows, const char *want)
{
	struct rows rows = { 0 };
	struct buf out = BUF_INIT(10000);
	size_t row;
	size_t column;

	prompt_input_render(&input, 40, max_rows, &rows, &row, &column);
	assert_true(rows.n <= max_rows);
	for (size_t i = 0; i < rows.n; i++) {
		buf_addstr(&out, rows_view(&rows, i).bytes);
		buf_addc(&out, '\n');
	}
	buf_addf(&out, "%zu,%zu", row, column);
	assert_string_equal(out.ptr, want);
	buf_release(&out);
	rows_release(&rows);
}

static void test_up_walks_the_history_and_down_brings_the_draft(void **state)
{
	(void)state;
	type("fix");
	assert_int_equal(type("\x1b[A"), EDITOR_CHANGED);
	expect(9, "> fix\n  tests\n1,7");
	/* Its second row, its first, then an older one. */
	type("\x1b[A\x1b[A");
	expect(9, "> fix the parser\n0,16");
	assert_int_equal(type("\x1b[A"), EDITOR_NOTHING);
	type("\x1b[B\x1b[B");
	expect(9, "> fix\n0,5");
	assert_int_equal(type("\x1b[B"), EDITOR_NOTHING);
}

static void
test_search_shows_what_it_finds_and_escape_gives_it_back(void **state)
{
	(void)state;
	type("draft\x12");
	expect(9, "> draft\nsearch the history: \n0,7");
	type("FIX");
	expect(9, "> fix\n  tests\nsearch the history: FIX\n1,7");
	type("\x12");
	expect(9, "> fix the parser\nsearch the history: FIX\n0,16");
	type("\x12");
	expect(9, "> fix the parser\nnot in the history: FIX\n0,16");
	assert_int_equal(type("\x1b"), EDITOR_CHANGED);
	expect(9, "> draft\n0,7");
	/* Enter takes it and sends only the second time. */
	assert_int_equal(type("\x12run\r"), EDITOR_CHANGED);
	expect(9, "> run tests\n0,11");
	assert_int_equal(type("\r"), EDITOR_SUBMIT);
}

static void test_a_popup_has_the_keys_while_it_is_shown(void **state)
{
	(void)state;
	type("/");
	expect(9, "> /\n  /model\n  /quit\n0,3");
	type("\x1b[B");
	expect(2, "> /\n  /quit\n0,3");
	assert_int_equal(type("\r"), EDITOR_CHANGED);
	expect(9, "> /quit \n0,8");
	assert_int_equal(type("\r"), EDITOR_SUBMIT);
	editor_reset(&input.editor);
	type("/m");
	assert_int_equal(type("\x1b"), EDITOR_CHANGED);
	expect(9, "> /m\n0,4");
	assert_int_equal(type("\x1b"), EDITOR_ESCAPE);
	type("\t");
	expect(9, "> /m\n  /model\n0,4");
}

#define ROW(test) cmocka_unit_test_setup_teardown(test, open_input, close_input)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ROW(test_up_walks_the_history_and_down_brings_the_draft),
		ROW(test_search_shows_what_it_finds_and_escape_gives_it_back),
		ROW(test_a_popup_has_the_keys_while_it_is_shown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
