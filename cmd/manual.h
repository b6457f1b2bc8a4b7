/* manual.h - the pages of cmd/manual, which are built into the program. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_MANUAL_H
#define CMD_MANUAL_H

#include "term/rows.h"
#include "term/theme.h"

/* One page: cmd/manual/NAME.md. Its first line is
 * "# dcode-NAME(SECTION): SUMMARY". */
struct command;

struct manual_page {
	const char *name; /* the topic: "models" */
	const unsigned char *text;
	size_t len;
};

extern const struct manual_page manual_pages[]; /* by name; ends in { 0 } */

/* The page of a topic, also spelled as its man page: "models", "dcode-models",
 * "dcode-models(7)", "config.toml". NULL: there is none. */
const struct manual_page *manual_find(const char *topic);
/* SECTION of the first line: 1, 5 or 7; 0 where that has another form. */
int manual_section(const struct manual_page *page);
/* SUMMARY of the first line. */
struct str manual_summary(const struct manual_page *page);

struct manual_look {
	const struct theme *theme; /* borrowed */
	size_t columns;
	const char *command; /* what opens another page: "dcode help" */
};

/* Appends the page as the chat shows Markdown; links to other pages become
 * commands, code is indented. Without libmd4c: the page as it is written. */
void manual_render(const struct manual_page *page,
		   const struct manual_look *look, struct rows *out);
/* ERR_USAGE: no command or topic has this name; with the nearest one. */
void manual_unknown(const char *topic, const struct command *const *all,
		    struct error *err);
/* Appends the names of all topics: "agents, approvals, ...". */
void manual_add_topics(struct buf *out);

#endif
