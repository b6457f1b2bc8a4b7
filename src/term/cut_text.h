/* cut_text.h - foreign text as one line of so many cells. */
/* SPDX-License-Identifier: MIT */
#ifndef TERM_CUT_TEXT_H
#define TERM_CUT_TEXT_H

#include "term/rows.h"

/* Adds the beginning of a text to the open row, line ends and tabs as blanks,
 * at most so many cells; returns how many. */
size_t cut_text_add(struct rows *rows, struct style style, struct str text,
		    size_t cells);

#endif
