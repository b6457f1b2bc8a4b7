/* read_file.h - renders a page of a file for the model. */
/* SPDX-License-Identifier: MIT */
#ifndef TOOL_FILES_READ_FILE_H
#define TOOL_FILES_READ_FILE_H

#include "sandbox/files/files.h"

#define READ_TEXT_EMPTY "System reminder: File exists but has empty contents"

struct read_text_request { /* all borrowed */
	const char *path;  /* absolute */
	int64_t offset;    /* as given by the model */
	int64_t limit;
};

/* Appends the numbered page and its notices, or a reminder if it is empty. Not
 * for binary pages. */
void read_text_render(const struct files_page *page,
		      const struct read_text_request *req, struct buf *out);

struct read_text_media {
	const char *extension; /* without the dot, in lower case */
	const char *kind;      /* image, video, audio or file */
	const char *mime;
};
/* Looks up the file's extension, ignoring case. NULL: not listed, so the file
 * is read as text. */
const struct read_text_media *read_text_media(const char *path);
/* True if the extension is of a type that models can see: PNG, JPEG, GIF, WebP,
 * PDF. The actual type is determined from the bytes by media_type(). */
bool read_text_is_shown(const char *path);
/* Appends the note that replaces the content of a file that is not text. */
void read_text_binary(const struct files_page *page, const char *path,
		      struct buf *out);

#endif
