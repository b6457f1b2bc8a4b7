/* status_test.c - the line below the editor, at widths that have room or not.
 */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "markup.h"
#include "ui/status.h"
#include "unit.h"

static const struct theme theme = { .ascii = true };

static const struct status full = {
	.model = "anthropic:claude-opus-5",
	.sandbox = "daytona 3f2a91c0ab12",
	.directory = "~/src/dcode",
	.branch = "main",
	.left_s = 3 * 3600,
	.context = 84000,
	.window = 200000,
	.input = 91000,
	.output = 4200,
};

static void shows(const struct status *s, size_t columns, const char *expected)
{
	struct rows rows = { 0 };
	char *shown;

	status_render(s, &theme, columns, &rows);
	shown = rows_text(&rows);
	assert_string_equal(shown, expected);
	assert_int_equal(rows.n, 1);
	assert_true(rows_cells(&rows, 0) <= columns);
	free(shown);
	rows_release(&rows);
}

static void all_is_said_where_there_is_room(void **state)
{
	(void)state;
	shows(&full, 200,
	      "claude-opus-5 - daytona 3f2a91c0ab12, 3 h left - "
	      "~/src/dcode - main - context 84.0K, 42% - 91.0K in, 4.2K out\n");
}

static void the_user_orders_the_parts(void **state)
{
	static const char *const names[] = { "context", "model", "tokens" };
	static const char *const unknown[] = { "model", "clock" };
	static const char *const twice[] = { "model", "model" };
	struct status_order order = { .n = 0 };
	struct status s = full;
	struct error err = { 0 };

	(void)state;
	assert_int_equal(status_order_read(&order, names, 3, &err), 0);
	s.order = &order;
	s.queued = 2;
	shows(&s, 200,
	      "2 queued - context 84.0K, 42% - claude-opus-5 - "
	      "91.0K in, 4.2K out\n");
	assert_int_equal(status_order_read(&order, unknown, 2, &err), -1);
	assert_string_equal(err.message,
			    "[ui] status_line: unknown part: \"clock\"");
	assert_int_equal(status_order_read(&order, twice, 2, &err), -1);
	assert_string_equal(err.message,
			    "[ui] status_line: named twice: \"model\"");
	assert_int_equal(order.n, 3);
}

static void parts_are_shortened_before_one_is_left_out(void **state)
{
	(void)state;
	shows(&full, 100,
	      "claude-opus-5 - daytona 3f2a91c0ab12 - dcode - main - "
	      "context 84.0K, 42% - 91.0K in, 4.2K out\n");
	shows(&full, 80,
	      "claude-opus-5 - daytona 3f2a91c0ab12 - dcode - main - ctx "
	      "42%\n");
	shows(&full, 70,
	      "claude-opus-5 - daytona 3f2a91c0ab12 - dcode - main - ctx "
	      "42%\n");
	shows(&full, 50, "claude-opus-5 - daytona 3f2a91c0ab12 - ctx 42%\n");
	shows(&full, 40, "claude-opus-5 - dcode - main - ctx 42%\n");
	shows(&full, 20, "opus-5 - ctx 42%\n");
	shows(&full, 10, "opus-5\n");
}

static void what_waits_and_a_hint_stay_longest(void **state)
{
	struct status s = full;

	(void)state;
	s.queued = 2;
	s.mode = "manual";
	shows(&s, 40, "2 queued - manual - opus-5 - ctx 42%\n");
	shows(&s, 33, "2 queued - manual - opus-5 - main\n");
	shows(&s, 32, "2 queued - manual - opus-5\n");
	s.hint = "Ctrl-C again leaves";
	shows(&s, 40, "Ctrl-C again leaves - 2 queued - manual\n");
	shows(&s, 30, "Ctrl-C again leaves - 2 queued\n");
}

static void an_end_that_is_near_is_not_left_out(void **state)
{
	struct status s = full;
	struct rows rows = { 0 };
	char *shown;

	(void)state;
	s.left_s = 299;
	shows(&s, 40, "opus-5 - daytona 3f2a91c0ab12, 4 min\n");
	status_render(&s, &theme, 40, &rows);
	shown = markup(&rows);
	assert_string_equal(shown, "{muted|opus-5 - }"
				   "{warn|daytona 3f2a91c0ab12, 4 min}\n");
	free(shown);
	rows_release(&rows);
	s.left_s = -1;
	s.state = "starting";
	shows(&s, 60,
	      "claude-opus-5 - daytona 3f2a91c0ab12, starting - ctx 42%\n");
}

static void a_mode_that_asks_nothing_stands_out(void **state)
{
	struct status s = { .mode = "yolo", .model = "m", .left_s = -1 };

	(void)state;
	for (int unasked = 0; unasked < 2; unasked++) {
		struct rows rows = { 0 };
		char *shown;

		s.unasked = unasked;
		status_render(&s, &theme, 40, &rows);
		shown = markup(&rows);
		assert_string_equal(shown, unasked ? "{warn|yolo}{muted| - m}\n"
						   : "{muted|yolo - m}\n");
		free(shown);
		rows_release(&rows);
	}
}

static void a_context_without_a_window_has_no_percent(void **state)
{
	struct status s = { .model = "m", .left_s = -1, .context = 999 };

	(void)state;
	shows(&s, 80, "m - context 999 tokens\n");
	s.window = 1000;
	shows(&s, 80, "m - context 999 tokens, 99%\n");
	s.context = 1500000;
	s.window = 0;
	shows(&s, 80, "m - context 1.5M\n");
}

static void nothing_from_outside_reaches_the_terminal(void **state)
{
	struct status s = { .model = "a:\x1b]0;x\x07"
				     "b",
			    .branch = "m\x9b"
				      "2J\nx",
			    .left_s = -1 };
	struct rows rows = { 0 };

	(void)state;
	status_render(&s, &theme, 80, &rows);
	for (size_t i = 0; i < rows.bytes.len; i++)
		assert_true((unsigned char)rows.bytes.ptr[i] >= ' ');
	assert_true(str_is_utf8(buf_str(&rows.bytes)));
	rows_release(&rows);
}

static void the_text_of_the_time_left_changes_when_told(void **state)
{
	(void)state;
	assert_int_equal(status_left_changes(7300), 101); /* 2 h, then 1 h */
	assert_int_equal(status_left_changes(3600), 1);
	assert_int_equal(status_left_changes(3599), 60); /* 59, then 58 min */
	assert_int_equal(status_left_changes(0), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_is_said_where_there_is_room),
		cmocka_unit_test(the_user_orders_the_parts),
		cmocka_unit_test(parts_are_shortened_before_one_is_left_out),
		cmocka_unit_test(what_waits_and_a_hint_stay_longest),
		cmocka_unit_test(an_end_that_is_near_is_not_left_out),
		cmocka_unit_test(a_mode_that_asks_nothing_stands_out),
		cmocka_unit_test(a_context_without_a_window_has_no_percent),
		cmocka_unit_test(nothing_from_outside_reaches_the_terminal),
		cmocka_unit_test(the_text_of_the_time_left_changes_when_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
