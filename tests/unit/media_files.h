/* media_files.h - small images and a PDF, for tests. */
/* SPDX-License-Identifier: MIT */
#ifndef UNIT_MEDIA_FILES_H
#define UNIT_MEDIA_FILES_H

#include <stdlib.h>

#include "base/buf.h"
#include "base/mem.h"
#include "model/message.h"

/* Headers, which is all that dcode reads of them. */
#define PNG_3X2                                                                \
	STR("\x89PNG\r\n\x1A\n\0\0\0\x0DIHDR\0\0\0\x03\0\0\0\x02\x08\x02\0"    \
	    "\0\0")
#define GIF_7X5 STR("GIF89a\x07\0\x05\0\0\0\0")
#define JPEG_640X480                                                           \
	STR("\xFF\xD8\xFF\xE0\0\x10JFIF\0\1\1\0\0\1\0\1\0\0\xFF\xC0\0\x11\x08" \
	    "\x01\xE0\x02\x80\x03\x01")
#define WEBP_16X9                                                              \
	STR("RIFF\x16\0\0\0WEBPVP8X\x0A\0\0\0\0\0\0\0\x0F\0\0\x08\0\0")
#define PDF_2_PAGES                                                            \
	STR("%PDF-1.4\n1 0 obj <</Type /Pages /Count 2>> endobj\n"             \
	    "2 0 obj <</Type /Page>> endobj\n3 0 obj <</Type/Page>> endobj\n")

static inline void add_media(struct message *m, const char *name,
			     struct str bytes)
{
	struct buf own = BUF_INIT(SIZE_MAX / 4);

	buf_addstr(&own, bytes);
	if (!message_add_media(m, name, &own))
		abort();
}

#endif
