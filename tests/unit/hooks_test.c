/* hooks_test.c - what hooks match, and what becomes of their words. */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "hooks/hooks.c"
#include "unit.h"

static void no_warning(const char *line)
{
	fail_msg("%s", line);
}

static const struct hook_file quiet_file = { "hooks.json", true, no_warning };

static struct hook_list read_hooks(const char *matcher)
{
	struct hook_list list = { 0 };
	struct error err = { 0 };
	char *text = xasprintf("{\"hooks\":{\"PreToolUse\":[{\"matcher\":\"%s\""
			       ",\"hooks\":[{\"command\":\"x\"}]}]}}",
			       matcher);

	assert_int_equal(
		hook_file_parse(&list, str_of(text), &quiet_file, &err), 0);
	assert_int_equal(list.n, 1);
	free(text);
	return list;
}

static void test_no_name_is_too_long_for_a_pattern(void **state)
{
	struct hook_list list = read_hooks("mcp__srv__.*");
	char name[4000] = "mcp__srv__";

	(void)state;
	hook_list_compile(&list, &quiet_file);
	assert_true(hook_matches(&list.list[0], name));
	assert_false(hook_matches(&list.list[0], "Bash"));
	for (size_t n = strlen(name); n < sizeof(name); n++) {
		assert_true(hook_matches(&list.list[0], name));
		name[n] = 'x';
	}
	hook_list_release(&list);
}

static char complaint[300];

static void keep_complaint(const char *line)
{
	snprintf(complaint, sizeof(complaint), "%s", line);
}

static const struct hook_file loud_file = { "hooks.json", true,
					    keep_complaint };

static void test_a_pattern_is_compiled_once_its_file_is_allowed(void **state)
{
	struct hook_list list = read_hooks("a|(b.*)");
	struct hook_list broken = read_hooks("a|(b.*");

	(void)state;
	assert_false(list.list[0].has_regex);
	assert_false(hook_matches(&list.list[0], "a"));
	hook_list_compile(&list, &quiet_file);
	assert_true(hook_matches(&list.list[0], "a"));
	hook_list_compile(&broken, &loud_file);
	assert_non_null(strstr(complaint, "not a regular expression"));
	/* A guard: it refuses all that it might have judged. */
	assert_non_null(broken.list[0].broken);
	assert_true(hook_matches(&broken.list[0], "a"));
	hook_list_release(&list);
	hook_list_release(&broken);
}

static size_t n_complaints;

static void count_complaint(const char *line)
{
	(void)line;
	n_complaints++;
}

static const struct hook_file counted_file = { "hooks.json", true,
					       count_complaint };

static void test_a_file_of_faults_is_told_in_a_few_lines(void **state)
{
	struct error err = { 0 };
	struct buf text = BUF_INIT(1 << 20);
	struct hook_list list = { 0 };

	(void)state;
	buf_adds(&text, "{\"hooks\":{");
	for (int i = 0; i < 1000; i++)
		buf_addf(&text, "%s\"E%d\":0", i ? "," : "", i);
	buf_adds(&text, "}}");
	assert_int_equal(
		hook_file_parse(&list, buf_str(&text), &counted_file, &err), 0);
	assert_in_range(n_complaints, 2, 30);
	hook_list_release(&list);
	buf_release(&text);
}

struct heard {
	char notice[5000];
	char sequence[200];
};

static void on_notice(void *arg, const char *line)
{
	struct heard *h = arg;

	snprintf(h->notice, sizeof(h->notice), "%s", line);
}

static void on_terminal(void *arg, const char *sequence)
{
	struct heard *h = arg;

	snprintf(h->sequence, sizeof(h->sequence), "%s", sequence);
}

/* What is heard of a hook that has ended so. */
static struct heard hear(const struct mask *mask, int status, const char *out,
			 const char *err)
{
	struct heard heard = { 0 };
	char file[] = "hooks.json";
	struct hooks h = { .src = { .mask = mask }, .user_file = file };
	char command[] = "x";
	const struct hook_handler x = { .event = HOOK_STOP,
					.command = command };
	struct hook_process p = { .handler = &x,
				  .run = { .status = status,
					   .out = BUF_INIT(HOOK_OUTPUT_MAX),
					   .err = BUF_INIT(HOOK_OUTPUT_MAX) } };
	const struct hook_call call = { .event = HOOK_STOP,
					.notice = on_notice,
					.terminal = on_terminal,
					.arg = &heard };
	struct hook_outcome outcome = { .reason = BUF_INIT(1 << 16),
					.context = BUF_INIT(1 << 16) };

	buf_adds(&p.run.out, out);
	buf_adds(&p.run.err, err);
	add_answer(&h, &call, &p, &outcome);
	hook_outcome_release(&outcome);
	buf_release(&p.run.out);
	buf_release(&p.run.err);
	return heard;
}

static void test_a_title_holds_no_control_in_any_encoding(void **state)
{
	struct heard h = hear(NULL, 0,
			      "{\"terminalSequence\":\"\\u001b]0;\\u00e4 "
			      "title\\u0007\"}",
			      "");

	(void)state;
	assert_string_equal(h.sequence, "\033]0;\xC3\xA4 title\a");
	h = hear(
		NULL, 0,
		"{\"terminalSequence\":\"\\u001b]0;a\\u009c\\u009b6n\\u0007\"}",
		"");
	assert_string_equal(h.sequence, "");
	assert_non_null(strstr(h.notice, "terminalSequence"));
}

static void test_a_value_is_hidden_before_its_line_is_cut(void **state)
{
	struct mask *m = mask_new();
	char said[450];
	struct heard h;

	(void)state;
	assert_true(mask_add(m, "A_KEY", STR("secret-value-0123456789")));
	for (size_t before = 370; before < 400; before++) {
		memset(said, 'x', before);
		snprintf(said + before, sizeof(said) - before,
			 "secret-value-0123456789");
		h = hear(m, 1, "", said);
		assert_non_null(strstr(h.notice, "exit status 1: xxx"));
		assert_null(strstr(h.notice, "secre"));
	}
	mask_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_name_is_too_long_for_a_pattern),
		cmocka_unit_test(
			test_a_pattern_is_compiled_once_its_file_is_allowed),
		cmocka_unit_test(test_a_file_of_faults_is_told_in_a_few_lines),
		cmocka_unit_test(test_a_title_holds_no_control_in_any_encoding),
		cmocka_unit_test(test_a_value_is_hidden_before_its_line_is_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
