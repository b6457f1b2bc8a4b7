/* md4c_api.h - the Markdown parser, loaded when it is first needed. */
/* SPDX-License-Identifier: MIT */
#ifndef MARKUP_MD4C_API_H
#define MARKUP_MD4C_API_H

#include <md4c.h>

#include "base/buf.h"
#include "base/error.h"

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

#endif
