/* page.h - converts what a server sends to text for a model. */
/* SPDX-License-Identifier: MIT */
#ifndef WEB_PAGE_H
#define WEB_PAGE_H

#include <stdbool.h>

#include "web/url.h"

/* True for the Content-Type of a text, or an empty one. */
bool page_is_text(const char *type);
/* True if page_read() treats body as HTML. */
bool page_is_html(const char *type, struct str body);
/* Appends body as UTF-8 text: HTML as Markdown, anything else unchanged. Links
 * are resolved against url. ERR_USAGE if body is not text, ERR_SYSTEM if
 * libxml2 is missing. */
int page_read(const struct web_url *url, const char *type, struct str body,
	      struct buf *out, struct error *err);

#endif
