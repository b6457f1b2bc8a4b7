/* markdown_render.h - renders blocks of Markdown as rows. */
/* SPDX-License-Identifier: MIT */
#ifndef MARKUP_MARKDOWN_RENDER_H
#define MARKUP_MARKDOWN_RENDER_H

/*
 * markdown_render() renders a complete text; for a text that is still arriving,
 * markdown.h calls it. md4c_add_...() are also for other renderers (ui/html.h).
 */
#include <md4c.h>

#include "base/str.h"
#include "markup/parser.h"
#include "term/rows.h"
#include "term/theme.h"

/* Appends text that md4c passed to a text callback: entities are resolved, a
 * soft break becomes LF and NUL becomes U+FFFD. in_table: the text is in a
 * table, where code has "\|" for a bar, which md4c leaves as it is. */
void md4c_add_text(struct buf *out, MD_TEXTTYPE type, struct str text,
		   bool in_table);
/* Appends an address, a title or the language of a code block. */
void md4c_add_attribute(struct buf *out, const MD_ATTRIBUTE *a);

struct markdown_look {
	md4c_parse *parse;         /* NULL: show text as written */
	const struct theme *theme; /* borrowed */
	size_t columns;
	bool unnamed; /* do not show the language of a code block */
	bool soft;    /* the terminal wraps lines of code and long addresses:
			 see struct wrap */
};

/*
 * Appends text as rows of at most look->columns cells, without look->soft.
 * item: the number of the first ordered list item; 0: as written. Reference
 * links and their definitions remain plain text. Text that is too deeply
 * nested, expands too much or would lose letters is shown as written, and so is
 * all text if look has no parser.
 */
void markdown_render(const struct markdown_look *look, struct str text,
		     size_t item, struct rows *out);

/* Counts ASCII letters and digits, and the bytes of all other characters. */
size_t letters_count(struct str text);
/* Counts the letters of a Markdown text without the numbers of its list items,
 * which are renumbered when shown. */
size_t letters_count_source(struct str text);

#endif
