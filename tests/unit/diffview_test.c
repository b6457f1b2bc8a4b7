/* diffview_test.c - changes are shown by line, and by word within it. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "markup.h"
#include "markup/diff.h"
#include "unit.h"

static const struct theme theme;

static void shows(bool numbers, const char *a, const char *b,
		  const char *expected)
{
	struct diffview d = { &theme, 40, numbers };
	struct rows rows = { 0 };
	char *text;

	diffview_render(&d, str_of(a), str_of(b), &rows);
	text = markup(&rows);
	assert_string_equal(text, expected);
	free(text);
	rows_release(&rows);
}

static void a_replaced_line_has_its_words_marked(void **state)
{
	(void)state;
	shows(false, "int alpha = 1;\n", "int beta = 1;\n",
	      "{removed|- int }{bold removed|alpha}{removed| = 1;}\n"
	      "{added|+ int }{bold added|beta}{added| = 1;}\n");
}

static void lines_far_from_a_change_are_folded(void **state)
{
	(void)state;
	shows(true, "1\n2\n3\n4\n5\n6\n7\n8\n9\n",
	      "1\n2\n3\n4\n5\n6\nx\n8\n9\n",
	      "{muted|\xE2\x80\xA6 3 lines}\n{muted| 4   }4\n{muted| 5   }5\n"
	      "{muted| 6   }6\n{removed| 7 - }{bold removed|7}\n"
	      "{added| 7 + }{bold added|x}\n{muted| 8   }8\n{muted| 9   }9\n");
}

static void two_changes_are_found_apart(void **state)
{
	(void)state;
	shows(true, "a\nb\nc\nd\n", "a\nB\nc\nd\ne\n",
	      "{muted|1   }a\n{removed|2 - }{bold removed|b}\n"
	      "{added|2 + }{bold added|B}\n{muted|3   }c\n{muted|4   }d\n"
	      "{added|5 + e}\n");
}

static void a_new_file_is_all_added(void **state)
{
	(void)state;
	shows(true, "", "a\nb\n", "{added|1 + a}\n{added|2 + b}\n");
	shows(true, "a\n", "", "{removed|1 - a}\n");
	shows(true, "", "", "");
}

static void a_unified_diff_is_coloured(void **state)
{
	struct diffview d = { &theme, 40, false };
	struct rows rows = { 0 };
	char *text;

	(void)state;
	diffview_unified(
		&d, STR("--- a\n+++ b\n@@ -1 +1 @@\n--- c\n+d\x1b[m\n"), &rows);
	text = markup(&rows);
	assert_string_equal(text, "{muted|--- a}\n{muted|+++ b}\n"
				  "{accent|@@ -1 +1 @@}\n{removed|--- c}\n"
				  "{added|+d}\n");
	free(text);
	rows_release(&rows);
}

static uint32_t next_random(uint32_t *seed)
{
	*seed = *seed * 1664525 + 1013904223;
	return *seed >> 16;
}

/* The new text, made from the steps and both texts. */
static void replay(struct str a, struct str b, struct buf *out)
{
	struct diff_steps steps = { 0 };
	struct str line;

	diff_lines(a, b, &steps);
	for (size_t i = 0; i < steps.n; i++) {
		for (size_t n = steps.items[i].same; n; n--) {
			assert_true(str_split(&a, '\n', &line));
			buf_addstr(out, line);
			buf_addc(out, '\n');
			assert_true(str_split(&b, '\n', &line));
		}
		for (size_t n = steps.items[i].n_old; n; n--)
			assert_true(str_split(&a, '\n', &line));
		for (size_t n = steps.items[i].n_new; n; n--) {
			assert_true(str_split(&b, '\n', &line));
			buf_addstr(out, line);
			buf_addc(out, '\n');
		}
	}
	assert_false(str_split(&a, '\n', &line));
	assert_false(str_split(&b, '\n', &line));
	diff_steps_release(&steps);
}

static void steps_lead_from_one_text_to_the_other(void **state)
{
	int n_texts = getenv("DCODE_TEST_LONG") ? 2000 : 400;
	uint32_t seed = 3;

	(void)state;
	for (int i = 0; i < n_texts; i++) {
		struct buf a = BUF_INIT(1 << 16);
		struct buf b = BUF_INIT(1 << 16);
		struct buf got = BUF_INIT(1 << 16);
		/* Some differ in more lines than the search goes. */
		uint32_t n = i % 100 ? 12 : 900;

		for (uint32_t k = next_random(&seed) % n + 1; k; k--)
			buf_addf(&a, "%c\n", 'a' + next_random(&seed) % 4);
		for (uint32_t k = next_random(&seed) % n + 1; k; k--)
			buf_addf(&b, "%c\n", 'b' + next_random(&seed) % 4);
		replay(buf_str(&a), buf_str(&b), &got);
		assert_string_equal(got.ptr, b.ptr);
		buf_release(&a);
		buf_release(&b);
		buf_release(&got);
	}
}

static void the_shortest_way_is_taken(void **state)
{
	size_t added;
	size_t removed;

	(void)state;
	diffview_count(STR("a\nb\nc\na\nb\nb\na\n"), STR("c\nb\na\nb\na\nc\n"),
		       &added, &removed);
	assert_int_equal(added + removed, 5); /* Myers 1986, figure 1 */
}

static void writes(const char *old_text, const char *new_text,
		   const char *expected)
{
	struct buf out = BUF_INIT(10000);

	diff_text(str_of(old_text), str_of(new_text), &out);
	assert_string_equal(out.len ? out.ptr : "", expected);
	buf_release(&out);
}

static void a_diff_as_text_has_signs_and_line_numbers(void **state)
{
	(void)state;
	writes("a\nb\n", "a\nb\n", "");
	writes("", "a\n", "@@ line 1 @@\n+a");
	writes("a\n", "", "@@ line 1 @@\n-a");
	writes("a\nb\nc\n", "a\nX\nc\n", "@@ line 1 @@\n a\n-b\n+X\n c");
	writes("1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nx\n6\n7\n8\n9\n",
	       "@@ line 2 @@\n 2\n 3\n 4\n-5\n+x\n 6\n 7\n 8");
	writes("a\n1\n2\n3\n4\n5\n6\n7\nb\n", "A\n1\n2\n3\n4\n5\n6\n7\nB\n",
	       "@@ line 1 @@\n-a\n+A\n 1\n 2\n 3\n@@ line 6 @@\n 5\n 6\n 7\n"
	       "-b\n+B");
	writes("a\n1\n2\nb\n", "A\n1\n2\nB\n",
	       "@@ line 1 @@\n-a\n+A\n 1\n 2\n-b\n+B");
	writes("a\n", "a", "\\ the last line break is removed");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_replaced_line_has_its_words_marked),
		cmocka_unit_test(lines_far_from_a_change_are_folded),
		cmocka_unit_test(two_changes_are_found_apart),
		cmocka_unit_test(a_new_file_is_all_added),
		cmocka_unit_test(a_unified_diff_is_coloured),
		cmocka_unit_test(steps_lead_from_one_text_to_the_other),
		cmocka_unit_test(the_shortest_way_is_taken),
		cmocka_unit_test(a_diff_as_text_has_signs_and_line_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
