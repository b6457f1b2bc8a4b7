/* highlight_test.c - code has its keywords, strings and comments marked. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "markup.h"
#include "markup/highlight.h"
#include "unit.h"

static void shows(const char *language, const char *code, const char *expected)
{
	struct highlight h;
	struct rows rows = { 0 };
	struct str rest = str_of(code);
	struct str line;
	char *shown;

	highlight_begin(&h, str_of(language));
	while (str_split(&rest, '\n', &line)) {
		highlight_line(&h, line, &rows);
		rows_end(&rows);
	}
	shown = markup(&rows);
	assert_string_equal(shown, expected);
	free(shown);
	rows_release(&rows);
}

static void an_unknown_language_is_plain(void **state)
{
	(void)state;
	shows("brainbend", "if (x) \"y\" // z", "{code|if (x) \"y\" // z}\n");
	shows("", "if", "{code|if}\n");
	/* positive control */
	shows("C", "if", "{keyword|if}\n");
}

static void names_of_fences_may_have_more_behind_them(void **state)
{
	(void)state;
	shows("rust,ignore", "fn", "{keyword|fn}\n");
	shows("python {.x}", "def", "{keyword|def}\n");
}

static void comments_and_strings_go_on_in_the_next_line(void **state)
{
	(void)state;
	shows("c", "a /* b\nif */ if",
	      "{code|a }{comment|/* b}\n"
	      "{comment|if */}{code| }{keyword|if}\n");
	shows("py", "x = '''a\nif''' if",
	      "{code|x = }{string|'''a}\n"
	      "{string|if'''}{code| }{keyword|if}"
	      "\n");
	shows("js", "`a\nb` if",
	      "{string|`a}\n{string|b`}{code| }"
	      "{keyword|if}\n");
	shows("c", "\"a\nif", "{string|\"a}\n{keyword|if}\n");
}

static void an_escaped_quote_ends_no_string(void **state)
{
	(void)state;
	shows("c", "\"a\\\"b\" c", "{string|\"a\\\"b\"}{code| c}\n");
	shows("sql", "'a\\' or 'b'",
	      "{string|'a\\'}{code| }{keyword|or}"
	      "{code| }{string|'b'}\n");
	shows("c", "\"\\", "{string|\"\\}\n");
}

static void a_hash_within_a_word_begins_no_comment(void **state)
{
	(void)state;
	shows("sh", "echo a#b # c", "{code|echo a#b }{comment|# c}\n");
	shows("sh", "${#a}", "{code|${#a}}\n");
}

static void keywords_are_whole_words(void **state)
{
	(void)state;
	shows("c", "iffy if_ if0 if", "{code|iffy if_ if0 }{keyword|if}\n");
	shows("sql", "SELECT x FROM y",
	      "{keyword|SELECT}{code| x }"
	      "{keyword|FROM}{code| y}\n");
}

static void lines_of_a_diff_are_coloured(void **state)
{
	(void)state;
	shows("diff", "--- a\n+++ b\n@@ -1 +1 @@\n c\n-d\n+e",
	      "{muted|--- a}\n{muted|+++ b}\n{accent|@@ -1 +1 @@}\n"
	      "{code| c}\n{on- removed|-d}\n{on+ added|+e}\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_unknown_language_is_plain),
		cmocka_unit_test(names_of_fences_may_have_more_behind_them),
		cmocka_unit_test(comments_and_strings_go_on_in_the_next_line),
		cmocka_unit_test(an_escaped_quote_ends_no_string),
		cmocka_unit_test(a_hash_within_a_word_begins_no_comment),
		cmocka_unit_test(keywords_are_whole_words),
		cmocka_unit_test(lines_of_a_diff_are_coloured),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
