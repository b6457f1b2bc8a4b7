/* page.h - a window of lines cut out of a file's bytes. */
/* SPDX-License-Identifier: MIT */
#ifndef SANDBOX_FILES_PAGE_H
#define SANDBOX_FILES_PAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"

enum { FILES_PAGE_BYTES = 512000 };

struct files_page {
	struct buf text;      /* LF line ends, no trailing one; UTF-8; its ptr
				 is NULL when nothing was read */
	bool binary;          /* text holds the raw bytes instead */
	bool no_lines;        /* the limit was zero or negative */
	const char *encoding; /* static, what the file is; NULL: UTF-8 */
	bool clipped;         /* the page cap cut it: the marker is in text */
	int64_t total_lines;  /* -1 unknown */
	int64_t start_line;   /* 1-based, inclusive; 0 when no line was read */
	int64_t end_line;
	int64_t next_offset; /* -1 at the end of the file */
};

struct page_source {
	struct str raw;     /* a whole file, or a window of it */
	int64_t first_line; /* 0-based line that raw starts with */
	bool at_end;        /* raw reaches the end of the file */
	int64_t total;      /* lines of the file if known apart from that */
};

/*
 * Lines offset .. offset + limit - 1, line ends CR, LF and CR LF made LF, cut
 * at FILES_PAGE_BYTES with the marker, as UTF-8 (encoding.h). Fills all of page
 * but binary. -1 with "not_a_text_file" when what is shown, or the first 8192
 * bytes of the file where raw has them, are not UTF-8. "Line offset 5 exceeds
 * file length (5 lines)" likewise.
 */
int page_cut(const struct page_source *src, int64_t offset, int64_t limit,
	     struct files_page *page, struct error *err);

#endif
