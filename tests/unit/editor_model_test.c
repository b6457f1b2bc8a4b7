/* editor_model_test.c - random keys give what a list of characters gives. */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "editor/editor.h"
#include "unit.h"

enum { UNITS = 12, UNITS_MAX = 400, KEYS = 600, SEEDS = 60, ROWS = 500 };

static const struct {
	const char *text;
	size_t cells;
} units[UNITS] = {
	{ "a", 1 },
	{ "b", 1 },
	{ " ", 1 },
	{ "\n", 0 },
	{ "-", 1 },
	{ "\xC3\xA9", 1 },
	{ "e\xCC\x81", 1 },
	{ "\xE4\xBD\xA0", 2 },
	{ "\xF0\x9F\x98\x80", 2 },
	{ "\xF0\x9F\x91\xA8\xE2\x80\x8D\xF0\x9F\x91\xA9", 2 },
	{ "\xF0\x9F\x87\xA9\xF0\x9F\x87\xAA", 2 },
	{ "\xE2\x80\xAE", 8 }, /* <U+202E> */
};

/* The text as numbers of units, the caret between two of them. */
struct model {
	size_t text[UNITS_MAX];
	size_t n;
	size_t caret;
	size_t width;
	uint32_t random;
};

static uint32_t next_random(struct model *m, uint32_t below)
{
	m->random = m->random * 1664525U + 1013904223U;
	return (m->random >> 8) % below;
}

static void insert(struct model *m, size_t unit)
{
	memmove(m->text + m->caret + 1, m->text + m->caret,
		(m->n - m->caret) * sizeof(size_t));
	m->text[m->caret++] = unit;
	m->n++;
}

static void erase(struct model *m, size_t from, size_t to)
{
	memmove(m->text + from, m->text + to, (m->n - to) * sizeof(size_t));
	m->n -= to - from;
	m->caret = from;
}

static bool is_line_end(const struct model *m, size_t i)
{
	return m->text[i] == 3;
}

static bool is_word(const struct model *m, size_t i)
{
	return m->text[i] < 2 || m->text[i] > 4;
}

static size_t word_left(const struct model *m)
{
	size_t i = m->caret;

	while (i && !is_word(m, i - 1))
		i--;
	while (i && is_word(m, i - 1))
		i--;
	return i;
}

static size_t word_right(const struct model *m)
{
	size_t i = m->caret;

	while (i < m->n && !is_word(m, i))
		i++;
	while (i < m->n && is_word(m, i))
		i++;
	return i;
}

static size_t line_start(const struct model *m)
{
	size_t i = m->caret;

	while (i && !is_line_end(m, i - 1))
		i--;
	return i;
}

static size_t line_end(const struct model *m)
{
	size_t i = m->caret;

	while (i < m->n && !is_line_end(m, i))
		i++;
	return i;
}

/* A row may end after a blank and after a wide character. */
static bool ends_word(const struct model *m, size_t i)
{
	return m->text[i] == 2 || (m->text[i] > 6 && m->text[i] < 11);
}

/* True for a blank in the middle of a line: it may stay behind a full row. */
static bool may_hang(const struct model *m, size_t i)
{
	return i < m->n && m->text[i] == 2 &&
	       (i + 1 == m->n || !is_line_end(m, i + 1));
}

/* Row and column of each place, by filling rows from the very first. A word
 * that does not fit begins a new row, unless it is longer than a row. */
static void lay_out(const struct model *m, size_t *row, size_t *column)
{
	size_t r = 0;
	size_t c = 0;
	size_t word = 0; /* where the last word of the row begins */
	size_t first = 0;

	for (size_t i = 0; i <= m->n; i++) {
		size_t cells = i < m->n ? units[m->text[i]].cells : 0;

		if (may_hang(m, i) && c && c + cells > m->width) {
			row[i] = r++;
			column[i] = c;
			c = 0;
			first = word = i + 1;
			continue;
		}
		if (i < m->n && !is_line_end(m, i) && c &&
		    c + cells > m->width) {
			if (!ends_word(m, i) && word > first) {
				i = word;
				cells = units[m->text[i]].cells;
			}
			r++;
			c = 0;
			first = word = i;
		}
		row[i] = r;
		column[i] = c;
		c += cells;
		if (i < m->n && ends_word(m, i))
			word = i + 1;
		if (i < m->n && is_line_end(m, i)) {
			r++;
			c = 0;
			first = word = i + 1;
		}
	}
}

/* The last place of the row beside that is not right of the caret's column. */
static void move_row(struct model *m, int by)
{
	size_t row[UNITS_MAX + 1];
	size_t column[UNITS_MAX + 1];
	size_t want;
	size_t best = SIZE_MAX;

	lay_out(m, row, column);
	want = row[m->caret] + (size_t)by;
	for (size_t i = 0; i <= m->n; i++)
		if (row[i] == want && column[i] <= column[m->caret])
			best = i;
	if (best != SIZE_MAX)
		m->caret = best;
}

static void press(struct editor *e, enum key_name name, uint32_t c,
		  unsigned mods)
{
	editor_key(e, (struct key){ name, c, mods });
}

/* One key for both. */
static void step(struct model *m, struct editor *e)
{
	size_t unit = next_random(m, UNITS);

	switch (next_random(m, 15)) {
	case 0:
		press(e, KEY_LEFT, 0, 0);
		m->caret -= m->caret > 0;
		break;
	case 1:
		press(e, KEY_RIGHT, 0, 0);
		m->caret += m->caret < m->n;
		break;
	case 2:
		press(e, KEY_BACKSPACE, 0, 0);
		if (m->caret)
			erase(m, m->caret - 1, m->caret);
		break;
	case 3:
		press(e, KEY_DELETE, 0, 0);
		if (m->caret < m->n)
			erase(m, m->caret, m->caret + 1);
		break;
	case 4:
		press(e, KEY_CHAR, 'b', KEY_ALT);
		m->caret = word_left(m);
		break;
	case 5:
		press(e, KEY_CHAR, 'f', KEY_ALT);
		m->caret = word_right(m);
		break;
	case 6:
		press(e, KEY_HOME, 0, 0);
		m->caret = line_start(m);
		break;
	case 7:
		press(e, KEY_END, 0, 0);
		m->caret = line_end(m);
		break;
	case 8:
		press(e, KEY_LEFT, 0, 0); /* forgets the goal column */
		m->caret -= m->caret > 0;
		press(e, KEY_UP, 0, 0);
		move_row(m, -1);
		break;
	case 9:
		press(e, KEY_RIGHT, 0, 0);
		m->caret += m->caret < m->n;
		press(e, KEY_DOWN, 0, 0);
		move_row(m, 1);
		break;
	default:
		if (m->n == UNITS_MAX)
			break;
		editor_type(e, str_of(units[unit].text));
		insert(m, unit);
		break;
	}
}

static void expect_text(const struct model *m, struct editor *e)
{
	struct buf want = BUF_INIT(1 << 16);
	struct buf have = BUF_INIT(1 << 16);
	size_t caret = 0;

	for (size_t i = 0; i < m->n; i++) {
		if (i == m->caret)
			caret = want.len;
		buf_adds(&want, units[m->text[i]].text);
	}
	if (m->caret == m->n)
		caret = want.len;
	editor_text(e, &have);
	assert_true(str_eq(buf_str(&have), buf_str(&want)));
	assert_int_equal(e->caret, caret);
	buf_release(&want);
	buf_release(&have);
}

/* In a tall screen every row is seen; in a low one the caret's is. */
static void expect_drawn(const struct model *m, struct editor *e)
{
	size_t row[UNITS_MAX + 1];
	size_t column[UNITS_MAX + 1];
	struct rows rows = { 0 };
	size_t caret_row;
	size_t caret_column;

	lay_out(m, row, column);
	editor_render(e, m->width + 3, ROWS, &rows, &caret_row, &caret_column);
	assert_int_equal(rows.n, row[m->n] + 1);
	assert_int_equal(caret_row, row[m->caret]);
	assert_int_equal(caret_column, column[m->caret] + 2);
	for (size_t i = 0; i < rows.n; i++)
		assert_in_range(rows_cells(&rows, i), 2, m->width + 2);
	rows_clear(&rows);
	editor_render(e, m->width + 3, 3, &rows, &caret_row, &caret_column);
	assert_int_equal(rows.n, row[m->n] < 3 ? row[m->n] + 1 : 3);
	assert_true(caret_row < rows.n);
	rows_release(&rows);
}

/* All of it can be taken back, and done again. */
static void expect_undo(const struct model *m, struct editor *e)
{
	size_t times = 0;

	while (editor_key(e, (struct key){ KEY_CHAR, '_', KEY_CTRL }) ==
	       EDITOR_CHANGED)
		times++;
	assert_true(editor_is_empty(e) || times == UNDO_CHANGES);
	while (times--)
		press(e, KEY_CHAR, '_', KEY_ALT);
	e->caret = 0;
	for (size_t i = 0; i < m->caret; i++)
		press(e, KEY_RIGHT, 0, 0);
	expect_text(m, e);
}

static void test_random_keys_do_what_the_model_says(void **state)
{
	(void)state;
	for (uint32_t seed = 1; seed <= SEEDS; seed++) {
		struct editor e = { .prompt = STR("> ") };
		struct model m = { .random = seed, .width = 8 + seed % 20 };

		e.width = m.width;
		for (size_t i = 0; i < KEYS; i++) {
			step(&m, &e);
			expect_text(&m, &e);
			if (i % 7 == 0)
				expect_drawn(&m, &e);
		}
		expect_undo(&m, &e);
		editor_release(&e);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random_keys_do_what_the_model_says),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
