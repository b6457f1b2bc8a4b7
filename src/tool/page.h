/* page.h - what read_file says. */
/* SPDX-License-Identifier: MIT */
#ifndef TOOL_PAGE_H
#define TOOL_PAGE_H

#include "sandbox/files.h"

struct page_request {     /* all borrowed */
	const char *path; /* absolute */
	int64_t offset;   /* as the model asked */
	int64_t limit;
};

/* The numbered page, its notices, or a reminder. Not for binary pages. */
void page_render(const struct files_page *page, const struct page_request *req,
		 struct buf *out);

struct page_media {
	const char *extension; /* without the dot, lower case */
	const char *kind;      /* image, video, audio or file */
	const char *mime;
};
/* By the extension, in any case; NULL for what is read as text. */
const struct page_media *page_media_find(const char *path);
/* The note that stands for a file which is no text. */
void page_render_binary(const struct files_page *page, const char *path,
			struct buf *out);

#endif
