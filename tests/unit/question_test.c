/* question_test.c - nothing of a call hides from who has to approve it. */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "markup.h"
#include "ui/question.h"
#include "ui/question_change.h"
#include "unit.h"

enum { NARROW = 20, WIDE = 80, ROWS = 20 };

static char *render(const char *text, size_t rows, size_t columns)
{
	struct question_item item = { .label = "command",
				      .text = str_of(text) };
	struct question_screen screen = { rows, columns };
	struct buf out = BUF_INIT(1 << 24);

	question_render(&item, 1, screen, &out);
	assert_false(out.over);
	return buf_detach(&out);
}

static size_t lines(const char *text)
{
	size_t n = 0;

	for (; *text; text++)
		n += *text == '\n';
	return n;
}

static void expect(const char *text, const char *want)
{
	char *got = render(text, ROWS, WIDE);

	assert_string_equal(got, want);
	free(got);
}

static void plain_text_is_shown_as_it_is(void **state)
{
	(void)state;
	expect("ls -la", "  command: ls -la\n");
	expect("", "  command: \n");
	expect("a b\tc", "  command: a b  c\n");
	expect("if x; then\n\ty\nfi", "  command: if x; then\n  |     y\n"
				      "  | fi\n");
	expect("caf\xC3\xA9 cafe\xCC\x81 \xE6\xBC\xA2\xE5\xAD\x97",
	       "  command: caf\xC3\xA9 cafe\xCC\x81 "
	       "\xE6\xBC\xA2\xE5\xAD\x97\n");
}

static void long_runs_of_blanks_are_counted(void **state)
{
	char text[3100];
	char *got;

	(void)state;
	snprintf(text, sizeof(text), "touch PWNED #%3000s ls -la", "");
	expect(text, "  command: touch PWNED #[3001 spaces]ls -la\n");
	snprintf(text, sizeof(text), "a%16sb", "");
	expect(text, "  command: a                b\n");
	snprintf(text, sizeof(text), "a%17sb", "");
	expect(text, "  command: a[17 spaces]b\n");
	expect("a\t\t\t\tb", "  command: a[4 tabs]b\n");
	expect("a \t \t \t \tb", "  command: a[4 spaces and 4 tabs]b\n");
	/* Indentation is usual, up to half the width. */
	snprintf(text, sizeof(text), "a\n%36sb", "");
	got = render(text, ROWS, WIDE);
	assert_null(strchr(got, '['));
	free(got);
	snprintf(text, sizeof(text), "a\n%60sb", "");
	expect(text, "  command: a\n  | [60 spaces]b\n");
}

static void blank_lines_are_counted(void **state)
{
	char text[2100];

	(void)state;
	expect("a\n\n\n\nb", "  command: a\n  | \n  | \n  | \n  | b\n");
	memset(text, '\n', 1000);
	snprintf(text + 1000, 100, "rm x");
	expect(text, "  command: \n  | [999 blank lines]\n  | rm x\n");
	for (size_t i = 0; i < 1000; i++)
		memcpy(text + 2 * i, " \n", 2);
	snprintf(text + 2000, 100, "rm x");
	expect(text, "  command:  \n  | [999 blank lines]\n  | rm x\n");
}

static void invisible_characters_are_spelled_out(void **state)
{
	static const char *const cases[][2] = {
		{ "\xC2\xA0", "\\u{a0}" },            /* NBSP */
		{ "\xE2\xA0\x80", "\\u{2800}" },      /* braille blank */
		{ "\xE2\x80\x8B", "\\u{200b}" },      /* zero width space */
		{ "\xE2\x80\x8D", "\\u{200d}" },      /* joiner */
		{ "\xE2\x80\xAE", "\\u{202e}" },      /* RLO */
		{ "\xE2\x81\xA6", "\\u{2066}" },      /* LRI */
		{ "\xEF\xB8\x8F", "\\u{fe0f}" },      /* variation selector */
		{ "\xEF\xB8\x80", "\\u{fe00}" },      /* another */
		{ "\xE3\x80\x80", "\\u{3000}" },      /* ideographic space */
		{ "\xE3\x85\xA4", "\\u{3164}" },      /* Hangul filler */
		{ "\xEF\xBB\xBF", "\\u{feff}" },      /* BOM */
		{ "\xC2\xAD", "\\u{ad}" },            /* soft hyphen */
		{ "\xE2\x80\xA8", "\\u{2028}" },      /* line separator */
		{ "\xC2\x85", "\\u{85}" },            /* NEL */
		{ "\xEE\x80\x80", "\\u{e000}" },      /* private use */
		{ "\xF3\xA0\x81\xA1", "\\u{e0061}" }, /* tag */
		{ "\xF3\xA0\x84\x80", "\\u{e0100}" }, /* selector 17 */
		{ "\xF0\x9D\x85\x99", "\\u{1d159}" }, /* null notehead */
		{ "\xCC\xB6", "\\u{336}" },           /* stroke overlay */
		{ "\xE2\x83\x9D", "\\u{20dd}" },      /* enclosing circle */
		{ "\x1b[2J", "\\x1b[2J" },
		{ "\r", "\\x0d" },
		{ "\x7f", "\\x7f" },
		{ "\xFF", "\\xff" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char *text = xasprintf("rm%sx", cases[i][0]);
		char *want = xasprintf("  command: rm%sx\n", cases[i][1]);

		expect(text, want);
		free(want);
		free(text);
	}
}

static void marks_do_not_pile_up(void **state)
{
	char *got;

	(void)state;
	got = render("a\xCC\x81\xCC\x81\xCC\x81\xCC\x81 \xCC\x81;\xCC\x81",
		     ROWS, WIDE);
	assert_string_equal(got, "  command: a\xCC\x81\xCC\x81\xCC\x81\\u{301} "
				 "\\u{301};\\u{301}\n");
	free(got);
}

/* A row of ours is one row of the terminal, so nothing scrolls away. */
static void rows_are_counted_by_display_width(void **state)
{
	struct buf text = BUF_INIT(1 << 20);
	char *got;

	(void)state;
	buf_adds(&text, "touch PWNED; ");
	for (int i = 0; i < 5000; i++)
		buf_adds(&text, "\xE6\xBC\xA2"); /* two columns each */
	buf_adds(&text, " ls -la");
	for (size_t columns = NARROW; columns <= WIDE; columns += 30) {
		struct str rest;
		struct str line;

		got = render(text.ptr, ROWS, columns);
		assert_int_equal(lines(got), ROWS);
		assert_non_null(strstr(got, "-la\n"));
		assert_non_null(strstr(got, " rows ...\n"));
		rest = str_of(got);
		assert_true(str_starts(rest, "  command: touch"));
		while (str_split(&rest, '\n', &line)) {
			size_t wide = 0;

			for (size_t i = 0; i < line.len; i++)
				wide += ((unsigned char)line.ptr[i] & 0xC0) !=
							0x80
						? 1
						: 0;
			for (size_t i = 0; i < line.len; i++)
				wide += (unsigned char)line.ptr[i] == 0xE6;
			assert_true(wide < columns);
		}
		free(got);
	}
	buf_release(&text);
}

static void what_lies_between_is_counted_and_shown_on_request(void **state)
{
	struct question_item item = { .label = "command" };
	struct buf text = BUF_INIT(1 << 20);
	struct buf out = BUF_INIT(1 << 20);
	size_t hidden;

	(void)state;
	for (int i = 0; i < 3000; i++)
		buf_addf(&text, i == 1500 ? "rm -rf x\n" : "true %d\n", i);
	item.text = buf_str(&text);
	hidden = question_render(&item, 1,
				 (struct question_screen){ ROWS, WIDE }, &out);
	assert_int_equal(hidden, 3001 - (ROWS - 1));
	assert_non_null(strstr(out.ptr, "  ... 2982 rows ...\n"));
	assert_null(strstr(out.ptr, "rm -rf"));
	buf_clear(&out);
	hidden = question_render(&item, 1, (struct question_screen){ 0, WIDE },
				 &out);
	assert_int_equal(hidden, 0);
	assert_non_null(strstr(out.ptr, "  | rm -rf x\n"));
	assert_int_equal(lines(out.ptr), 3001);
	buf_release(&out);
	buf_release(&text);
}

static void each_argument_keeps_its_ends(void **state)
{
	struct question_item items[3] = { { .label = "file_path",
					    .text = STR("a.txt") },
					  { .label = "old_string" },
					  { .label = "new_string" } };
	struct buf text = BUF_INIT(1 << 20);
	struct buf out = BUF_INIT(1 << 20);

	(void)state;
	for (int i = 0; i < 1000; i++)
		buf_addf(&text, "line %d\n", i);
	buf_adds(&text, "last");
	items[1].text = items[2].text = buf_str(&text);
	question_render(items, 3, (struct question_screen){ ROWS, WIDE }, &out);
	assert_true(lines(out.ptr) <= ROWS && lines(out.ptr) > ROWS - 3);
	assert_non_null(strstr(out.ptr, "  file_path: a.txt\n"));
	assert_non_null(strstr(out.ptr, "  old_string: line 0\n"));
	assert_non_null(strstr(out.ptr, "  | last\n  new_string: line 0\n"));
	buf_release(&out);
	buf_release(&text);
}

static void rows_end_between_words(void **state)
{
	static const char *const cases[][2] = {
		{ "git commit -am fix",
		  "  command: git \n    commit -am fix\n" },
		{ "say \"one two\" 'a b'",
		  "  command: say \n    \"one two\" 'a b'\n" },
		/* longer than a row: a word, a string, a row's last blank */
		{ "a 01234567890123456789",
		  "  command: a 012345\n    67890123456789\n" },
		{ "x \"one two three four\"",
		  "  command: x \"one \n    two three four\"\n" },
		{ "12345678 9", "  command: \n    12345678 9\n" },
		{ "it's a b c d e f", "  command: it's a \n    b c d e f\n" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char *got = render(cases[i][0], 0, NARROW);

		assert_string_equal(got, cases[i][1]);
		free(got);
	}
}

static void unchanged_rows_of_a_change_are_hidden_first(void **state)
{
	struct question_item item = {
		.label = "change",
		.text = STR("@@ line 1 @@\n a\n b\n c\n-old\n+new\n d\n e\n f"),
		.is_change = true
	};
	struct buf out = BUF_INIT(1 << 20);
	size_t hidden;

	(void)state;
	hidden = question_render(&item, 1, (struct question_screen){ 5, WIDE },
				 &out);
	assert_string_equal(out.ptr, "  change: @@ line 1 @@\n"
				     "  ... 3 rows ...\n"
				     "4 | -old\n4 | +new\n"
				     "  ... 3 rows ...\n");
	assert_int_equal(hidden, 6);
	buf_clear(&out);
	hidden = question_render(&item, 1, (struct question_screen){ 7, WIDE },
				 &out);
	assert_string_equal(out.ptr, "  change: @@ line 1 @@\n"
				     "  ... 2 rows ...\n"
				     "3 |  c\n4 | -old\n4 | +new\n5 |  d\n"
				     "  ... 2 rows ...\n");
	assert_int_equal(hidden, 4);
	buf_release(&out);
}

/* The rows of a change on a screen of this width, with marked up colours. */
static char *draw(const char *change, size_t rows, size_t columns, char **text)
{
	struct question_item item = { .label = "change",
				      .text = str_of(change),
				      .is_change = true };
	struct question_screen screen = { rows, columns };
	struct buf shown = BUF_INIT(1 << 24);
	struct rows drawn = { 0 };
	char *marked;

	question_render(&item, 1, screen, &shown);
	question_change_render(buf_str(&shown), "change", STR("a.c"), &drawn);
	*text = rows_text(&drawn);
	assert_string_equal(*text, buf_str(&shown).ptr);
	marked = markup(&drawn);
	rows_release(&drawn);
	buf_release(&shown);
	return marked;
}

static void a_change_has_its_words_lit(void **state)
{
	char *text;
	char *got = draw("@@ line 1 @@\n \tint a;\n-if (alpha) go();\n"
			 "+if (beta) go();",
			 0, 18, &text);

	(void)state;
	assert_string_equal(
		got, "{muted|  change: }{accent|@@ line}\n"
		     "{muted|    }{accent| 1 @@}\n"
		     "{muted|1 |  }   {keyword|int} a;\n"
		     "{muted|2 | }{on- removed|-}{on- keyword|if}{on-| (}"
		     "{on- lit|alpha}{on-|) g}\n"
		     "{muted|    }{on-|o();}\n"
		     "{muted|2 | }{on+ added|+}{on+ keyword|if}{on+| (}"
		     "{on+ lit|beta}{on+|) go}\n"
		     "{muted|    }{on+|();}\n");
	free(got);
	free(text);
}

static void colours_change_no_character_of_a_change(void **state)
{
	static const char *const changes[] = {
		"no change: the file already has this text",
		"@@ line 1 @@\n+a\n\n\n\n\n\n\n b\x1b[m\n+\xCC\x81 x\n+\\ \xFF",
		"@@ line 1 @@\n-a\n\\ the last line break is removed",
		"@@ line 1 @@\n-    four\n+    five six seven eight nine ten\n",
		"@@ line 1 @@\n-\n+\n \n-/* x\n+\"\xE6\xBC\xA2\xE5\xAD\x97",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(changes) / sizeof(*changes); i++) {
		for (size_t columns = 10; columns < 60; columns += 3) {
			char *text;

			free(draw(changes[i], 0, columns, &text));
			free(text);
			free(draw(changes[i], 4, columns, &text));
			free(text);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plain_text_is_shown_as_it_is),
		cmocka_unit_test(long_runs_of_blanks_are_counted),
		cmocka_unit_test(blank_lines_are_counted),
		cmocka_unit_test(invisible_characters_are_spelled_out),
		cmocka_unit_test(marks_do_not_pile_up),
		cmocka_unit_test(rows_are_counted_by_display_width),
		cmocka_unit_test(
			what_lies_between_is_counted_and_shown_on_request),
		cmocka_unit_test(each_argument_keeps_its_ends),
		cmocka_unit_test(rows_end_between_words),
		cmocka_unit_test(unchanged_rows_of_a_change_are_hidden_first),
		cmocka_unit_test(a_change_has_its_words_lit),
		cmocka_unit_test(colours_change_no_character_of_a_change),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
