/* parser.h - md4c, and the tables that it does not accept itself. */
/* SPDX-License-Identifier: MIT */
#ifndef MARKUP_PARSER_H
#define MARKUP_PARSER_H

#include <md4c.h>

#include "base/error.h"
#include "base/str.h"

/* md_parse() of md4c. Returns 0, or the value with which a callback stopped it.
 */
typedef int md4c_parse(const MD_CHAR *text, MD_SIZE size,
		       const MD_PARSER *parser, void *arg);

/* CommonMark with tables, strikethrough, task lists and bare addresses; raw
 * HTML is text. */
enum {
	MD4C_FLAGS = MD_FLAG_TABLES | MD_FLAG_STRIKETHROUGH |
		     MD_FLAG_TASKLISTS | MD_FLAG_PERMISSIVEURLAUTOLINKS |
		     MD_FLAG_NOHTML
};

/* Loads libmd4c. Returns NULL with what to install. May be called on any
 * thread; the library is never unloaded. */
md4c_parse *md4c_load(struct error *err);
/* Parses text with parse. The 0.4 versions of md4c require three characters in
 * each cell of a table's delimiter row, GFM only one: such rows ("|-|-|") are
 * widened before, at most 32 of a text. Returns what parse returns. */
int md4c_run(md4c_parse *parse, struct str text, const MD_PARSER *parser,
	     void *arg);

struct table_line {
	size_t cells;
	bool delimits; /* may be the second line of a table: "| :-- | - |" */
	bool narrow;   /* then md4c_run() has to widen it, which it does only
			  if the line above has as many cells */
};

/* Examines a line of a table, without the marks of quotes and list items before
 * it. */
struct table_line table_line(struct str line);

#endif
