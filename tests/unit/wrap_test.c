/* wrap_test.c - rows cut to the width of the screen; themes and glyphs. */
/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/str.h"
#include "term/rows.h"
#include "term/theme.h"

static const struct style plain;

/* The rows of a text, each ended by "|". */
static void assert_wrapped(const char *text, struct wrap w, const char *want)
{
	struct rows in = { 0 };
	struct rows out = { 0 };
	struct buf all = BUF_INIT(10000);

	rows_adds(&in, plain, text);
	rows_end(&in);
	wrap_rows(&in, &w, &out);
	for (size_t i = 0; i < out.n; i++) {
		buf_addstr(&all, rows_view(&out, i).bytes);
		buf_addc(&all, '|');
	}
	assert_string_equal(all.ptr, want);
	rows_release(&in);
	rows_release(&out);
	buf_release(&all);
}

static void words_stay_whole_where_they_fit(void **state)
{
	struct wrap w = { .columns = 10, .words = true };

	(void)state;
	assert_wrapped("one two three four", w, "one two|three four|");
	assert_wrapped("0123456789 ab", w, "0123456789|ab|");
	assert_wrapped("0123456789", w, "0123456789|");
	assert_wrapped("a    0123456789", w, "a|0123456789|");
}

static void long_word_is_cut_at_the_column(void **state)
{
	struct wrap w = { .columns = 10, .words = true };

	(void)state;
	assert_wrapped("0123456789abcdef", w, "0123456789|abcdef|");
	assert_wrapped("x 0123456789abcdef", w, "x|0123456789|abcdef|");
}

static void indentation_is_kept(void **state)
{
	struct wrap w = { .columns = 10, .words = true };

	(void)state;
	assert_wrapped("    deep words", w, "    deep|words|");
	assert_wrapped("            x", w, "          |  x|");
}

static void without_words_every_blank_is_kept(void **state)
{
	struct wrap w = { .columns = 4 };

	(void)state;
	assert_wrapped("ab  cd  ef", w, "ab  |cd  |ef|");
	assert_wrapped("", w, "|");
}

static void wide_cluster_is_never_split(void **state)
{
	struct wrap w = { .columns = 5 };

	(void)state;
	assert_wrapped("漢字漢字", w, "漢字|漢字|");
	w.columns = 1;
	assert_wrapped("漢a字", w, "漢|a|字|");
}

static void prefixes_stand_before_first_and_other_rows(void **state)
{
	struct wrap w = { .columns = 8,
			  .words = true,
			  .first = { STR("* "), { 0 } },
			  .rest = { STR("  "), { 0 } } };

	(void)state;
	assert_wrapped("one two three", w, "* one|  two|  three|");
	w.columns = 3;
	assert_wrapped("one", w, "one|");
}

static void no_row_is_wider_and_nothing_is_lost(void **state)
{
	static const char *const pieces[] = { "a", " ", "word", "漢", "\t",
					      "é", "😀", "  ",   "-",  "🇩🇪" };
	struct rows in = { 0 };
	struct rows out = { 0 };
	struct buf joined = BUF_INIT(100000);
	unsigned seed = 7;

	(void)state;
	for (int i = 0; i < 3000; i++) {
		seed = seed * 1103515245 + 12345;
		rows_adds(&in, (struct style){ (uint8_t)(seed >> 20 & 3), 0 },
			  pieces[(seed >> 16) % 10]);
	}
	for (size_t columns = 2; columns < 60; columns += 3) {
		struct wrap w = { .columns = columns };

		rows_clear(&out);
		buf_clear(&joined);
		wrap_rows(&in, &w, &out);
		for (size_t i = 0; i < out.n; i++) {
			assert_true(rows_cells(&out, i) <= columns);
			buf_addstr(&joined, rows_view(&out, i).bytes);
		}
		assert_true(str_eq(buf_str(&joined), rows_view(&in, 0).bytes));
	}
	rows_release(&in);
	rows_release(&out);
	buf_release(&joined);
}

static void pieces_of_a_link_keep_its_address(void **state)
{
	struct wrap w = { .columns = 4 };
	struct rows in = { 0 };
	struct rows out = { 0 };

	(void)state;
	rows_add_link(&in, plain, STR("long link"), STR("https://a/"));
	wrap_rows(&in, &w, &out);
	assert_int_equal(out.n, 3);
	for (size_t i = 0; i < 3; i++)
		assert_true(str_is(rows_link(&out, rows_view(&out, i).spans),
				   "https://a/"));
	rows_release(&in);
	rows_release(&out);
}

static void assert_style(const struct theme *t, struct style s,
			 const char *want)
{
	struct buf b = BUF_INIT(100);

	theme_style(t, s, &b);
	assert_string_equal(b.ptr, want);
	buf_release(&b);
}

static void theme_without_colours_keeps_attributes(void **state)
{
	struct theme t = { .name = THEME_DARK };

	(void)state;
	assert_style(&t, plain, "\x1b[0m");
	assert_style(&t, (struct style){ ATTR_BOLD, STYLE_ERROR },
		     "\x1b[0;1;31m");
	assert_style(&t, (struct style){ ATTR_STRIKE | ATTR_REVERSE, 0 },
		     "\x1b[0;9;7m");
	t.name = THEME_LIGHT;
	assert_style(&t, (struct style){ 0, STYLE_ACCENT }, "\x1b[0;34m");
	t.name = THEME_NONE;
	assert_style(&t, (struct style){ ATTR_BOLD, STYLE_ERROR }, "\x1b[0;1m");
	assert_style(&t, (struct style){ 0, STYLE_MUTED }, "\x1b[0;2m");
}

static void environment_picks_theme_and_glyphs(void **state)
{
	struct theme t;

	(void)state;
	clearenv();
	theme_init(&t);
	assert_int_equal(t.name, THEME_DARK);
	assert_true(t.ascii);
	assert_string_equal(theme_glyph(&t, GLYPH_ELLIPSIS), "...");
	setenv("LANG", "de_DE.UTF-8", 1);
	setenv("COLORFGBG", "0;default;15", 1);
	theme_init(&t);
	assert_int_equal(t.name, THEME_LIGHT);
	assert_false(t.ascii);
	assert_string_equal(theme_glyph(&t, GLYPH_ELLIPSIS), "…");
	setenv("LC_ALL", "C", 1);
	setenv("NO_COLOR", "1", 1);
	theme_init(&t);
	assert_true(t.ascii);
	assert_int_equal(t.name, THEME_NONE);
	theme_background(&t, 0xFFFFFF);
	assert_int_equal(t.name, THEME_NONE);
}

static void told_background_picks_the_theme(void **state)
{
	struct theme t = { .name = THEME_DARK };

	(void)state;
	theme_background(&t, 0xFDF6E3);
	assert_int_equal(t.name, THEME_LIGHT);
	theme_background(&t, 0x002B36);
	assert_int_equal(t.name, THEME_DARK);
}

static void what_the_user_chose_outlasts_what_the_terminal_tells(void **state)
{
	struct theme t;

	(void)state;
	clearenv();
	theme_init(&t);
	theme_choose(&t, THEME_DARK);
	theme_background(&t, 0xFDF6E3);
	assert_int_equal(t.name, THEME_DARK);
	theme_choose(&t, THEME_AUTO); /* as it has told before */
	assert_int_equal(t.name, THEME_LIGHT);
	theme_choose(&t, THEME_NONE);
	assert_int_equal(t.name, THEME_NONE);
	theme_background(&t, 0);
	theme_choose(&t, THEME_AUTO);
	assert_int_equal(t.name, THEME_DARK);
	setenv("NO_COLOR", "1", 1);
	theme_init(&t);
	theme_choose(&t, THEME_LIGHT); /* says so in this session */
	assert_int_equal(t.name, THEME_LIGHT);
	theme_choose(&t, THEME_AUTO);
	assert_int_equal(t.name, THEME_NONE);
}

static void glyphs_have_the_same_width_in_every_theme(void **state)
{
	struct theme utf8 = { 0 };
	struct theme ascii = { .ascii = true };

	(void)state;
	for (enum glyph g = 0; g < N_GLYPHS; g++) {
		assert_int_equal(width_cells(str_of(theme_glyph(&utf8, g))), 1);
		for (const char *p = theme_glyph(&ascii, g); *p; p++)
			assert_in_range(*p, 0x20, 0x7E);
	}
	for (size_t i = 0; i < 20; i++) {
		assert_int_equal(width_cells(str_of(theme_spinner(&utf8, i))),
				 1);
		assert_int_equal(strlen(theme_spinner(&ascii, i)), 1);
	}
}

static void theme_names_are_read_back(void **state)
{
	enum theme_name found;

	(void)state;
	for (enum theme_name n = 0; n < THEME_USER; n++) {
		assert_true(theme_parse(str_of(theme_name(n)), &found));
		assert_int_equal(found, n);
	}
	assert_false(theme_parse(STR("pink"), &found));
}

/* Reads ";38;2;r;g;b" (kind 38) or ";48;2;r;g;b" (kind 48) from a sequence. */
static uint32_t read_rgb(const char *sequence, int kind)
{
	char head[16];
	unsigned c[3];
	const char *at;

	snprintf(head, sizeof(head), ";%d;2;", kind);
	at = strstr(sequence, head);
	assert_non_null(at);
	assert_int_equal(
		sscanf(at + strlen(head), "%u;%u;%u", &c[0], &c[1], &c[2]), 3);
	return c[0] << 16 | c[1] << 8 | c[2];
}

/* x to the power of 2.4, for 0 < x <= 1: by Newton's method for the fifth root
 * of x squared. */
static double power_24(double x)
{
	double root = 1;

	for (int i = 0; i < 40; i++)
		root = (4 * root + x * x / (root * root * root * root)) / 5;
	return x * x * root;
}

/* The relative luminance of WCAG 2.2. */
static double luminance(uint32_t rgb)
{
	static const double weights[] = { 0.2126, 0.7152, 0.0722 };
	double sum = 0;

	for (int i = 0; i < 3; i++) {
		double c = (double)(rgb >> (16 - 8 * i) & 0xFF) / 255;

		sum += weights[i] * (c <= 0.04045
					     ? c / 12.92
					     : power_24((c + 0.055) / 1.055));
	}
	return sum;
}

static double contrast_of(const struct theme *t, struct style style)
{
	struct buf b = BUF_INIT(200);
	double text;
	double ground;

	theme_style(t, style, &b);
	text = luminance(read_rgb(b.ptr, 38));
	ground = luminance(read_rgb(b.ptr, 48));
	buf_release(&b);
	return text > ground ? (text + 0.05) / (ground + 0.05)
			     : (ground + 0.05) / (text + 0.05);
}

/* WCAG 2.2 asks for a contrast of 4.5, at its highest level of 7. */
static void text_of_a_difference_can_be_read_in_every_theme(void **state)
{
	static const enum theme_name names[] = { THEME_DARK, THEME_LIGHT,
						 THEME_DEUTERANOPIA,
						 THEME_CONTRAST };
	static const uint16_t grounds[] = { ATTR_ADDED,
					    ATTR_ADDED | ATTR_CHANGED,
					    ATTR_REMOVED,
					    ATTR_REMOVED | ATTR_CHANGED };

	(void)state;
	for (size_t i = 0; i < 4 * 2; i++) {
		struct theme t = { .depth = DEPTH_RGB,
				   .own = i % 2 ? THEME_LIGHT : THEME_DARK };
		double least = names[i / 2] == THEME_CONTRAST ? 7 : 4.5;

		theme_choose(&t, names[i / 2]);
		for (uint8_t role = 0; role < N_STYLES; role++) {
			for (size_t g = 0; g < 4; g++) {
				struct style s = { grounds[g], role };

				if (role ==
				    (g < 2 ? STYLE_REMOVED : STYLE_ADDED))
					continue;
				if (contrast_of(&t, s) < least)
					fail_msg("theme %zu, role %d, ground "
						 "%zu: %.1f",
						 i, role, g,
						 contrast_of(&t, s));
			}
		}
	}
}

static void a_users_colour_is_the_nearest_that_the_terminal_has(void **state)
{
	const struct theme_user own = {
		.name = "own",
		.text = { [STYLE_MUTED] = 0xFF8700 | THEME_COLOUR_SET },
		.lines = { 0x00005F | THEME_COLOUR_SET },
	};
	struct theme t = { .depth = DEPTH_RGB };

	(void)state;
	theme_choose_user(&t, &own);
	assert_style(&t, (struct style){ 0, STYLE_MUTED },
		     "\x1b[0;38;2;255;135;0m");
	assert_style(&t, (struct style){ 0, STYLE_OK }, "\x1b[0;32m");
	t.depth = DEPTH_256;
	assert_style(&t, (struct style){ 0, STYLE_MUTED }, "\x1b[0;38;5;208m");
	assert_style(&t, (struct style){ ATTR_ADDED, STYLE_PLAIN },
		     "\x1b[0;38;5;255;48;5;17m");
	t.depth = DEPTH_16;
	assert_style(&t, (struct style){ 0, STYLE_MUTED }, "\x1b[0;33m");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_stay_whole_where_they_fit),
		cmocka_unit_test(long_word_is_cut_at_the_column),
		cmocka_unit_test(indentation_is_kept),
		cmocka_unit_test(without_words_every_blank_is_kept),
		cmocka_unit_test(wide_cluster_is_never_split),
		cmocka_unit_test(prefixes_stand_before_first_and_other_rows),
		cmocka_unit_test(no_row_is_wider_and_nothing_is_lost),
		cmocka_unit_test(pieces_of_a_link_keep_its_address),
		cmocka_unit_test(theme_without_colours_keeps_attributes),
		cmocka_unit_test(environment_picks_theme_and_glyphs),
		cmocka_unit_test(told_background_picks_the_theme),
		cmocka_unit_test(
			what_the_user_chose_outlasts_what_the_terminal_tells),
		cmocka_unit_test(glyphs_have_the_same_width_in_every_theme),
		cmocka_unit_test(theme_names_are_read_back),
		cmocka_unit_test(
			text_of_a_difference_can_be_read_in_every_theme),
		cmocka_unit_test(
			a_users_colour_is_the_nearest_that_the_terminal_has),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
