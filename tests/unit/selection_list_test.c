/* selection_list_test.c - keys move and filter, Enter chooses what is shown. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "base/str.h"
#include "editor/choices.h"
#include "unit.h"

enum { ITEMS = 5 };

static struct fuzzy_item items[ITEMS];
static struct selection_list list;

static int open_list(void **state)
{
	(void)state;
	items[0].name = STR("alpha");
	items[0].summary = STR("the first");
	items[1].name = STR("beta");
	items[2].name = STR("gamma \xE4\xBD\xA0\xE5\xA5\xBD");
	items[3].name = STR("delta");
	items[4].name = STR("beta two");
	selection_list_open(&list, STR("Pick one"), items, ITEMS, 1);
	return 0;
}

static int close_list(void **state)
{
	(void)state;
	selection_list_release(&list);
	return 0;
}

static enum selection_result press(enum key_name name)
{
	const struct key_event event = { .kind = KEY_EVENT_KEY,
					 .key = { .name = name } };

	return selection_list_event(&list, &event);
}

static enum selection_result type(const char *text)
{
	const struct key_event event = { .kind = KEY_EVENT_TEXT,
					 .text = str_of(text) };

	return selection_list_event(&list, &event);
}

static void expect_rows(size_t columns, size_t max, const char *want)
{
	struct rows rows = { 0 };
	struct buf out = BUF_INIT(10000);
	size_t row;
	size_t column;

	selection_list_render(&list, columns, max, &rows, &row, &column);
	assert_true(rows.n <= max);
	for (size_t i = 0; i < rows.n; i++) {
		assert_true(rows_cells(&rows, i) <= columns);
		buf_addstr(&out, rows_view(&rows, i).bytes);
		buf_addc(&out, '\n');
	}
	buf_addf(&out, "%zu,%zu", row, column);
	assert_string_equal(out.ptr, want);
	buf_release(&out);
	rows_release(&rows);
}

static void test_it_begins_where_it_was_told_and_moves(void **state)
{
	(void)state;
	assert_int_equal(selection_list_chosen(&list), 1);
	assert_int_equal(press(KEY_DOWN), SELECTION_CHANGED);
	assert_int_equal(selection_list_chosen(&list), 2);
	press(KEY_END);
	assert_int_equal(selection_list_chosen(&list), 4);
	press(KEY_DOWN); /* stays at the end, as Up at the beginning */
	assert_int_equal(selection_list_chosen(&list), 4);
	press(KEY_HOME);
	press(KEY_UP);
	assert_int_equal(selection_list_chosen(&list), 0);
	assert_int_equal(press(KEY_ENTER), SELECTION_CHOSEN);
	assert_int_equal(press(KEY_ESCAPE), SELECTION_CANCELLED);
}

static void test_typing_filters_and_backspace_widens(void **state)
{
	(void)state;
	assert_int_equal(type("be"), SELECTION_CHANGED);
	assert_int_equal(list.n, 2);
	type("tw");
	assert_int_equal(list.n, 1);
	assert_int_equal(selection_list_chosen(&list), 4);
	type("\xE4\xBD\xA0");
	assert_int_equal(list.n, 0);
	assert_int_equal(press(KEY_ENTER), SELECTION_NOTHING);
	assert_int_equal(press(KEY_DOWN), SELECTION_NOTHING);
	press(KEY_BACKSPACE);
	assert_int_equal(list.n, 1);
	press(KEY_BACKSPACE);
	press(KEY_BACKSPACE);
	assert_int_equal(list.n, 2);
}

static void test_pasted_text_filters_up_to_the_end_of_its_line(void **state)
{
	struct key_event event = { .kind = KEY_EVENT_PASTE,
				   .text = STR("delta\r\nbeta") };

	(void)state;
	assert_int_equal(selection_list_event(&list, &event),
			 SELECTION_CHANGED);
	assert_int_equal(list.n, 1);
	assert_int_equal(selection_list_chosen(&list), 3);
	event.text = STR("\nbeta"); /* the rest of the paste */
	assert_int_equal(selection_list_event(&list, &event),
			 SELECTION_NOTHING);
	assert_int_equal(list.n, 1);
}

static void test_rows_scroll_within_the_room(void **state)
{
	(void)state;
	expect_rows(40, 20,
		    "Pick one\nFilter: \n  alpha       the first\n> beta\n"
		    "  gamma \xE4\xBD\xA0\xE5\xA5\xBD\n  delta\n  beta two\n"
		    "2 of 5, Enter chooses, Esc leaves\n1,8");
	press(KEY_END);
	expect_rows(13, 5,
		    "Pick one\nFilter: \n  delta\n> beta two\n"
		    "5 of 5, Ent\xE2\x80\xA6\n1,8");
	type("zz");
	expect_rows(50, 5,
		    "Pick one\nFilter: zz\n"
		    "nothing matches, Enter chooses, Esc leaves\n1,10");
}

static void test_a_name_of_several_lines_is_one_row(void **state)
{
	(void)state;
	items[1].name = STR("one\n\ttwo\x1b[31m\r\nthree");
	type("onethree");
	expect_rows(40, 20,
		    "Pick one\nFilter: onethree\n> one  two  three\n"
		    "1 of 1, Enter chooses, Esc leaves\n1,16");
}

static void add_preview(void *arg, size_t item, struct buf *out)
{
	++*(int *)arg;
	buf_addf(out, "about %zu\n> asked\nanswered\n", item);
}

static int previews;

static const struct list_view view = {
	.columns = { { "when", false },
		     { "turns", true },
		     { "branch", false } },
	.n_columns = 3,
	.name = "words",
	.groups = { NULL, "Elsewhere", "Runs" },
	.hidden = "runs",
	.preview = add_preview,
	.arg = &previews,
};

static int open_table(void **state)
{
	open_list(state);
	items[0].cells = STR("1s ago\t1\tmain\t");
	items[1].cells = STR("12m ago\t130\ta-branch-of-a-very-long-name\t");
	items[2].cells = STR("\xE4\xBD\xA0\t2\t-\t");
	items[3].cells = STR("1y ago\t3\t-\t");
	items[2].group = 1;
	items[3].group = items[4].group = 2;
	selection_list_set_view(&list, &view);
	previews = 0;
	return 0;
}

static int close_table(void **state)
{
	for (size_t i = 0; i < ITEMS; i++)
		items[i] = (struct fuzzy_item){ 0 };
	return close_list(state);
}

static void test_columns_are_aligned_and_groups_have_titles(void **state)
{
	(void)state;
	expect_rows(60, 12,
		    "Pick one\nFilter: \n"
		    "  when     turns  branch            words\n"
		    "  1s ago       1  main              alpha  the first\n"
		    "> 12m ago    130  a-branch-of-a-v\xE2\x80\xA6  beta\n"
		    "Elsewhere\n"
		    "  \xE4\xBD\xA0           2  -                 "
		    "gamma \xE4\xBD\xA0\xE5\xA5\xBD\n"
		    "  about 1\n  > asked\n  answered\n  \n"
		    "2 of 3, Ctrl+A shows 2 runs, Enter chooses, Esc leaves\n"
		    "1,8");
}

static void test_a_narrow_window_drops_the_last_columns(void **state)
{
	(void)state;
	expect_rows(40, 8,
		    "Pick one\nFilter: \n"
		    "  when     turns  words\n"
		    "  1s ago       1  alpha  the first\n"
		    "> 12m ago    130  beta\n"
		    "Elsewhere\n"
		    "  \xE4\xBD\xA0           2  gamma "
		    "\xE4\xBD\xA0\xE5\xA5\xBD\n"
		    "2 of 3, Ctrl+A shows 2 runs, Enter cho\xE2\x80\xA6\n1,8");
}

static void test_the_last_group_is_shown_when_it_is_asked_for(void **state)
{
	const struct key_event ctrl_a = {
		.kind = KEY_EVENT_KEY,
		.key = { .name = KEY_CHAR, .mods = KEY_CTRL, .c = 'a' }
	};

	(void)state;
	type("beta");
	assert_int_equal(list.n, 1);
	selection_list_event(&list, &ctrl_a);
	assert_int_equal(list.n, 2);
	assert_int_equal(selection_list_chosen(&list), 1);
	press(KEY_DOWN);
	assert_int_equal(selection_list_chosen(&list), 4);
	selection_list_event(&list, &ctrl_a);
	assert_int_equal(list.n, 1);
	for (size_t i = 0; i < ITEMS; i++)
		items[i].group = 2;
	selection_list_open(&list, STR("x"), items, ITEMS, ITEMS);
	selection_list_set_view(&list, &view);
	assert_int_equal(list.n, ITEMS); /* nothing else to show */
}

static void test_a_preview_is_made_once_for_each_selection(void **state)
{
	struct rows rows = { 0 };
	size_t at[2];

	(void)state;
	for (int i = 0; i < 3; i++)
		selection_list_render(&list, 60, 12, &rows, &at[0], &at[1]);
	assert_int_equal(previews, 1);
	press(KEY_DOWN);
	selection_list_render(&list, 60, 12, &rows, &at[0], &at[1]);
	assert_int_equal(previews, 2);
	rows_release(&rows);
}

#define TABLE(test)                                                            \
	cmocka_unit_test_setup_teardown(test, open_table, close_table)
#define ROW(test) cmocka_unit_test_setup_teardown(test, open_list, close_list)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ROW(test_it_begins_where_it_was_told_and_moves),
		ROW(test_typing_filters_and_backspace_widens),
		ROW(test_pasted_text_filters_up_to_the_end_of_its_line),
		ROW(test_rows_scroll_within_the_room),
		ROW(test_a_name_of_several_lines_is_one_row),
		TABLE(test_columns_are_aligned_and_groups_have_titles),
		TABLE(test_a_narrow_window_drops_the_last_columns),
		TABLE(test_the_last_group_is_shown_when_it_is_asked_for),
		TABLE(test_a_preview_is_made_once_for_each_selection),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
