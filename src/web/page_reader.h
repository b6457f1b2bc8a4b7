/* page_reader.h - reads a page in a separate process that can be killed. */
/* SPDX-License-Identifier: MIT */
#ifndef WEB_PAGE_READER_H
#define WEB_PAGE_READER_H

#include "base/stop.h"
#include "web/url.h"

/* The first argument of dcode in that process. */
#define PAGE_READER_ARGUMENT "--page-reader"

enum { PAGE_READER_MS = 10000 };

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
