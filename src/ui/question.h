/* question.h - a tool call as the user sees it before it may run. */
/* SPDX-License-Identifier: MIT */
#ifndef UI_QUESTION_H
#define UI_QUESTION_H

#include "base/buf.h"

struct question_item {     /* one labelled text, all borrowed */
	const char *label; /* printable ASCII, as "command" */
	struct str text;   /* any bytes */
};

struct question_screen {
	size_t rows;    /* that the items may fill; 0: any number */
	size_t columns; /* of the terminal */
};

/*
 * Appends the items, each "  label: text", in rows that fit the screen: a row
 * here is a row there, counted by display width. Where they are too long, each
 * keeps its beginning and its end, and the number of rows between stands in
 * their place. Returns how many rows were left out.
 *
 * Nothing is dropped silently: runs of blanks become "[3000 spaces]", runs of
 * blank lines "[40 blank lines]"; controls, bytes that are no UTF-8 and
 * characters that are invisible, reorder or cover text are spelled out (\x1b,
 * \u{202e}). A line of the text begins with "  | ", a wrapped one with four
 * spaces, so that none can pass for one of ours.
 */
size_t question_render(const struct question_item *items, size_t n,
		       struct question_screen screen, struct buf *out);
/* Rows that one line of printable ASCII fills. */
size_t question_rows(const char *line, size_t columns);

#endif
