/* media.h - images and PDF files: type, size and token counts. */
/* SPDX-License-Identifier: MIT */
#ifndef MODEL_MEDIA_H
#define MODEL_MEDIA_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

enum {
	/* Limit in bytes of one file. Every vendor accepts files of that size.
	 * Bedrock: 3.75 MB per image and 4.5 MB per document
	 * (docs.aws.amazon.com, API_runtime_Message). Anthropic: 10 MB of
	 * base64 per image, 5 MB on Bedrock and Google Cloud, 32 MB per request
	 * (platform.claude.com/docs, "Vision"). Google Cloud: 7 MB per file
	 * (docs.cloud.google.com, "Image understanding"). Gemini: 100 MB per
	 * request since 2026-01, 20 MB before (blog.google,
	 * "gemini-api-new-file-limits"). OpenAI: 32 MB, as its guide on PDF
	 * files was quoted in 2025-03 (egoist/chatwise-releases issue 383). All
	 * read 2026-11-23. */
	MEDIA_MAX_BYTES = 3750000,
	MEDIA_MESSAGE_BYTES = 20000000, /* bytes of all files of one message */
	MEDIA_NAME_MAX = 200,           /* bytes */
};

/* Returns "image/png", "image/jpeg", "image/gif", "image/webp" or
 * "application/pdf". Looks only at the first bytes. NULL for other files. */
const char *media_type(struct str bytes);
bool media_is_pdf(const char *type);
/* Reads the size in pixels from an image's header. False if it has none. The
 * values are untrusted: never allocate memory by them. */
bool media_dimensions(struct str bytes, uint32_t *width, uint32_t *height);
/* Appends "[image a.png 640x480 120.3 kB]" or "[PDF a.pdf 1.2 MB]". note (may
 * be NULL) is added before the closing bracket. name: one sanitized line. */
void media_describe(const char *name, struct str bytes, const char *note,
		    struct buf *out);
/* Returns the most input tokens that the vendor counts for a file, according to
 * its documentation. May be more than the model's window. A PDF whose page
 * count is hidden counts as the largest number of pages that a request may
 * have. */
int64_t media_max_tokens(const char *wire, const char *model, struct str bytes);
/* Estimates the tokens of a file, to tell how full the context window is. Never
 * more than media_max_tokens(). */
int64_t media_usual_tokens(const char *wire, const char *model,
			   struct str bytes);

#endif
