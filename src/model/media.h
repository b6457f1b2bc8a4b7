/* media.h - images and PDF files: what their bytes say of them. */
/* SPDX-License-Identifier: MIT */
#ifndef MODEL_MEDIA_H
#define MODEL_MEDIA_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

enum {
	/*
	 * Bytes of one file. Every vendor takes as much: Bedrock 3.75 MB an
	 * image and 4.5 MB a document (docs.aws.amazon.com, API_runtime_
	 * Message), Anthropic 5 MB of base64 for an image on Bedrock and Google
	 * Cloud and 10 MB itself, 32 MB a request (platform.claude.com/docs,
	 * "Vision"), Google Cloud 7 MB a file (docs.cloud.google.com, "Image
	 * understanding"), Gemini 100 MB a request since 2026-01, 20 MB before
	 * (blog.google, "gemini-api-new-file-limits"), OpenAI 32 MB when its
	 * guide on PDF files was quoted in 2025-03 (egoist/chatwise-releases
	 * issue 383); all read 2026-11-23.
	 */
	MEDIA_MAX_BYTES = 3750000,
	MEDIA_MESSAGE_BYTES = 20000000, /* of all files of one message */
	MEDIA_NAME_MAX = 200,           /* bytes */
};

/* "image/png", "image/jpeg", "image/gif", "image/webp" or "application/pdf" by
 * the first bytes, whatever the name says; NULL for all else. */
const char *media_type(struct str bytes);
bool media_is_pdf(const char *type);
/* Pixels by the header of an image; false if it has none. They are not checked:
 * never allocate by them. */
bool media_dimensions(struct str bytes, uint32_t *width, uint32_t *height);
/* Appends "[image a.png 640x480 120.3 kB]" or "[PDF a.pdf 1.2 MB]"; note, when
 * not NULL, is added before the bracket. name: one clean line. */
void media_describe(const char *name, struct str bytes, const char *note,
		    struct buf *out);
/*
 * The most input tokens that the vendor behind this wire counts for a file, by
 * its documents; may be more than the model's window. A PDF that hides its
 * number of pages counts as having as many as one request may have.
 */
int64_t media_max_tokens(const char *wire, const char *model, struct str bytes);
/* About how many it counts, for an estimate of how full the window is; never
 * more than the above. */
int64_t media_usual_tokens(const char *wire, const char *model,
			   struct str bytes);

#endif
