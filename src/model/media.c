/* media.c - images and PDF files: what their bytes say of them. */
/* SPDX-License-Identifier: MIT */
#include "model/media.h"

#include <string.h>

#include "base/str.h"

static const char png[] = "image/png";
static const char jpeg[] = "image/jpeg";
static const char gif[] = "image/gif";
static const char webp[] = "image/webp";
static const char pdf[] = "application/pdf";

static bool has_at(struct str bytes, size_t at, struct str magic)
{
	return bytes.len >= at + magic.len &&
	       memcmp(bytes.ptr + at, magic.ptr, magic.len) == 0;
}

const char *media_type(struct str bytes)
{
	if (has_at(bytes, 0, STR("\x89PNG\r\n\x1A\n")) &&
	    has_at(bytes, 12, STR("IHDR")))
		return png;
	if (has_at(bytes, 0, STR("\xFF\xD8\xFF")))
		return jpeg;
	if (has_at(bytes, 0, STR("GIF87a")) || has_at(bytes, 0, STR("GIF89a")))
		return gif;
	if (has_at(bytes, 0, STR("RIFF")) && has_at(bytes, 8, STR("WEBP")))
		return webp;
	return has_at(bytes, 0, STR("%PDF-")) ? pdf : NULL;
}

bool media_is_pdf(const char *type)
{
	return strcmp(type, pdf) == 0;
}

static uint32_t byte_at(struct str b, size_t at)
{
	return (unsigned char)b.ptr[at];
}

static uint32_t big16(struct str b, size_t at)
{
	return byte_at(b, at) << 8 | byte_at(b, at + 1);
}

static uint32_t little16(struct str b, size_t at)
{
	return byte_at(b, at + 1) << 8 | byte_at(b, at);
}

static uint32_t little24(struct str b, size_t at)
{
	return byte_at(b, at + 2) << 16 | little16(b, at);
}

/* SOF0 to SOF15, but for DHT, JPG and DAC, which share their range. */
static bool is_frame(uint32_t marker)
{
	return marker >= 0xC0 && marker <= 0xCF && marker != 0xC4 &&
	       marker != 0xC8 && marker != 0xCC;
}

static bool jpeg_dimensions(struct str b, uint32_t *width, uint32_t *height)
{
	size_t at = 2;

	while (at + 9 <= b.len && byte_at(b, at) == 0xFF) {
		uint32_t marker = byte_at(b, at + 1);

		if (marker == 0xFF) { /* a byte that fills */
			at++;
			continue;
		}
		if (is_frame(marker)) {
			*height = big16(b, at + 5);
			*width = big16(b, at + 7);
			return true;
		}
		if (big16(b, at + 2) < 2)
			return false;
		at += 2 + big16(b, at + 2);
	}
	return false;
}

/* developers.google.com/speed/webp/docs/riff_container, RFC 6386 section 9.1,
 * RFC 9649 section 3.4; read 2026-11-23. */
static bool webp_dimensions(struct str b, uint32_t *width, uint32_t *height)
{
	if (has_at(b, 12, STR("VP8X")) && b.len >= 30) {
		*width = little24(b, 24) + 1;
		*height = little24(b, 27) + 1;
		return true;
	}
	if (has_at(b, 12, STR("VP8L")) && b.len >= 25) {
		*width = (little16(b, 21) & 0x3FFF) + 1;
		*height = ((little24(b, 22) >> 6) & 0x3FFF) + 1;
		return true;
	}
	if (!has_at(b, 12, STR("VP8 ")) || b.len < 30)
		return false;
	*width = little16(b, 26) & 0x3FFF;
	*height = little16(b, 28) & 0x3FFF;
	return true;
}

static bool read_dimensions(const char *type, struct str b, uint32_t *width,
			    uint32_t *height)
{
	if (type == png && b.len >= 24) {
		*width = big16(b, 16) << 16 | big16(b, 18);
		*height = big16(b, 20) << 16 | big16(b, 22);
		return true;
	}
	if (type == gif && b.len >= 10) {
		*width = little16(b, 6);
		*height = little16(b, 8);
		return true;
	}
	if (type == jpeg)
		return jpeg_dimensions(b, width, height);
	return type == webp && webp_dimensions(b, width, height);
}

bool media_dimensions(struct str bytes, uint32_t *width, uint32_t *height)
{
	return read_dimensions(media_type(bytes), bytes, width, height) &&
	       *width && *height;
}

void media_describe(const char *name, struct str bytes, const char *note,
		    struct buf *out)
{
	uint32_t width;
	uint32_t height;
	const char *type = media_type(bytes);
	char size[32];

	str_format_size((int64_t)bytes.len, size);
	buf_addf(out, "[%s %.*s", type && media_is_pdf(type) ? "PDF" : "image",
		 MEDIA_NAME_MAX, name);
	if (media_dimensions(bytes, &width, &height))
		buf_addf(out, " %ux%u", width, height);
	buf_addf(out, " %s%s%s]", size, note ? ", " : "", note ? note : "");
}
