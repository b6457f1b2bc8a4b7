/* diffview_test.c - changes are shown by line, and by word within it. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "base/diff.h"
#include "markup.h"
#include "markup/diffview.h"
#include "unit.h"

static const struct theme theme;

static void shows_file(const char *path, bool numbers, const char *a,
		       const char *b, const char *expected)
{
	struct diffview d = { &theme, 40, numbers, str_of(path) };
	struct rows rows = { 0 };
	char *text;

	diffview_render(&d, str_of(a), str_of(b), &rows);
	text = markup(&rows);
	assert_string_equal(text, expected);
	free(text);
	rows_release(&rows);
}

static void shows(bool numbers, const char *a, const char *b,
		  const char *expected)
{
	shows_file("", numbers, a, b, expected);
}

static void shows_unified(const char *diff, const char *expected)
{
	struct diffview d = { &theme, 40, true, { 0 } };
	struct rows rows = { 0 };
	char *text;

	diffview_unified(&d, str_of(diff), &rows);
	text = markup(&rows);
	assert_string_equal(text, expected);
	free(text);
	rows_release(&rows);
}

static void a_replaced_line_has_its_words_lit(void **state)
{
	(void)state;
	shows(false, "int alpha = 1;\n", "int beta = 1;\n",
	      "{on- removed|- }{on-|int }{on- lit|alpha}{on-| = 1;}\n"
	      "{on+ added|+ }{on+|int }{on+ lit|beta}{on+| = 1;}\n");
	/* two places in one line; the space between two words is lit too */
	shows(false, "call(one, 2, the third word);\n",
	      "call(two, 2, a fourth word);\n",
	      "{on- removed|- }{on-|call(}{on- lit|one}{on-|, 2, }"
	      "{on- lit|the third}{on-| word);}\n"
	      "{on+ added|+ }{on+|call(}{on+ lit|two}{on+|, 2, }"
	      "{on+ lit|a fourth}{on+| word);}\n");
}

static void a_line_is_compared_with_its_own_new_version(void **state)
{
	(void)state;
	shows(false, "int alpha = 1;\n", "first();\nint beta = 1;\n",
	      "{on- removed|- }{on-|int }{on- lit|alpha}{on-| = 1;}\n"
	      "{on+ added|+ }{on+|first();}\n"
	      "{on+ added|+ }{on+|int }{on+ lit|beta}{on+| = 1;}\n");
	/* lines that have nothing in common have no words lit */
	shows(false, "return x;\n", "while (busy)\n",
	      "{on- removed|- }{on-|return x;}\n"
	      "{on+ added|+ }{on+|while (busy)}\n");
}

static void code_keeps_the_colours_of_its_language(void **state)
{
	(void)state;
	shows_file("src/a.c", false, "/* old\n */\nint a = \"x\";\n",
		   "/* old\n */\nint a = \"y\"; // 1\n",
		   "{muted|  }{comment|/* old}\n"
		   "{muted|  }{comment| */}\n"
		   "{on- removed|- }{on- keyword|int}{on-| a = }{on- string|\"}"
		   "{on- lit string|x}{on- string|\"}{on-|;}\n"
		   "{on+ added|+ }{on+ keyword|int}{on+| a = }{on+ string|\"}"
		   "{on+ lit string|y}{on+ string|\"}{on+|;}{on+ lit| }"
		   "{on+ lit comment|// 1}\n");
}

static void lines_far_from_a_change_are_folded(void **state)
{
	(void)state;
	shows(true, "1\n2\n3\n4\n5\n6\n7\n8\n9\n",
	      "1\n2\n3\n4\n5\n6\nx\n8\n9\n",
	      "{muted|\xE2\x80\xA6 3 lines}\n"
	      "{muted|4   }4\n{muted|5   }5\n"
	      "{muted|6   }6\n"
	      "{on- removed|7 - }{on-|7}\n"
	      "{on+ added|7 + }{on+|x}\n{muted|8   }8\n"
	      "{muted|9   }9\n");
}

static void two_changes_are_found_apart(void **state)
{
	(void)state;
	shows(true, "a\nb\nc\nd\n", "a\nB\nc\nd\ne\n",
	      "{muted|1   }a\n"
	      "{on- removed|2 - }{on-|b}\n"
	      "{on+ added|2 + }{on+|B}\n"
	      "{muted|3   }c\n"
	      "{muted|4   }d\n{on+ added|5 + }{on+|e}\n");
}

static void a_new_file_is_all_added(void **state)
{
	(void)state;
	shows(true, "", "a\nb\n",
	      "{on+ added|1 + }{on+|a}\n"
	      "{on+ added|2 + }{on+|b}\n");
	shows(true, "a\n", "",
	      "{on- removed|1 - }"
	      "{on-|a}\n");
	shows(true, "", "", "");
}

static void a_long_line_is_wrapped_beside_its_number(void **state)
{
	(void)state;
	shows(true, "", "123456789 123456789 123456789 123456789 \xE4\xB8\xAD",
	      "{on+ added|1 + }{on+|123456789 123456789 123456789 123456}\n"
	      "{on+ added|    }{on+|789 \xE4\xB8\xAD}\n");
	shows(false, "", "\tx\n", "{on+ added|+ }{on+|        x}\n");
}

static void a_unified_diff_has_numbers_and_the_name_of_its_file(void **state)
{
	(void)state;
	shows_unified("diff --git a/x/a.py b/x/a.py\n"
		      "index 1234567..89abcde 100644\n"
		      "--- a/x/a.py\n"
		      "+++ b/x/a.py\n"
		      "@@ -9,2 +9,2 @@ def f():\n"
		      " a\n"
		      "-if b:\n"
		      "+if c:\n"
		      "\\ No newline at end of file\n"
		      "diff --git a/n b/n\n"
		      "new file mode 100755\n"
		      "--- /dev/null\n"
		      "+++ b/n\n"
		      "@@ -0,0 +1 @@\n"
		      "+--- x\n",
		      "{bold head|x/a.py}\n"
		      "{accent|@@ -9,2 +9,2 @@ def f():}\n"
		      "{muted| 9   }a\n"
		      "{on- removed|10 - }{on- keyword|if}{on-| }"
		      "{on- lit|b}{on-|:}\n"
		      "{on+ added|10 + }{on+ keyword|if}{on+| }"
		      "{on+ lit|c}{on+|:}\n"
		      "{muted|\\ No newline at end of file}\n"
		      "\n"
		      "{bold head|n}\n"
		      "{muted|new file mode 100755}\n"
		      "{accent|@@ -0,0 +1 @@}\n"
		      "{on+ added|1 + }{on+|--- x}\n");
}

static void a_diff_of_another_program_is_shown_as_it_is(void **state)
{
	(void)state;
	shows_unified("$ diff -u a b\n"
		      "--- a\t2026\n"
		      "+++ b\t2026\n"
		      "@@ -1 +1 @@\n"
		      "--- c\n"
		      "+d\x1b[m\n"
		      "end\n",
		      "$ diff -u a b\n"
		      "{bold head|--- a   2026}\n"
		      "{bold head|+++ b   2026}\n"
		      "{accent|@@ -1 +1 @@}\n"
		      "{on- removed|1 - }{on-|-- c}\n"
		      "{on+ added|1 + }{on+|d^[[m}\n"
		      "end\n");
	shows_unified("@@ line 3 @@\n x\n-a\n+b\n+c\n@@ line 9 @@\n-d",
		      "{accent|@@ line 3 @@}\n"
		      "{muted| 3   }x\n"
		      "{on- removed| 4 - }{on-|a}\n"
		      "{on+ added| 4 + }{on+|b}\n"
		      "{on+ added| 5 + }{on+|c}\n"
		      "{accent|@@ line 9 @@}\n"
		      "{on- removed| 8 - }{on-|d}\n");
}

/* Returns the rows of a diff that replaces n lines, each with its own word. */
static size_t rows_of_change(size_t n, size_t *bytes)
{
	struct diffview d = { &theme, 80, true, STR("a.c") };
	struct buf a = BUF_INIT(16 << 20);
	struct buf b = BUF_INIT(16 << 20);
	struct rows rows = { 0 };
	size_t lines;

	for (size_t i = 0; i < n; i++) {
		buf_addf(&a, "int a%zu = b;\n", i);
		buf_addf(&b, "int c%zu = b;\n", i);
	}
	diffview_render(&d, buf_str(&a), buf_str(&b), &rows);
	lines = rows.n;
	*bytes = rows.bytes.len;
	rows_release(&rows);
	buf_release(&a);
	buf_release(&b);
	return lines;
}

static void a_change_of_any_size_is_drawn_in_full(void **state)
{
	size_t bytes;

	(void)state;
	assert_int_equal(rows_of_change(3, &bytes), 6);
	assert_int_equal(rows_of_change(DIFFVIEW_LINES + 1, &bytes),
			 2 * DIFFVIEW_LINES + 2);
	assert_int_equal(rows_of_change(20000, &bytes), 40000);
	assert_true(bytes > 40000 * 12);
}

static void lines_of_many_words_are_compared_in_linear_time(void **state)
{
	struct word_ranges removed;
	struct word_ranges added;
	struct buf a = BUF_INIT(16 << 20);
	struct buf b = BUF_INIT(16 << 20);

	(void)state;
	for (size_t i = 0; i < 200000; i++) {
		buf_addf(&a, "%zu,", i);
		buf_addf(&b, "%zu,", i == 7 || i == 190000 ? 0 : i);
	}
	assert_true(
		word_diff_lines(buf_str(&a), buf_str(&a), &removed, &added));
	assert_int_equal(removed.n + added.n, 0);
	assert_false(
		word_diff_lines(buf_str(&a), buf_str(&b), &removed, &added));
	buf_release(&a);
	buf_release(&b);
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
	diff_count(STR("a\nb\nc\na\nb\nb\na\n"), STR("c\nb\na\nb\na\nc\n"),
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
		cmocka_unit_test(a_replaced_line_has_its_words_lit),
		cmocka_unit_test(lines_far_from_a_change_are_folded),
		cmocka_unit_test(two_changes_are_found_apart),
		cmocka_unit_test(a_new_file_is_all_added),
		cmocka_unit_test(a_line_is_compared_with_its_own_new_version),
		cmocka_unit_test(code_keeps_the_colours_of_its_language),
		cmocka_unit_test(a_long_line_is_wrapped_beside_its_number),
		cmocka_unit_test(
			a_unified_diff_has_numbers_and_the_name_of_its_file),
		cmocka_unit_test(a_diff_of_another_program_is_shown_as_it_is),
		cmocka_unit_test(a_change_of_any_size_is_drawn_in_full),
		cmocka_unit_test(
			lines_of_many_words_are_compared_in_linear_time),
		cmocka_unit_test(steps_lead_from_one_text_to_the_other),
		cmocka_unit_test(the_shortest_way_is_taken),
		cmocka_unit_test(a_diff_as_text_has_signs_and_line_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
