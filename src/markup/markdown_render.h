/* markdown_render.h - blocks of Markdown as rows. */
/* SPDX-License-Identifier: MIT */
#ifndef MARKUP_MARKDOWN_RENDER_H
#define MARKUP_MARKDOWN_RENDER_H

/*
 * markdown_render() is for text that is whole; markdown.h feeds it an answer
 * that arrives. md4c_*() is the parser, for other renderers, too (ui/html.h).
 */
#include <md4c.h>

#include "base/error.h"
#include "base/str.h"
#include "term/rows.h"
#include "term/theme.h"

/* md_parse() of md4c. 0, or what a callback returned to end it early. */
typedef int md4c_parse(const MD_CHAR *text, MD_SIZE size,
		       const MD_PARSER *parser, void *arg);

/* CommonMark with tables, struck text, task lists and bare addresses; raw HTML
 * is text. */
enum {
	MD4C_FLAGS = MD_FLAG_TABLES | MD_FLAG_STRIKETHROUGH |
		     MD_FLAG_TASKLISTS | MD_FLAG_PERMISSIVEURLAUTOLINKS |
		     MD_FLAG_NOHTML
};

/* Loads libmd4c. NULL with what to install. Any thread; the library stays. */
md4c_parse *md4c_load(struct error *err);
/* Appends the text of a text callback: entities resolved, a soft break as LF,
 * a NUL as U+FFFD. */
void md4c_add_text(struct buf *out, MD_TEXTTYPE type, struct str text);
/* Appends an address, a title or the language of a code block. */
void md4c_add_attribute(struct buf *out, const MD_ATTRIBUTE *a);

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

/* ASCII letters and digits, and bytes of all other characters. */
size_t letters_count(struct str text);
/* Those of a text of Markdown but the numbers of its list items, which are
 * counted anew when it is shown. */
size_t letters_count_source(struct str text);

#endif
