/* numbering_test.c - line numbers and wrapped lines. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "tool/result.h"
#include "unit.h"

static void expect(struct str text, int64_t first, const char *want)
{
	struct numbering nb;

	numbering_render(&nb, text, first, numbering_count(text));
	assert_string_equal(nb.text.ptr, want);
	numbering_release(&nb);
}

static void test_numbers(void **state)
{
	(void)state;
	expect(STR("a\nb\nc"), 8, " 8  a\n 9  b\n10  c");
	expect(STR("a\nb\nc"), 98, " 98  a\n 99  b\n100  c");
	expect(STR("a\n"), 1, "1  a");
	expect(STR("a\n\n"), 1, "1  a\n2  ");
	expect(STR("\n"), 1, "1  ");
	assert_int_equal(numbering_count(STR("")), 0);
	assert_int_equal(numbering_count(STR("a")), 1);
}

/* The beginnings of the rows, joined by commas. */
static void markers(const struct numbering *nb, size_t width, struct buf *out)
{
	struct str rest = buf_str(&nb->text);
	struct str row;

	while (str_split(&rest, '\n', &row)) {
		if (out->len)
			buf_addc(out, ',');
		buf_add(out, row.ptr, width);
	}
}

static void add_times(struct buf *b, const char *unit, size_t n)
{
	while (n--)
		buf_adds(b, unit);
}

static void expect_markers(const struct buf *text, int64_t first, size_t width,
			   const char *want)
{
	struct buf got = BUF_INIT(1024);
	struct numbering nb;

	numbering_render(&nb, buf_str(text), first,
			 numbering_count(buf_str(text)));
	markers(&nb, width, &got);
	assert_string_equal(got.ptr, want);
	assert_int_equal(nb.ends[nb.n - 1], nb.text.len);
	numbering_release(&nb);
	buf_release(&got);
}

static void test_wrap(void **state)
{
	struct buf text = BUF_INIT(1 << 20);

	(void)state;
	add_times(&text, "a", NUMBERING_WRAP);
	expect_markers(&text, 1, 1, "1");
	buf_addc(&text, 'b');
	expect_markers(&text, 1, 5, "  1  ,1.1  ");
	buf_clear(&text);
	buf_adds(&text, "a\n");
	add_times(&text, "x", 25000);
	buf_adds(&text, "\nc\n");
	expect_markers(&text, 1, 3, "  1,  2,2.1,2.2,2.3,2.4,  3");
	buf_clear(&text);
	buf_adds(&text, "a\n");
	add_times(&text, "x", 6000);
	expect_markers(&text, 9, 4, "   9,  10,10.1");
	buf_release(&text);
}

/* Characters count, not bytes, and none is cut. */
static void test_wrap_utf8(void **state)
{
	struct buf text = BUF_INIT(1 << 20);
	struct numbering nb;

	(void)state;
	add_times(&text, "\xE2\x82\xAC", NUMBERING_WRAP);
	numbering_render(&nb, buf_str(&text), 1, 1);
	assert_int_equal(nb.text.len, text.len + 3);
	numbering_release(&nb);
	buf_adds(&text, "\xE2\x82\xAC");
	numbering_render(&nb, buf_str(&text), 1, 1);
	assert_true(str_is_utf8(buf_str(&nb.text)));
	assert_true(str_ends(buf_str(&nb.text), "\n1.1  \xE2\x82\xAC"));
	numbering_release(&nb);
	buf_release(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_wrap),
		cmocka_unit_test(test_wrap_utf8),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
