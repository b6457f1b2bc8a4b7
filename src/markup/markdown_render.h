/* markdown_render.h - blocks of Markdown as rows. */
/* SPDX-License-Identifier: MIT */
#ifndef MARKUP_MARKDOWN_RENDER_H
#define MARKUP_MARKDOWN_RENDER_H

#include "base/str.h"
#include "markup/md4c_api.h"
#include "term/rows.h"
#include "term/theme.h"

struct markdown_look {
	md4c_parse *parse;         /* NULL: text is shown as it is written */
	const struct theme *theme; /* borrowed */
	size_t columns;
	bool unnamed; /* the language of a code block is not shown */
};

/*
 * Appends text as rows of at most look->columns cells. item: the number that
 * the first ordered item shows, 0: as written. Reference links are no links:
 * they and their definitions are text. What is too deep, grows too much, or
 * would lose some of its letters is shown as it is written.
 */
void markdown_render(const struct markdown_look *look, struct str text,
		     size_t item, struct rows *out);
/* The same without reading it as Markdown. */
void markdown_render_plain(const struct markdown_look *look, struct str text,
			   struct style style, struct rows *out);

#endif
