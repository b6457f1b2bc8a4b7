/* page.h - what a server sends, as text for a model. */
/* SPDX-License-Identifier: MIT */
#ifndef WEB_PAGE_H
#define WEB_PAGE_H

#include <stdbool.h>

#include "web/url.h"

/* Whether a Content-Type is one of text; an empty one is. */
bool page_is_text(const char *type);
/* Whether page_read() takes body for HTML. */
bool page_is_html(const char *type, struct str body);
/* Appends body as text: HTML as Markdown, all else as it is, in UTF-8. Links
 * are relative to url. ERR_USAGE for bytes that are no text, ERR_SYSTEM where
 * libxml2 is missing. */
int page_read(const struct web_url *url, const char *type, struct str body,
	      struct buf *out, struct error *err);

#endif
