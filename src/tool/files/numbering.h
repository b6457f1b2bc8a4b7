/* numbering.h - text with line numbers, long lines wrapped. */
/* SPDX-License-Identifier: MIT */
#ifndef TOOL_FILES_NUMBERING_H
#define TOOL_FILES_NUMBERING_H

#include <stdint.h>

#include "base/buf.h"

enum { NUMBERING_WRAP = 5000 }; /* code points of a line in one row */

/*
 * Rows of a marker, right-justified to the widest one, two spaces, and text.
 * A line beyond NUMBERING_WRAP goes on in rows marked N.1, N.2, ...
 */
struct numbering {
	struct buf text; /* rows joined by LF, none at the end */
	size_t *ends;    /* owned: bytes of text up to the end of each line */
	size_t n;        /* lines */
};

/* Lines of text: what LF separates, an empty last one not counted. */
size_t numbering_count(struct str text);
/* The first n lines of text (missing ones are empty), the first of them with
 * the number first. The caller releases nb, which need not be initialised. */
void numbering_render(struct numbering *nb, struct str text, int64_t first,
		      size_t n);
void numbering_release(struct numbering *nb);

#endif
