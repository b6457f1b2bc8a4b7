/* read_text_test.c - pages of read_file and their notices. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "tool/files/read_file.h"
#include "tool/result.h"
#include "unit.h"

#define TOO_LARGE                                                              \
	"\n\n[Output was truncated due to size limits. The file content is "   \
	"very large. Consider reformatting the file to make it easier to "     \
	"navigate. For example, if this is JSON, use execute(command='jq . "   \
	"/f') to pretty-print it with line breaks. For other formats, you "    \
	"can use appropriate formatting tools to split long lines.]"

struct want {
	const char *text;
	int64_t total;
	int64_t start;
	int64_t end;
	int64_t next;
};

static void render(const struct want *w, int64_t offset, int64_t limit,
		   struct buf *out)
{
	struct files_page page = { .text = BUF_INIT(RESULT_RAW_BYTES),
				   .total_lines = w->total,
				   .start_line = w->start,
				   .end_line = w->end,
				   .next_offset = w->next };
	struct read_text_request req = { "/f", offset, limit };

	buf_adds(&page.text, w->text);
	read_text_render(&page, &req, out);
	buf_release(&page.text);
}

static void expect(struct want w, int64_t offset, int64_t limit,
		   const char *want)
{
	struct buf out = BUF_INIT(RESULT_RAW_BYTES);

	render(&w, offset, limit, &out);
	assert_string_equal(out.ptr, want);
	buf_release(&out);
}

static void test_notices(void **state)
{
	(void)state;
	expect((struct want){ "one\ntwo", 5, 1, 2, 2 }, 0, 2,
	       "1  one\n2  two\n\n[Read 2 lines (lines 1-2 of 5 total). 3 "
	       "lines remaining from offset 2.]");
	expect((struct want){ "one\ntwo\nthree\nfour", 5, 1, 4, 4 }, 0, 4,
	       "1  one\n2  two\n3  three\n4  four\n\n[Read 4 lines (lines 1-4 "
	       "of 5 total). 1 line remaining from offset 4.]");
	expect((struct want){ "one", 5, 1, 1, 1 }, 0, 1,
	       "1  one\n\n[Read 1 line (lines 1-1 of 5 total). 4 lines "
	       "remaining from offset 1.]");
	expect((struct want){ "four\nfive", 5, 4, 5, -1 }, 3, 100,
	       "4  four\n5  five");
	expect((struct want){ "one", -1, 1, 1, 1 }, 0, 1,
	       "1  one\n\n[Read 1 line (lines 1-1). More lines remain from "
	       "offset 1.]");
	expect((struct want){ "one\ntwo", 5, 1, 2, 2 }, -1, 2,
	       "1  one\n2  two\n\n[Read 2 lines (lines 1-2 of 5 total). 3 "
	       "lines remaining from offset 2.]\n\n[Requested offset -1 is "
	       "before the start of the file; read from line 1 instead.]");
}

static void test_reminders(void **state)
{
	struct files_page page = { .text = BUF_INIT(10), .no_lines = true };
	struct read_text_request req = { "/f", 0, 0 };
	struct buf out = BUF_INIT(1024);

	(void)state;
	read_text_render(&page, &req, &out);
	assert_string_equal(
		out.ptr,
		"System reminder: no lines were read because `limit` was 0. "
		"The file was not inspected and may have contents; retry with "
		"`limit` >= 1 to read it.");
	buf_release(&out);
	expect((struct want){ "", 0, 0, 0, -1 }, 0, 100,
	       "System reminder: File exists but has empty contents");
	expect((struct want){ "  \n\t", 2, 1, 2, -1 }, 0, 100,
	       "System reminder: File exists but has empty contents");
	/* blank lines of a larger file are lines */
	expect((struct want){ "\n", 9, 1, 2, 2 }, 0, 2,
	       "1  \n2  \n\n[Read 2 lines (lines 1-2 of 9 total). 7 lines "
	       "remaining from offset 2.]");
	/* the last line is empty: "a\n\n" */
	expect((struct want){ "a\n", 2, 1, 2, -1 }, 0, 100, "1  a\n2  ");
}

static void add_line(struct buf *b, size_t chars)
{
	if (b->len)
		buf_addc(b, '\n');
	while (chars--)
		buf_adds(b, "\xC3\xA9");
}

static void test_budget(void **state)
{
	struct buf text = BUF_INIT(RESULT_RAW_BYTES);
	struct buf out = BUF_INIT(RESULT_RAW_BYTES);
	struct want w = { NULL, 10, 1, 10, -1 };

	(void)state;
	for (size_t i = 0; i < 10; i++)
		add_line(&text, 30000);
	w.text = text.ptr;
	render(&w, 0, 100, &out);
	assert_true(str_ends(buf_str(&out),
			     "\xC3\xA9" TOO_LARGE
			     "\n\n[Read 2 lines (lines 1-2 of 10 total). 8 "
			     "lines remaining from offset 2.]"));
	assert_true(str_starts(buf_str(&out), "   1  \xC3\xA9"));
	assert_non_null(strstr(out.ptr, "\n 2.5  "));
	assert_null(strstr(out.ptr, "\n   3  "));
	assert_true(str_chars(buf_str(&out)) <= RESULT_CHARS);
	buf_release(&text);
	buf_release(&out);
}

static void test_budget_edge(void **state)
{
	struct buf text = BUF_INIT(RESULT_RAW_BYTES);
	struct buf out = BUF_INIT(RESULT_RAW_BYTES);
	struct want w = { NULL, 100, 1, 100, -1 };

	(void)state;
	/* 100 rows of 5 + 795 characters, less the last break: 79,999 */
	for (size_t i = 0; i < 100; i++)
		add_line(&text, 794);
	w.text = text.ptr;
	render(&w, 0, 100, &out);
	assert_int_equal(str_chars(buf_str(&out)), RESULT_CHARS - 1);
	buf_clear(&out);
	buf_addc(&text, 'x');
	w.text = text.ptr;
	render(&w, 0, 100, &out);
	assert_non_null(strstr(out.ptr, "[Output was truncated"));
	buf_release(&text);
	buf_release(&out);
}

static void test_budget_one_line(void **state)
{
	struct buf text = BUF_INIT(RESULT_RAW_BYTES);
	struct buf out = BUF_INIT(RESULT_RAW_BYTES);
	struct want w = { NULL, 2, 1, 2, -1 };

	(void)state;
	add_line(&text, 90000);
	add_line(&text, 1);
	w.text = text.ptr;
	render(&w, 0, 100, &out);
	assert_true(str_ends(buf_str(&out), TOO_LARGE));
	assert_int_equal(str_chars(buf_str(&out)), RESULT_CHARS);
	assert_true(str_is_utf8(buf_str(&out)));
	buf_release(&text);
	buf_release(&out);
}

static void test_media(void **state)
{
	struct files_page page = { .text = BUF_INIT(100), .binary = true };
	struct buf out = BUF_INIT(1024);

	(void)state;
	assert_string_equal(read_text_media("/a/b.PNG")->mime, "image/png");
	assert_string_equal(read_text_media("x.mkv")->kind, "video");
	assert_string_equal(read_text_media("/a.b/x.pdf")->kind, "file");
	assert_null(read_text_media("/a/b.txt"));
	assert_null(read_text_media("/a/b.py"));
	assert_null(read_text_media("/a.png/b"));
	assert_null(read_text_media("/a/noext"));
	buf_add(&page.text, "\x89PNG", 4);
	read_text_binary(&page, "/a/b.png", &out);
	assert_true(str_starts(
		buf_str(&out),
		"[read_file: /a/b.png was not attached because this model does "
		"not support image content (image/png).]\nIt has 4 bytes."));
	buf_clear(&out);
	read_text_binary(&page, "/a/b.txt", &out);
	assert_true(str_starts(buf_str(&out),
			       "Error: File '/a/b.txt' is not UTF-8 text"));
	buf_release(&page.text);
	buf_release(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_notices),
		cmocka_unit_test(test_reminders),
		cmocka_unit_test(test_budget),
		cmocka_unit_test(test_budget_edge),
		cmocka_unit_test(test_budget_one_line),
		cmocka_unit_test(test_media),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
