/* html_page.h - a conversation as one page that needs nothing else. */
/* SPDX-License-Identifier: MIT */
#ifndef UI_HTML_PAGE_H
#define UI_HTML_PAGE_H

#include "model/message.h"
#include "ui/html.h"

struct html_page { /* what its head says; strings borrowed, NULL: unknown */
	const char *title;
	const char *model;
	int64_t created, updated; /* Unix ms; 0: unknown */
	int64_t messages;
	int64_t input, output; /* tokens; input counts the cached ones too */
};

/*
 * A page without scripts that loads nothing: a policy within it (CSP) forbids
 * both, and names the only style by its hash. Call html_markdown_load() first,
 * then these in order, and html_end() last.
 */
void html_page_begin(struct html *h, const struct html_page *page);
void html_page_message(struct html *h, const struct message *message);
/* The messages so far gave way to a summary; created: Unix ms, 0: unknown. */
void html_page_compaction(struct html *h, int64_t created);
/* The patch of a thread, masked like all else. */
void html_page_patch(struct html *h, const char *name, struct str patch);
void html_page_end(struct html *h);

#endif
