/* page.h - converts what a server sends to text for a model. */
/* SPDX-License-Identifier: MIT */
#ifndef WEB_PAGE_H
#define WEB_PAGE_H

#include <stdbool.h>

#include "base/stop.h"
#include "web/url.h"

/* The first argument of dcode in that process. */
#define PAGE_READER_ARGUMENT "--page-reader"

/* True for the Content-Type of a text, or an empty one. */
bool page_is_text(const char *type);
/* Appends body as UTF-8 text: HTML as Markdown, anything else unchanged. Links
 * are resolved against url. ERR_USAGE if body is not text, ERR_SYSTEM if
 * libxml2 is missing. */
int page_read(const struct web_url *url, const char *type, struct str body,
	      struct buf *out, struct error *err);

/* Like page_read(), but with a time limit: libxml2 takes minutes for an element
 * with 400,000 attributes (2.9.14, seen 2026-11) and cannot be cancelled.
 * ERR_LIMIT after PAGE_READER_MS; ERR_CANCELLED and ERR_TIMEOUT by stop. Plain
 * text is read without a process. Any thread. */
int page_reader_read(const struct web_url *url, const char *type,
		     struct str body, struct buf *out, const struct stop *stop,
		     struct error *err);
/* Main function of the process: reads standard input, writes standard output.
 * Returns the exit status. */
int page_reader_main(void);

#endif
