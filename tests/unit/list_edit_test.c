/* list_edit_test.c - members of a list in a TOML file, put in and taken out. */
/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/str.h"
#include "config/list_edit.h"

static const struct list_edit edit = { "config.toml", "approvals", "allow" };

static void adds(const char *text, const char *item, const char *expected)
{
	struct buf out = BUF_INIT(10000);
	struct error err = { 0 };

	assert_int_equal(
		list_edit_add(&edit, str_of(text), str_of(item), &out, &err),
		0);
	assert_string_equal(out.ptr, expected);
	buf_release(&out);
}

static void removes(const char *text, const char *item, const char *expected)
{
	struct buf out = BUF_INIT(10000);
	struct error err = { 0 };

	assert_int_equal(
		list_edit_remove(&edit, str_of(text), str_of(item), &out, &err),
		0);
	assert_string_equal(out.ptr ? out.ptr : "", expected);
	buf_release(&out);
}

static void an_item_is_added_and_all_else_stays(void **state)
{
	(void)state;
	adds("", "x", "[approvals]\nallow = [\n  'x',\n]\n");
	adds("# mine\na = 1", "x",
	     "# mine\na = 1\n\n[approvals]\nallow = [\n  'x',\n]\n");
	adds("[approvals] # here\nsandbox = \"ask\"\n[b]\n", "x",
	     "[approvals] # here\nallow = [\n  'x',\n]\nsandbox = \"ask\"\n"
	     "[b]\n");
	adds("[approvals]\nallow = [\n  'x',\n]\n", "y",
	     "[approvals]\nallow = [\n  'y',\n  'x',\n]\n");
	adds("[approvals]\nallow = ['x'] # c\n", "y",
	     "[approvals]\nallow = [\n  'y',\n  'x'] # c\n");
	adds("[approvals]\nallow = []\n", "it's \"\\\x7f",
	     "[approvals]\nallow = [\n  \"it's \\\"\\\\\\u007F\",\n]\n");
	adds("[approvals]\nallow = ['x']\n", "x",
	     "[approvals]\nallow = ['x']\n");
}

static void what_cannot_be_changed_safely_is_refused(void **state)
{
	static const char *const texts[] = {
		"approvals = { }\n",
		"approvals.sandbox = \"ask\"\n",
		"[approvals]\nallow = \"x\"\n",
		"a = \"\"\"\n[approvals]\n\"\"\"\napprovals.b = 1\n",
		"a = \n",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		struct buf out = BUF_INIT(10000);
		struct error err = { 0 };

		assert_int_equal(list_edit_add(&edit, str_of(texts[i]),
					       STR("x"), &out, &err),
				 -1);
		assert_int_equal(err.code, ERR_CONFIG);
		buf_release(&out);
	}
}

static void an_item_is_taken_out_with_its_line(void **state)
{
	struct buf out = BUF_INIT(10000);
	struct error err = { 0 };
	struct str shared = STR("[approvals]\nallow = ['x', 'y']\n");

	(void)state;
	removes("[approvals]\nallow = [\n  'y',\n  'x',\n]\nb = 1\n", "y",
		"[approvals]\nallow = [\n  'x',\n]\nb = 1\n");
	removes("[approvals]\nallow = [\n  'x',\n]\n", "x",
		"[approvals]\nallow = [\n]\n");
	assert_int_equal(list_edit_remove(&edit, shared, STR("x"), &out, &err),
			 -1);
	assert_int_equal(err.code, ERR_CONFIG);
	assert_int_equal(list_edit_remove(&edit, shared, STR("z"), &out, &err),
			 -1);
	assert_int_equal(err.code, ERR_NOT_FOUND);
	buf_release(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_item_is_added_and_all_else_stays),
		cmocka_unit_test(what_cannot_be_changed_safely_is_refused),
		cmocka_unit_test(an_item_is_taken_out_with_its_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
