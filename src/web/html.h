/* html.h - an HTML page as Markdown. */
/* SPDX-License-Identifier: MIT */
#ifndef WEB_HTML_H
#define WEB_HTML_H

#include "web/url.h"

/*
 * Appends what a reader of the page sees: headings, paragraphs, lists, code,
 * tables and links, whose addresses are made absolute. Scripts, styles, forms'
 * values, frames and what is marked hidden are left out. text is UTF-8. Never
 * loads anything that the page names. ERR_SYSTEM where libxml2 is missing,
 * ERR_PROTOCOL for what it cannot read.
 */
int html_read(const struct web_url *url, struct str text, struct buf *out,
	      struct error *err);

#endif
