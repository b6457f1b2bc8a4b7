/* question.h - shows a tool call to the user before it may run. */
/* SPDX-License-Identifier: MIT */
#ifndef UI_QUESTION_H
#define UI_QUESTION_H

#include "base/buf.h"
#include "base/str.h"

struct question_item {     /* one labelled text, all borrowed */
	const char *label; /* printable ASCII, for example "command" */
	struct str text;   /* any bytes */
	bool is_change; /* the text is of diff_text(): its rows are cut at the
			   screen's width, and its unchanged rows are hidden
			   before the changed ones */
	size_t most;    /* rows shown on a screen, whatever its height; 0: as
			   many as fit */
};

/* Prefixes of the rows below an item's first row: of the text's next line, and
 * of the rest of a line. */
#define QUESTION_NEXT_LINE "  | "
#define QUESTION_WRAPPED "    "

/* Returns the length of the prefix of a row that begins a line of the text,
 * QUESTION_NEXT_LINE or "12 | " with the number of the line in a file; 0: the
 * row does not begin one. */
static inline size_t question_prefix(struct str row)
{
	size_t at = 0;

	if (str_starts(row, QUESTION_WRAPPED))
		return 0;
	while (at < row.len && row.ptr[at] == ' ')
		at++;
	while (at < row.len && row.ptr[at] >= '0' && row.ptr[at] <= '9')
		at++;
	if (at < row.len && row.ptr[at] == ' ')
		at++;
	return str_starts(str_skip(row, at), "| ") ? at + 2 : 0;
}

struct question_screen {
	size_t rows;    /* rows available for the items; 0: no limit */
	size_t columns; /* width of the terminal */
};

/*
 * Appends the items, each "  label: text", in rows that fit the screen: each
 * row occupies exactly one row of the terminal, measured by display width. A
 * row ends between two words, and not in a quoted string, unless that is longer
 * than a row. If the items are too long, each shows its beginning and its end,
 * with the number of hidden rows between them. Returns the number of hidden
 * rows.
 *
 * Nothing is dropped silently. Runs of blanks become "[3000 spaces]", runs of
 * blank lines "[40 blank lines]". Control characters, bytes that are not UTF-8,
 * and characters that are invisible, reorder or cover text are spelled out
 * (\x1b, \u{202e}). A line of the text begins with "  | ", that of a change in
 * a file with "12 | ", a wrapped one with four spaces, so that neither can pass
 * for one of dcode's own lines.
 */
size_t question_render(const struct question_item *items, size_t n,
		       struct question_screen screen, struct buf *out);
/* Returns the number of rows that a line of printable ASCII fills. */
size_t question_rows(const char *line, size_t columns);

#endif
