/* manual.h - the manual's pages, built into the program from cmd/manual. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_MANUAL_H
#define CMD_MANUAL_H

#include "term/rows.h"
#include "term/theme.h"

struct command;

/* One page, from cmd/manual/NAME.md. Its first line is "# dcode-NAME(SECTION):
 * SUMMARY". */
struct manual_page {
	const char *name; /* the topic: "models" */
	const unsigned char *text;
	size_t len;
};

/* sorted by name; ends in { 0 } */
extern const struct manual_page manual_pages[];

/* Returns the page of a topic, or NULL. The name of a man page works, too:
 * "models", "dcode-models", "dcode-models(7)", "config.toml". */
const struct manual_page *manual_find(const char *topic);
/* Returns SECTION of the first line: 1, 5 or 7. 0 if the line has no
 * section. */
int manual_section(const struct manual_page *page);
/* Returns SUMMARY of the first line. */
struct str manual_summary(const struct manual_page *page);

struct manual_look {
	const struct theme *theme; /* borrowed */
	size_t columns;
	const char *command; /* command that opens another page: "dcode help" */
};

/* Renders the page like the chat renders Markdown, and appends the lines. Links
 * to other pages become commands; code is indented. If libmd4c cannot be
 * loaded, the page is appended as it is. */
void manual_render(const struct manual_page *page,
		   const struct manual_look *look, struct rows *out);
/* Sets ERR_USAGE for an unknown command or topic and suggests the nearest
 * name. */
void manual_unknown(const char *topic, const struct command *const *all,
		    struct error *err);
/* Appends the names of all topics: "agents, approvals, ...". */
void manual_add_topics(struct buf *out);

#endif
