/* read_file.h - a page of a file as the model reads it. */
/* SPDX-License-Identifier: MIT */
#ifndef TOOL_FILES_READ_FILE_H
#define TOOL_FILES_READ_FILE_H

#include "sandbox/files/files.h"

#define READ_TEXT_EMPTY "System reminder: File exists but has empty contents"

struct read_text_request { /* all borrowed */
	const char *path;  /* absolute */
	int64_t offset;    /* as the model asked */
	int64_t limit;
};

/* The numbered page, its notices, or a reminder. Not for binary pages. */
void read_text_render(const struct files_page *page,
		      const struct read_text_request *req, struct buf *out);

struct read_text_media {
	const char *extension; /* without the dot, lower case */
	const char *kind;      /* image, video, audio or file */
	const char *mime;
};
/* By the extension, in any case; NULL for what is read as text. */
const struct read_text_media *read_text_media(const char *path);
/* Whether it is called like a file that models are shown as it is: PNG, JPEG,
 * GIF, WebP, PDF. What it is its bytes decide, media_type(). */
bool read_text_is_shown(const char *path);
/* The note that stands for a file which is no text. */
void read_text_binary(const struct files_page *page, const char *path,
		      struct buf *out);

#endif
