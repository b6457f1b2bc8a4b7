/* page_test.c - pages of lines against the spec's cases. */
/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/str.h"
#include "sandbox/files/text.h"
#include "unit.h"

static int cut(struct str raw, int64_t offset, int64_t limit,
	       struct files_page *page, struct error *err)
{
	struct page_source src = { .raw = raw, .at_end = true, .total = -1 };

	*page = (struct files_page){ 0 };
	*err = (struct error){ 0 };
	return page_cut(&src, offset, limit, page, err);
}

static void windows(void **arg)
{
	static const struct {
		const char *file;
		int64_t offset;
		int64_t limit;
		const char *text;
		int64_t numbers[4]; /* total, start, end, next */
	} cases[] = {
		{ "one\ntwo\nthree\nfour\nfive",
		  1,
		  2,
		  "two\nthree",
		  { 5, 2, 3, 3 } },
		{ "1\n2\n3\n", 1, 100, "2\n3", { 3, 2, 3, -1 } },
		{ "1\n2\n3\n", 1, 2, "2\n3", { 3, 2, 3, -1 } },
		{ "a\r\nb\rc\r\n", 0, 9, "a\nb\nc", { 3, 1, 3, -1 } },
		{ "a\n\n", 0, 9, "a\n", { 2, 1, 2, -1 } },
		{ "\n", 0, 9, "", { 1, 1, 1, -1 } },
		{ "a\r\r", 0, 9, "a\n", { 2, 1, 2, -1 } },
		{ "a\xe2\x80\xa8"
		  "b\x0c"
		  "c\xc2\x85",
		  0,
		  9,
		  "a\xe2\x80\xa8"
		  "b\x0c"
		  "c\xc2\x85",
		  { 1, 1, 1, -1 } },
		{ "\xef\xbb\xbf"
		  "a\nb",
		  0,
		  1,
		  "\xef\xbb\xbf"
		  "a",
		  { 2, 1, 1, 1 } },
	};

	(void)arg;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct files_page p;
		struct error err;

		assert_int_equal(cut(str_of(cases[i].file), cases[i].offset,
				     cases[i].limit, &p, &err),
				 0);
		assert_string_equal(p.text.ptr ? p.text.ptr : "",
				    cases[i].text);
		assert_int_equal(p.total_lines, cases[i].numbers[0]);
		assert_int_equal(p.start_line, cases[i].numbers[1]);
		assert_int_equal(p.end_line, cases[i].numbers[2]);
		assert_int_equal(p.next_offset, cases[i].numbers[3]);
		assert_false(p.clipped);
		buf_release(&p.text);
	}
}

static void past_the_end(void **arg)
{
	struct files_page p;
	struct error err;

	(void)arg;
	assert_int_equal(cut(STR("1\n2\n3\n4\n5"), 5, 1, &p, &err), -1);
	assert_string_equal(err.message,
			    "Line offset 5 exceeds file length (5 lines)");
	assert_int_equal(cut(STR("1"), 2, 1, &p, &err), -1);
	assert_string_equal(err.message,
			    "Line offset 2 exceeds file length (1 line)");
}

static void repeat(struct buf *b, char c, size_t n)
{
	for (size_t i = 0; i < n; i++)
		buf_addc(b, c);
}

static void pages_are_capped(void **arg)
{
	struct buf file = BUF_INIT(2 << 20);
	struct files_page p;
	struct error err;

	(void)arg;
	for (int i = 0; i < 8; i++) {
		repeat(&file, 'x', 100000);
		buf_addc(&file, '\n');
	}
	assert_int_equal(cut(buf_str(&file), 0, 8, &p, &err), 0);
	assert_int_equal(p.text.len, FILES_PAGE_BYTES);
	assert_int_equal(p.text.ptr[0], 'x');
	assert_true(p.clipped);
	assert_int_equal(p.total_lines, 8);
	assert_int_equal(p.end_line, 5);
	assert_int_equal(p.next_offset, 5);
	buf_release(&p.text);

	buf_clear(&file);
	buf_adds(&file, "small0\n");
	repeat(&file, 'y', 600000);
	buf_adds(&file, "\nsmall2");
	assert_int_equal(cut(buf_str(&file), 1, 5, &p, &err), 0);
	assert_int_equal(p.start_line, 2);
	assert_int_equal(p.end_line, 2);
	assert_int_equal(p.next_offset, 2);
	assert_int_equal(p.total_lines, 3);
	buf_release(&p.text);

	/* Exactly at the cap nothing is cut; a character is never halved. */
	for (int i = 0; i < 5; i++) {
		buf_clear(&file);
		repeat(&file, 'a', (size_t)i);
		while (file.len < FILES_PAGE_BYTES + 8)
			buf_adds(&file, "\xf0\x9f\x98\x80");
		assert_int_equal(cut(buf_str(&file), 0, 5, &p, &err), 0);
		assert_true(p.clipped);
		assert_true(str_is_utf8(buf_str(&p.text)));
		assert_in_range(p.text.len, FILES_PAGE_BYTES - 3,
				FILES_PAGE_BYTES);
		buf_release(&p.text);
	}
	buf_clear(&file);
	repeat(&file, 'a', FILES_PAGE_BYTES);
	assert_int_equal(cut(buf_str(&file), 0, 5, &p, &err), 0);
	assert_false(p.clipped);
	buf_release(&p.text);
	buf_release(&file);
}

static void text_only(void **arg)
{
	struct buf file = BUF_INIT(64 << 10);
	struct files_page p;
	struct error err;

	(void)arg;
	for (size_t lead = 8188; lead < 8194; lead++) {
		buf_clear(&file);
		repeat(&file, 'a', lead);
		buf_adds(&file, "\xf0\x9f\x98\x80");
		assert_int_equal(cut(buf_str(&file), 0, 5, &p, &err), 0);
		assert_memory_equal(p.text.ptr + lead, "\xf0\x9f\x98\x80", 4);
		buf_release(&p.text);
	}
	buf_clear(&file);
	repeat(&file, 'a', 100);
	buf_adds(&file, "\n\xff\xff\n");
	repeat(&file, 'a', 9000);
	assert_int_equal(cut(buf_str(&file), 0, 1, &p, &err), -1);
	assert_string_equal(err.message, "not_a_text_file");
	buf_release(&p.text);
	/* Late and outside the page it does not matter; inside it does. */
	buf_clear(&file);
	repeat(&file, 'a', 9000);
	buf_adds(&file, "\nb\nc\xff\n");
	assert_int_equal(cut(buf_str(&file), 0, 2, &p, &err), 0);
	buf_release(&p.text);
	assert_int_equal(cut(buf_str(&file), 0, 3, &p, &err), -1);
	assert_string_equal(err.message, "not_a_text_file");
	buf_release(&p.text);
	/* NUL is text. */
	assert_int_equal(cut(STR("a\0b\nc"), 0, 1, &p, &err), 0);
	assert_int_equal(p.text.len, 3);
	buf_release(&p.text);
	buf_release(&file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(windows),
		cmocka_unit_test(past_the_end),
		cmocka_unit_test(pages_are_capped),
		cmocka_unit_test(text_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
