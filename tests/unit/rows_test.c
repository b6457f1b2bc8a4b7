/* rows_test.c - styled rows, what is cleaned out of them, and their width. */
/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/str.h"
#include "term/rows.h"

static const struct style plain;
static const struct style bold = { ATTR_BOLD, STYLE_PLAIN };
static const struct style code = { 0, STYLE_CODE };

/* Row i as text. */
static void assert_row(const struct rows *r, size_t i, const char *want)
{
	struct row_view v = rows_view(r, i);
	size_t total = 0;

	assert_int_equal(v.bytes.len, strlen(want));
	if (v.bytes.len)
		assert_memory_equal(v.bytes.ptr, want, v.bytes.len);
	for (size_t k = 0; k < v.n_spans; k++)
		total += v.spans[k].len;
	assert_int_equal(total, v.bytes.len);
}

static void text_without_line_end_stays_in_one_open_row(void **state)
{
	struct rows r = { 0 };

	(void)state;
	rows_adds(&r, plain, "one ");
	rows_adds(&r, plain, "and ");
	rows_adds(&r, bold, "two\nthree");
	assert_int_equal(r.n, 2);
	assert_row(&r, 0, "one and two");
	assert_int_equal(rows_view(&r, 0).n_spans, 2);
	assert_int_equal(rows_view(&r, 0).spans[0].len, 8);
	assert_int_equal(rows_view(&r, 0).spans[1].style.attrs, ATTR_BOLD);
	assert_row(&r, 1, "three");
	assert_true(r.open);
	rows_release(&r);
}

static void empty_lines_are_rows(void **state)
{
	struct rows r = { 0 };

	(void)state;
	rows_adds(&r, plain, "\n\na\n");
	rows_end(&r);
	assert_int_equal(r.n, 4);
	assert_row(&r, 0, "");
	assert_row(&r, 2, "a");
	assert_row(&r, 3, "");
	rows_release(&r);
}

static void tab_goes_to_the_next_stop_of_eight(void **state)
{
	struct rows r = { 0 };

	(void)state;
	rows_adds(&r, plain, "a\tb\n12345678\tc\n\xE6\xBC\xA2\td");
	assert_row(&r, 0, "a       b");
	assert_row(&r, 1, "12345678        c");
	assert_row(&r, 2, "\xE6\xBC\xA2      d");
	rows_release(&r);
}

static void escape_sequences_do_not_enter_a_row(void **state)
{
	struct rows r = { 0 };

	(void)state;
	rows_adds(&r, plain,
		  "a\x1b[2Jb\x1b]0;title\x07"
		  "c\x9b"
		  "\xc2\x9b"
		  "31md\x07");
	assert_row(&r, 0,
		   "abc\xEF\xBF\xBD"
		   "d");
	rows_release(&r);
}

static void mark_without_a_base_gets_a_space(void **state)
{
	struct rows r = { 0 };

	(void)state;
	rows_adds(&r, plain, "\xCC\x81x\ny\xCC\x81");
	assert_row(&r, 0, " \xCC\x81x");
	assert_row(&r, 1, "y\xCC\x81");
	assert_int_equal(rows_cells(&r, 0), 2);
	assert_int_equal(rows_cells(&r, 1), 1);
	rows_release(&r);
}

static void link_keeps_its_address_and_an_unsafe_one_is_left_out(void **state)
{
	static const char *const unsafe[] = {
		"javascript:alert(1)", "http://a b",    "https://x\x1b\\y",
		"http://\xC3\xA4.de",  "http://",       "",
		"ftp://example.org",   "https://x\x07",
	};
	static const char *const safe[] = { "https://example.org/a?b=c#d",
					    "HTTP://x", "mailto:a@b",
					    "file:///etc/passwd" };
	struct rows r = { 0 };
	struct row_view v;

	(void)state;
	for (size_t i = 0; i < sizeof(unsafe) / sizeof(*unsafe); i++)
		assert_false(rows_address_is_safe(str_of(unsafe[i])));
	for (size_t i = 0; i < sizeof(safe) / sizeof(*safe); i++)
		assert_true(rows_address_is_safe(str_of(safe[i])));
	rows_add_link(&r, plain, STR("here"), STR("https://example.org/"));
	rows_add_link(&r, plain, STR("there"), STR("javascript:x"));
	v = rows_view(&r, 0);
	assert_int_equal(v.n_spans, 2);
	assert_true(str_is(rows_link(&r, &v.spans[0]), "https://example.org/"));
	assert_false(v.spans[1].link);
	rows_release(&r);
}

static void appended_rows_equal_their_origin(void **state)
{
	struct rows a = { 0 };
	struct rows b = { 0 };

	(void)state;
	rows_adds(&a, plain, "zero\n");
	rows_add_link(&a, code, STR("one"), STR("http://one/"));
	rows_adds(&a, bold, " and\n\nthree");
	rows_adds(&b, plain, "open");
	rows_append(&b, &a, 1, 3);
	assert_int_equal(b.n, 4);
	assert_false(b.open);
	for (size_t i = 1; i < 4; i++)
		assert_true(rows_equal(&a, i, &b, i));
	assert_false(rows_equal(&a, 0, &b, 0));
	rows_release(&a);
	rows_release(&b);
}

static void looks_and_addresses_make_rows_differ(void **state)
{
	struct rows r = { 0 };

	(void)state;
	rows_adds(&r, plain, "x\n");
	rows_adds(&r, bold, "x\n");
	rows_adds(&r, code, "x\n");
	rows_add_link(&r, plain, STR("x\n"), STR("http://a/"));
	rows_add_link(&r, plain, STR("x\n"), STR("http://b/"));
	rows_add_link(&r, plain, STR("x\n"), STR("http://b/"));
	for (size_t i = 1; i < 5; i++)
		assert_false(rows_equal(&r, 0, &r, i));
	assert_false(rows_equal(&r, 3, &r, 4));
	assert_true(rows_equal(&r, 4, &r, 5));
	rows_release(&r);
}

static void consumed_rows_leave_the_rest_as_it_was(void **state)
{
	struct rows r = { 0 };

	(void)state;
	rows_adds(&r, plain, "a\n");
	rows_adds(&r, bold, "b\n\n");
	rows_adds(&r, code, "d");
	rows_consume(&r, 1);
	assert_int_equal(r.n, 3);
	assert_row(&r, 0, "b");
	assert_row(&r, 1, "");
	assert_row(&r, 2, "d");
	assert_int_equal(rows_view(&r, 2).spans[0].style.role, STYLE_CODE);
	rows_adds(&r, code, "e");
	assert_row(&r, 2, "de");
	rows_consume(&r, 9);
	assert_int_equal(r.n, 0);
	rows_adds(&r, plain, "f");
	assert_row(&r, 0, "f");
	rows_release(&r);
}

static void width_counts_clusters(void **state)
{
	static const struct {
		const char *text;
		size_t bytes, cells; /* of the first cluster */
	} rows[] = {
		{ "a", 1, 1 },
		{ "e\xCC\x81x", 3, 1 },   /* e, acute */
		{ "\xE6\xBC\xA2", 3, 2 }, /* han */
		{ "\xEF\xBC\x8C", 3, 2 }, /* fullwidth comma */
		{ "\xED\x95\x9C", 3, 2 }, /* hangul */
		{ "\xE1\x84\x92\xE1\x85\xA1\xE1\x86\xAB", 9, 2 }, /* jamo */
		{ "\xF0\x9F\x98\x80", 4, 2 },                     /* emoji */
		{ "\xE2\x9D\xA4\xEF\xB8\x8F", 6, 2 }, /* heart, VS16 */
		{ "\xF0\x9F\x87\xA9\xF0\x9F\x87\xAA\xF0\x9F\x87\xA9", 8, 2 },
		{ "\xF0\x9F\x91\xA9\xE2\x80\x8D\xF0\x9F\x92\xBBx", 11, 2 },
		{ "\xE0\xA4\x95\xE0\xA4\xBE", 6, 2 }, /* ka, aa */
		{ "\xFF\xFE", 1, 1 },                 /* no UTF-8 */
		{ "\xCC\x81", 2, 0 },                 /* a mark alone */
		{ "\x1b[", 1, 0 },                    /* a control */
		{ "", 0, 0 },
	};
	size_t cells;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		assert_int_equal(width_next(str_of(rows[i].text), &cells),
				 rows[i].bytes);
		assert_int_equal(cells, rows[i].cells);
	}
	assert_int_equal(width_cells(STR("a\xE6\xBC\xA2"
					 "b")),
			 4);
}

static void prefix_never_cuts_a_cluster(void **state)
{
	struct str s = STR("a\xE6\xBC\xA2"
			   "e\xCC\x81z");

	(void)state;
	assert_int_equal(width_prefix(s, 0), 0);
	assert_int_equal(width_prefix(s, 1), 1);
	assert_int_equal(width_prefix(s, 2), 1);
	assert_int_equal(width_prefix(s, 3), 4);
	assert_int_equal(width_prefix(s, 4), 7);
	assert_int_equal(width_prefix(s, 99), s.len);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_without_line_end_stays_in_one_open_row),
		cmocka_unit_test(empty_lines_are_rows),
		cmocka_unit_test(tab_goes_to_the_next_stop_of_eight),
		cmocka_unit_test(escape_sequences_do_not_enter_a_row),
		cmocka_unit_test(mark_without_a_base_gets_a_space),
		cmocka_unit_test(
			link_keeps_its_address_and_an_unsafe_one_is_left_out),
		cmocka_unit_test(appended_rows_equal_their_origin),
		cmocka_unit_test(looks_and_addresses_make_rows_differ),
		cmocka_unit_test(consumed_rows_leave_the_rest_as_it_was),
		cmocka_unit_test(width_counts_clusters),
		cmocka_unit_test(prefix_never_cuts_a_cluster),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
