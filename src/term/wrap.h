/* wrap.h - rows cut to the width of the screen. */
/* SPDX-License-Identifier: MIT */
#ifndef TERM_WRAP_H
#define TERM_WRAP_H

#include "term/rows.h"

struct wrap {
	size_t columns; /* of the screen; 0 counts as 1 */
	struct {
		struct str text; /* may be empty */
		struct style style;
	} first, rest; /* before the first row, and before those after it */
	bool words;    /* cut between words where a word fits into a row */
};

/*
 * Appends row i of in as one or more rows of at most w->columns cells. Nothing
 * of the text is lost but the blanks at which a row was cut between words. A
 * word that is longer than a row, and without words every text, is cut between
 * clusters. A prefix that would leave fewer than two cells is left out; a
 * cluster of two cells on a screen of one column becomes a row of its own.
 */
void wrap_row(const struct rows *in, size_t i, const struct wrap *w,
	      struct rows *out);
/* All rows of in. */
void wrap_rows(const struct rows *in, const struct wrap *w, struct rows *out);

#endif
