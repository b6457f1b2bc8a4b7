/* html_markdown.h - Markdown that nobody vouches for, as HTML. */
/* SPDX-License-Identifier: MIT */
#ifndef UI_HTML_MARKDOWN_H
#define UI_HTML_MARKDOWN_H

#include "ui/html.h"

/* Loads libmd4c, once before html_markdown(). -1 with what to install. */
int html_markdown_load(struct html *h, struct error *err);
/*
 * CommonMark with tables, struck text and task lists. Raw HTML is shown as
 * text. Only http, https and mailto addresses become links; of any other
 * link, and of every image, the text and the address are shown. What is too
 * large, too deep or grows too much is shown as it was written.
 */
void html_markdown(struct html *h, struct str text);

#endif
