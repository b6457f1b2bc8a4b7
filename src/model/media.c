/* media.c - images and PDF files: type, size and token counts. */
/* SPDX-License-Identifier: MIT */
/* media_type() decides by a file's first bytes whether the file can be shown to
 * a model. The second half computes how many tokens a vendor counts for a file:
 * an upper bound for the spending cap (media_max_tokens()) and an estimate for
 * the context window (media_usual_tokens()). Only file headers are read; pixels
 * are never decoded. */
#include "model/media.h"

#include <string.h>

#include "base/str.h"

static int64_t min_tokens(int64_t a, int64_t b);

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

static uint32_t read_big16(struct str b, size_t at)
{
	return byte_at(b, at) << 8 | byte_at(b, at + 1);
}

static uint32_t read_little16(struct str b, size_t at)
{
	return byte_at(b, at + 1) << 8 | byte_at(b, at);
}

static uint32_t read_little24(struct str b, size_t at)
{
	return byte_at(b, at + 2) << 16 | read_little16(b, at);
}

/* True for the markers SOF0 to SOF15. DHT, JPG and DAC are in the same range
 * but are not frames. */
static bool is_frame(uint32_t marker)
{
	return marker >= 0xC0 && marker <= 0xCF && marker != 0xC4 &&
	       marker != 0xC8 && marker != 0xCC;
}

/* Finds the size in the frame header of a JPEG file. */
static bool jpeg_dimensions(struct str b, uint32_t *width, uint32_t *height)
{
	size_t at = 2;

	while (at + 9 <= b.len && byte_at(b, at) == 0xFF) {
		uint32_t marker = byte_at(b, at + 1);

		if (marker == 0xFF) { /* a fill byte */
			at++;
			continue;
		}
		if (is_frame(marker)) {
			*height = read_big16(b, at + 5);
			*width = read_big16(b, at + 7);
			return true;
		}
		if (read_big16(b, at + 2) < 2)
			return false;
		at += 2 + read_big16(b, at + 2);
	}
	return false;
}

/* Reads the size of a WebP image
 * (developers.google.com/speed/webp/docs/riff_container, RFC 6386 section 9.1,
 * RFC 9649 section 3.4; read 2026-11-23). */
static bool webp_dimensions(struct str b, uint32_t *width, uint32_t *height)
{
	if (has_at(b, 12, STR("VP8X")) && b.len >= 30) {
		*width = read_little24(b, 24) + 1;
		*height = read_little24(b, 27) + 1;
		return true;
	}
	if (has_at(b, 12, STR("VP8L")) && b.len >= 25) {
		*width = (read_little16(b, 21) & 0x3FFF) + 1;
		*height = ((read_little24(b, 22) >> 6) & 0x3FFF) + 1;
		return true;
	}
	if (!has_at(b, 12, STR("VP8 ")) || b.len < 30)
		return false;
	*width = read_little16(b, 26) & 0x3FFF;
	*height = read_little16(b, 28) & 0x3FFF;
	return true;
}

static bool read_dimensions(const char *type, struct str b, uint32_t *width,
			    uint32_t *height)
{
	if (type == png && b.len >= 24) {
		*width = read_big16(b, 16) << 16 | read_big16(b, 18);
		*height = read_big16(b, 20) << 16 | read_big16(b, 22);
		return true;
	}
	if (type == gif && b.len >= 10) {
		*width = read_little16(b, 6);
		*height = read_little16(b, 8);
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

/* Upper bounds. Those without a source are dcode's own and are high on purpose.
 * Sources were read on 2026-11-23. */

enum {
	MOST_PAGES = 1000, /* largest number of pages in rates[] */
	HIDDEN_SHARE =
		32, /* bytes per token of a PDF whose page count is hidden */
};

/* How many tokens a vendor counts for a file. A row applies if the wire's name
 * starts with `wire` and the model's name contains `model`. */
struct media_rates {
	const char *wire, *model;
	int64_t side;    /* side of a patch or tile, in pixels */
	int64_t hundred; /* tokens per hundred patches or tiles */
	/* the maximum of an image is at least and at most this; most 0: no
	 * bound */
	int64_t least, most;
	int64_t usual; /* typical tokens of a large image */
	/* maximum tokens per PDF page, its text included; pages per request */
	int64_t page, pages;
	int64_t page_usual;
};

/* Sources of the rows. Claude: a patch of 28x28 pixels is a token, and larger
 * images are scaled down (platform.claude.com/docs, "Images and vision"),
 * usually to some 1,600 tokens; the bound of 4784, for 2576 pixels, is dcode's.
 * OpenAI: patches of 32x32 pixels, times up to 2.46, or tiles, 85 and 170
 * tokens each (community.openai.com, topic 1344040, quotes the vendor's page);
 * the minimum, and the values for gpt-4o-mini and Llama servers, are dcode's
 * bounds. Gemini: generation 3 counts 1120 tokens for an image unless the
 * request asks for more, and accepts 1000 pages per file
 * (docs.cloud.google.com, "Image understanding", "Document understanding"); for
 * its tiles dcode assumes a bound. A PDF page counts up to 3000 tokens of text
 * besides its image. That and the typical values of pages are dcode's. */
static const struct media_rates rates[] = {
	{ "openai-", "4o-mini", 32, 246, 2833 + 8 * 5667, 2833 + 8 * 5667,
	  25501, 3000 + 2833 + 8 * 5667, 1000, 25501 + 1000 },
	{ "openai-", "", 32, 246, 6404, 24600, 1600, 3000 + 6404, 1000, 2600 },
	{ "gemini", "", 384, 25800, 2240, 0, 1120, 3000 + 2240, 1000, 1120 },
	{ "", "", 28, 100, 0, 4784, 1600, 3000 + 4784, 600, 3100 },
};

/* numbers of the objects that the page lists (/Kids) of a PDF refer to */
struct kids {
	int64_t list[MOST_PAGES];
	int64_t n;
};

static const struct media_rates *find_rates(const char *wire, const char *model)
{
	const struct media_rates *r = rates;

	while (!str_starts(str_of(wire), r->wire) || !strstr(model, r->model))
		r++;
	return r;
}

/* Returns the tokens of an image by its size in pixels. Returns `unknown` if
 * the size cannot be read. */
static int64_t count_tiles(const struct media_rates *r, struct str bytes,
			   int64_t unknown)
{
	int64_t side = r->side;
	uint32_t width;
	uint32_t height;

	if (!media_dimensions(bytes, &width, &height))
		return unknown;
	/* In each row this is below 2^55: the multiplication by a hundred
	 * cannot overflow. */
	return (((width + side - 1) / side) * ((height + side - 1) / side) *
			r->hundred +
		99) /
	       100;
}

static int64_t min_tokens(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* Skips PDF white space, but not comments. */
static struct str skip_space(struct str s)
{
	while (s.len && memchr(" \t\r\n\f", s.ptr[0], 6))
		s = str_skip(s, 1);
	return s;
}

static bool parse_number(struct str *s, int64_t *n)
{
	size_t digits = 0;

	while (digits < s->len && s->ptr[digits] >= '0' &&
	       s->ptr[digits] <= '9')
		digits++;
	if (digits > 10 || !str_to_int((struct str){ s->ptr, digits }, n))
		return false;
	*s = skip_space(str_skip(*s, digits));
	return true;
}

/* Adds the objects in "/Kids [1 0 R 2 0 R]". False if the list has another
 * form, has more objects than fit, or has an object that is already there: such
 * a page is shown twice. */
static bool add_kids(struct kids *k, struct str s)
{
	int64_t object;
	int64_t generation;

	s = skip_space(s);
	if (!s.len || s.ptr[0] != '[')
		return false;
	s = skip_space(str_skip(s, 1));
	while (s.len && s.ptr[0] != ']') {
		if (k->n == MOST_PAGES || !parse_number(&s, &object) ||
		    !parse_number(&s, &generation) || !s.len || s.ptr[0] != 'R')
			return false;
		s = skip_space(str_skip(s, 1));
		for (int64_t i = 0; i < k->n; i++)
			if (k->list[i] == object)
				return false;
		k->list[k->n++] = object;
	}
	return s.len > 0;
}

/* Returns at least the number of pages: the number of page objects, or of
 * objects in page lists if that is higher. Older versions of a page count too.
 * Returns `most` if pages may be hidden (in an object stream, or shown several
 * times) or if no page is found. */
static int64_t count_pages(struct str bytes, int64_t most)
{
	struct kids kids = { .n = 0 };
	struct str rest = bytes;
	int64_t n = 0;

	if (str_search(bytes, STR("/ObjStm")) < bytes.len ||
	    str_search(bytes, STR("#")) < bytes.len)
		return most;
	while (rest.len) {
		struct str name;

		rest = str_skip(rest, str_find(rest, '/'));
		name = skip_space(str_skip(rest, strlen("/Type")));
		if (str_starts(rest, "/Kids") &&
		    !add_kids(&kids, str_skip(rest, strlen("/Kids"))))
			return most;
		if (str_starts(rest, "/Type") && name.len && name.ptr[0] == '%')
			return most;
		n += str_starts(rest, "/Type") && str_starts(name, "/Page") &&
		     !str_starts(name, "/Pages");
		rest = str_skip(rest, 1);
	}
	if (kids.n > n)
		n = kids.n;
	return n ? min_tokens(n, most) : most;
}

static int64_t most_of_image(const struct media_rates *r, struct str bytes)
{
	int64_t n = count_tiles(r, bytes, r->most);

	if (r->most)
		n = min_tokens(n, r->most);
	return n > r->least ? n : r->least;
}

int64_t media_max_tokens(const char *wire, const char *model, struct str bytes)
{
	const char *type = media_type(bytes);
	const struct media_rates *r = find_rates(wire, model);

	if (!type)
		return 0;
	if (media_is_pdf(type))
		return count_pages(bytes, r->pages) * r->page;
	return most_of_image(r, bytes);
}

static int64_t usual_of_pdf(const struct media_rates *r, struct str bytes)
{
	int64_t pages = count_pages(bytes, r->pages);
	int64_t n = (int64_t)bytes.len / HIDDEN_SHARE;

	/* count_pages() returned its upper bound: pages may be hidden, so
	 * estimate by size */
	if (pages == r->pages)
		return n > r->page_usual ? n : r->page_usual;
	return pages * r->page_usual;
}

int64_t media_usual_tokens(const char *wire, const char *model,
			   struct str bytes)
{
	const char *type = media_type(bytes);
	const struct media_rates *r = find_rates(wire, model);

	if (!type)
		return 0;
	if (media_is_pdf(type))
		return usual_of_pdf(r, bytes);
	return min_tokens(count_tiles(r, bytes, r->usual), r->usual);
}
