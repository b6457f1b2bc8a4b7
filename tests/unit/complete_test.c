/* complete_test.c - half-typed commands and files find what they mean. */
/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/str.h"
#include "editor/completion.h"
#include "unit.h"

static struct fuzzy_item commands[4];

static void fill_commands(void)
{
	commands[0].name = STR("/clear");
	commands[0].alias = STR("/new");
	commands[0].summary = STR("a new thread");
	commands[1].name = STR("/compact");
	commands[1].alias = STR("/offload /shrink");
	commands[1].acts = true;
	commands[2].name = STR("/model");
	commands[2].args = STR("[NAME]");
	commands[2].summary = STR("another model");
	commands[3].name = STR("/quit");
	commands[3].alias = STR("/q");
}

static void list_files(void *context)
{
	struct completer *c = context;

	complete_set_files(c, c->ignored ? STR("build/main.o\n")
					 : STR("README.md\ndocs/domain.txt\n"
					       "src/main.c\nsrc/my file.c\n"));
}

static void type(struct completer *c, struct editor *e, const char *text)
{
	editor_type(e, str_of(text));
	complete_update(c, e);
}

static bool press(struct completer *c, struct editor *e, enum key_name name)
{
	return complete_key(c, e, (struct key){ .name = name });
}

static void expect(struct editor *e, const char *text)
{
	assert_true(str_is(editor_before(e, 1000), text));
}

static void expect_choices(const struct completer *c, const char *want)
{
	struct rows rows = { 0 };
	struct buf out = BUF_INIT(10000);

	buf_adds(&out, "");
	complete_render(c, 40, COMPLETE_ROWS, &rows);
	for (size_t i = 0; i < rows.n; i++) {
		buf_addstr(&out, str_trim(rows_view(&rows, i).bytes));
		buf_addc(&out, '\n');
		assert_true(rows_cells(&rows, i) < 40);
	}
	assert_string_equal(out.ptr, want);
	buf_release(&out);
	rows_release(&rows);
}

static void test_a_command_is_found_by_letters_and_by_its_alias(void **state)
{
	struct completer c = { .commands = commands, .n_commands = 4 };
	struct editor e = { 0 };

	(void)state;
	type(&c, &e, "/");
	expect_choices(&c, "/clear         a new thread\n/compact\n"
			   "/model [NAME]  another model\n/quit\n");
	type(&c, &e, "cp");
	expect_choices(&c, "/compact\n");
	editor_set(&e, STR("/off"));
	complete_update(&c, &e);
	expect_choices(&c, "/compact\n");
	assert_true(press(&c, &e, KEY_TAB));
	expect(&e, "/compact ");
	expect_choices(&c, "");
	assert_false(press(&c, &e, KEY_TAB));
	/* Only at the very begin. */
	editor_set(&e, STR("see /mo"));
	complete_update(&c, &e);
	expect_choices(&c, "");
	complete_release(&c);
	editor_release(&e);
}

static void test_enter_takes_a_choice_and_sends_a_whole_command(void **state)
{
	struct completer c = { .commands = commands, .n_commands = 4 };
	struct editor e = { 0 };

	(void)state;
	type(&c, &e, "/c");
	assert_true(press(&c, &e, KEY_DOWN));
	assert_true(press(&c, &e, KEY_ENTER));
	expect(&e, "/compact ");
	/* Without a choice, only if no other command begins so. */
	editor_set(&e, STR("/c"));
	complete_update(&c, &e);
	assert_true(press(&c, &e, KEY_ENTER));
	expect(&e, "/c");
	assert_int_equal(c.enter, COMPLETE_SEVERAL);
	editor_set(&e, STR("/cp"));
	complete_update(&c, &e);
	assert_true(press(&c, &e, KEY_ENTER));
	expect(&e, "/cp");
	assert_int_equal(c.enter, COMPLETE_UNKNOWN);
	editor_set(&e, STR("/OFF"));
	complete_update(&c, &e);
	assert_true(press(&c, &e, KEY_ENTER));
	expect(&e, "/compact ");
	assert_int_equal(c.enter, COMPLETE_TOOK);
	/* One that only shows something is sent at once. */
	editor_set(&e, STR("/mo"));
	complete_update(&c, &e);
	assert_false(press(&c, &e, KEY_ENTER));
	expect(&e, "/model ");
	assert_int_equal(c.n, 0);
	editor_set(&e, STR("/model"));
	complete_update(&c, &e);
	assert_int_equal(c.n, 1);
	assert_false(press(&c, &e, KEY_ENTER));
	expect(&e, "/model");
	editor_set(&e, STR("/q"));
	complete_update(&c, &e);
	assert_int_equal(c.n, 1);
	assert_false(press(&c, &e, KEY_ENTER));
	expect(&e, "/q");
	/* Even if another one is above it in the list. */
	editor_set(&e, STR("/model"));
	complete_update(&c, &e);
	c.order[1] = c.order[0];
	c.order[0] = 0;
	c.n = 2;
	assert_false(press(&c, &e, KEY_ENTER));
	expect(&e, "/model");
	complete_release(&c);
	editor_release(&e);
}

static void test_escape_closes_until_another_word_is_begun(void **state)
{
	struct completer c = { .commands = commands, .n_commands = 4 };
	struct editor e = { 0 };

	(void)state;
	type(&c, &e, "/c");
	assert_true(press(&c, &e, KEY_ESCAPE));
	type(&c, &e, "l");
	assert_int_equal(c.n, 0);
	assert_false(press(&c, &e, KEY_ESCAPE));
	editor_reset(&e);
	complete_update(&c, &e);
	type(&c, &e, "/c");
	assert_int_equal(c.n, 2);
	complete_release(&c);
	editor_release(&e);
}

static void test_files_are_asked_for_and_taken_with_their_blanks(void **state)
{
	struct completer c = { .list_files = list_files };
	struct editor e = { 0 };

	(void)state;
	c.context = &c;
	type(&c, &e, "read @main");
	expect_choices(&c, "src/main.c\ndocs/domain.txt\n");
	assert_true(press(&c, &e, KEY_TAB));
	expect(&e, "read @src/main.c ");
	type(&c, &e, "@myf");
	assert_true(press(&c, &e, KEY_TAB));
	expect(&e, "read @src/main.c @src/my\\ file.c ");
	type(&c, &e, "@src/my\\ f");
	expect_choices(&c, "src/my file.c\n");
	/* A file that is completely typed is sent, others are completed. */
	type(&c, &e, "ile.c");
	assert_false(press(&c, &e, KEY_ENTER));
	type(&c, &e, " @src/main.");
	assert_true(press(&c, &e, KEY_ENTER));
	/* An address is no file. */
	type(&c, &e, " me@ma");
	expect_choices(&c, "");
	complete_release(&c);
	editor_release(&e);
}

static void expect_files(struct completer *c, struct editor *e,
			 const char *typed, const char *want)
{
	editor_set(e, str_of(typed));
	e->recalled = false;
	complete_update(c, e);
	expect_choices(c, want);
}

static void test_files_are_ranked_by_their_names(void **state)
{
	struct completer c = { 0 };
	struct editor e = { 0 };

	(void)state;
	complete_set_files(&c, STR("apply.txt\ndocs/app.md\nlib/my_app.c\n"
				   "src/app.py\nsrc/deep/application.c\n"
				   "src/deep/xapp.c\nzap/p.c\n"));
	expect_files(&c, &e, "@app",
		     "src/app.py\ndocs/app.md\napply.txt\n"
		     "src/deep/application.c\nlib/my_app.c\n"
		     "src/deep/xapp.c\nzap/p.c\n");
	expect_files(&c, &e, "@dee",
		     "src/deep/\nsrc/deep/xapp.c\n"
		     "src/deep/application.c\n");
	expect_files(&c, &e, "@src/",
		     "src/deep/\nsrc/app.py\nsrc/deep/xapp.c\n"
		     "src/deep/application.c\n");
	/* The directory itself is sent by Enter. */
	assert_false(press(&c, &e, KEY_ENTER));
	/* What was chosen comes before what is as good. */
	expect_files(&c, &e, "@docs/a", "docs/app.md\n");
	assert_true(press(&c, &e, KEY_TAB));
	complete_set_files(&c, STR("docs/app.md\nsrc/app.py\n"));
	expect_files(&c, &e, "@app", "docs/app.md\nsrc/app.py\n");
	complete_release(&c);
	editor_release(&e);
}

static void test_tab_again_takes_the_next_choice(void **state)
{
	struct completer c = { .list_files = list_files };
	struct editor e = { 0 };

	(void)state;
	c.context = &c;
	type(&c, &e, "see @main");
	expect_choices(&c, "src/main.c\ndocs/domain.txt\n");
	assert_true(press(&c, &e, KEY_TAB));
	expect(&e, "see @src/main.c ");
	assert_true(press(&c, &e, KEY_TAB));
	expect(&e, "see @docs/domain.txt ");
	assert_true(press(&c, &e, KEY_TAB));
	expect(&e, "see @src/main.c ");
	assert_true(press(&c, &e, KEY_UP));
	expect(&e, "see @docs/domain.txt ");
	assert_false(press(&c, &e, KEY_ENTER)); /* sends */
	type(&c, &e, "@my");
	assert_true(press(&c, &e, KEY_TAB));
	assert_false(press(&c, &e, KEY_TAB)); /* the only choice */
	complete_release(&c);
	editor_release(&e);
}

static void test_ignored_files_are_found_by_what_no_other_has(void **state)
{
	struct completer c = { .list_files = list_files };
	struct editor e = { 0 };

	(void)state;
	c.context = &c;
	type(&c, &e, "@main");
	expect_choices(&c, "src/main.c\ndocs/domain.txt\n");
	type(&c, &e, ".o");
	expect_choices(&c, "build/main.o\n");
	assert_true(press(&c, &e, KEY_TAB));
	expect(&e, "@build/main.o ");
	type(&c, &e, "@main");
	expect_choices(&c, "src/main.c\ndocs/domain.txt\n");
	complete_release(&c);
	editor_release(&e);
}

static void list_logs(void *context)
{
	struct completer *c = context;

	complete_set_files(c, c->ignored ? STR("a.log\nb.log\nmain.log\n")
					 : STR("src/main.c\n"));
}

/* Returns what follows the text that was typed first. */
static struct str last_mention(struct editor *e, const char *first)
{
	return str_skip(editor_before(e, 1000), strlen(first));
}

static void test_tab_again_takes_the_next_ignored_file(void **state)
{
	static const char *const before[] = { "see @", "!cat " };
	static const char *const next[] = { "@mai", "mai" };
	struct completer c = { .list_files = list_logs };
	struct editor e = { 0 };

	(void)state;
	c.context = &c;
	for (size_t i = 0; i < 2; i++) {
		editor_set(&e, STR(""));
		e.recalled = false;
		complete_update(&c, &e);
		type(&c, &e, before[i]);
		type(&c, &e, ".log");
		expect_choices(&c, "a.log\nb.log\nmain.log\n");
		assert_true(press(&c, &e, KEY_TAB));
		assert_true(str_is(last_mention(&e, before[i]), "a.log "));
		expect_choices(&c, "a.log\nb.log\nmain.log\n");
		assert_true(press(&c, &e, KEY_TAB));
		assert_true(str_is(last_mention(&e, before[i]), "b.log "));
		assert_true(press(&c, &e, KEY_UP));
		assert_true(str_is(last_mention(&e, before[i]), "a.log "));
		/* The next word is not looked for among them. */
		type(&c, &e, next[i]);
		expect_choices(&c, "src/main.c\n");
	}
	complete_release(&c);
	editor_release(&e);
}

/* A directory that has nothing to offer asks for the ignored files. */
static void list_directories(void *context)
{
	struct completer *c = context;

	complete_set_files(c,
			   c->ignored ? STR("z\n") : STR("dir/aa/\ndir/ab/\n"));
}

static void test_choices_of_an_earlier_list_are_not_kept(void **state)
{
	struct completer c = { .list_files = list_directories };
	struct editor e = { 0 };

	(void)state;
	c.context = &c;
	type(&c, &e, "@dir/a");
	assert_true(c.n > 1);
	assert_true(press(&c, &e, KEY_TAB));
	assert_true(c.ignored);
	expect_choices(&c, "");
	complete_release(&c);
	editor_release(&e);
}

static void test_tab_completes_paths_of_a_command_enter_runs_it(void **state)
{
	struct completer c = { .list_files = list_files };
	struct editor e = { 0 };

	(void)state;
	c.context = &c;
	type(&c, &e, "!main");
	expect_choices(&c, ""); /* the command itself */
	type(&c, &e, " mai");
	expect_choices(&c, "src/main.c\ndocs/domain.txt\n");
	assert_false(press(&c, &e, KEY_ENTER)); /* runs what is typed */
	type(&c, &e, "n");
	assert_true(press(&c, &e, KEY_TAB));
	expect(&e, "!main src/main.c ");
	type(&c, &e, "myf");
	assert_true(press(&c, &e, KEY_TAB));
	expect(&e, "!main src/main.c src/my\\ file.c ");
	type(&c, &e, "-m");
	expect_choices(&c, ""); /* an option */
	complete_release(&c);
	editor_release(&e);
}

static void test_an_answer_that_comes_later_is_shown_then(void **state)
{
	struct completer c = { 0 };
	struct editor e = { 0 };

	(void)state;
	type(&c, &e, "@read");
	expect_choices(&c, "");
	list_files(&c);
	complete_update(&c, &e);
	expect_choices(&c, "README.md\n");
	complete_release(&c);
	editor_release(&e);
}

static void list_arguments(void *context, struct str command)
{
	if (str_is(command, "/model"))
		complete_set_arguments(context, command,
				       STR("other:big\tconfig.toml\n"
					   "other:small\tno key\n"
					   "mine\t\n"));
}

static struct completer with_arguments(void)
{
	return (struct completer){ .commands = commands,
				   .n_commands = 4,
				   .list_arguments = list_arguments };
}

static void test_behind_a_command_its_arguments_are_offered(void **state)
{
	struct completer c = with_arguments();
	struct editor e = { 0 };

	(void)state;
	c.context = &c;
	type(&c, &e, "/model ");
	expect_choices(&c, "other:big    config.toml\nother:small  no key\n"
			   "mine\n");
	type(&c, &e, "sma");
	expect_choices(&c, "other:small  no key\n");
	assert_true(press(&c, &e, KEY_TAB));
	expect(&e, "/model other:small ");
	/* Another command has none; a second line is text. */
	editor_set(&e, STR("/quit now"));
	complete_update(&c, &e);
	expect_choices(&c, "");
	editor_set(&e, STR("/model\nother"));
	complete_update(&c, &e);
	expect_choices(&c, "");
	complete_release(&c);
	editor_release(&e);
}

static void test_a_description_that_is_cut_ends_in_a_sign(void **state)
{
	struct completer c = with_arguments();
	struct editor e = { 0 };

	(void)state;
	c.context = &c;
	type(&c, &e, "/model ");
	complete_set_arguments(&c, STR("/model"),
			       STR("a\twords up to the very end of my row\n"
				   "b\twords that need more than all of the row"
				   "\n"));
	complete_update(&c, &e);
	expect_choices(&c,
		       "a  words up to the very end of my row\n"
		       "b  words that need more than all of \xE2\x80\xA6\n");
	complete_release(&c);
	editor_release(&e);
}

static void test_enter_sends_an_argument_that_was_not_chosen(void **state)
{
	struct completer c = with_arguments();
	struct editor e = { 0 };

	(void)state;
	c.context = &c;
	type(&c, &e, "/model other");
	assert_int_equal(c.n, 2);
	assert_false(press(&c, &e, KEY_ENTER));
	expect(&e, "/model other");
	complete_update(&c, &e);
	assert_true(press(&c, &e, KEY_DOWN)); /* the control */
	assert_true(press(&c, &e, KEY_ENTER));
	expect(&e, "/model other:small ");
	complete_release(&c);
	editor_release(&e);
}

static void test_arguments_of_another_command_come_too_late(void **state)
{
	struct completer c = with_arguments();
	struct editor e = { 0 };

	(void)state;
	c.context = &c;
	type(&c, &e, "/quit ");
	complete_set_arguments(&c, STR("/model"), STR("mine\t\n"));
	complete_update(&c, &e);
	expect_choices(&c, "");
	complete_set_arguments(&c, STR("/quit"), STR("now\t\n"));
	complete_update(&c, &e);
	expect_choices(&c, "now\n");
	complete_forget(&c);
	expect_choices(&c, "");
	complete_release(&c);
	editor_release(&e);
}

static void test_letters_side_by_side_and_at_words_count_more(void **state)
{
	(void)state;
	assert_int_equal(fuzzy_score(STR("xyz"), STR("xy")), 0);
	assert_true(fuzzy_score(STR("mc"), STR("main.c")) > 0);
	assert_true(fuzzy_score(STR("main"), STR("src/main.c")) >
		    fuzzy_score(STR("main"), STR("src/mxaxixn.c")));
	assert_true(fuzzy_score(STR("main"), STR("src/main.c")) >
		    fuzzy_score(STR("main"), STR("src/domain.c")));
	assert_true(fuzzy_score(STR("ab"), STR("ab")) >
		    fuzzy_score(STR("ab"), STR("abc")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_files_are_ranked_by_their_names),
		cmocka_unit_test(test_tab_again_takes_the_next_choice),
		cmocka_unit_test(
			test_ignored_files_are_found_by_what_no_other_has),
		cmocka_unit_test(test_tab_again_takes_the_next_ignored_file),
		cmocka_unit_test(test_choices_of_an_earlier_list_are_not_kept),
		cmocka_unit_test(
			test_tab_completes_paths_of_a_command_enter_runs_it),
		cmocka_unit_test(
			test_a_command_is_found_by_letters_and_by_its_alias),
		cmocka_unit_test(
			test_enter_takes_a_choice_and_sends_a_whole_command),
		cmocka_unit_test(
			test_escape_closes_until_another_word_is_begun),
		cmocka_unit_test(
			test_files_are_asked_for_and_taken_with_their_blanks),
		cmocka_unit_test(test_an_answer_that_comes_later_is_shown_then),
		cmocka_unit_test(
			test_behind_a_command_its_arguments_are_offered),
		cmocka_unit_test(test_a_description_that_is_cut_ends_in_a_sign),
		cmocka_unit_test(
			test_enter_sends_an_argument_that_was_not_chosen),
		cmocka_unit_test(
			test_arguments_of_another_command_come_too_late),
		cmocka_unit_test(
			test_letters_side_by_side_and_at_words_count_more),
	};

	fill_commands();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
