/* cut_text.c - foreign text as one line of so many cells. */
/* SPDX-License-Identifier: MIT */
#include "term/cut_text.h"

#include "base/sanitize.h"
#include "base/str.h"
#include "term/width.h"

enum { BYTES_MAX = 4096 };

size_t cut_text_add(struct rows *rows, struct style style, struct str text,
		    size_t cells)
{
	struct buf line = BUF_INIT(2 * BYTES_MAX);
	struct str cut;
	size_t used;

	/* Of a long text only what a screen can show is looked at. */
	if (text.len > BYTES_MAX)
		text.len = BYTES_MAX;
	sanitize_line(text, &line);
	cut = buf_str(&line);
	cut.len = width_prefix(cut, cells);
	used = width_cells(cut);
	rows_add(rows, style, cut);
	buf_release(&line);
	return used;
}
