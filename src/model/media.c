/* media.c - images and PDF files: what their bytes say of them. */
/* SPDX-License-Identifier: MIT */
/*
 * media_type() decides by the first bytes whether a file can be shown to a
 * model. The second half is how many tokens a vendor counts for a file: an
 * upper bound for the cap on money (media_max_tokens()), an estimate for the
 * window (media_usual_tokens()). Headers of files are read, pixels never
 * decoded.
 */
#include "model/media.h"

#include <string.h>

#include "base/str.h"

static int64_t least(int64_t a, int64_t b);

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

/* SOF0 to SOF15, without DHT, JPG and DAC, which are in the same range. */
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

/* Upper bounds. Those without a source are dcode's own, on the safe side;
 * sources were read on 2026-11-23. */

enum {
	MOST_PAGES = 1000, /* of all of them */
	HIDDEN_SHARE =
		32, /* bytes for a token, of a PDF that hides its pages */
};

/* How many tokens a file counts. A row is for wires whose name begins so, and
 * for models whose name contains this part. */
struct media_rates {
	const char *wire, *model;
	int64_t side;        /* pixels of a patch or tile */
	int64_t hundred;     /* of a hundred of them */
	int64_t least, most; /* of an image, at most; most 0: no bound */
	int64_t usual;       /* of a large one, as it mostly is */
	int64_t page, pages; /* of a PDF's page at most, with its text; and
				how many a request may have */
	int64_t page_usual;
};

/*
 * Claude: a patch of 28x28 pixels is a token, and larger images are made
 * smaller (platform.claude.com/docs, "Images and vision"), mostly to some
 * 1,600; 4784 is our bound, for 2576 pixels. OpenAI: patches of 32x32 pixels,
 * times up to 2.46, or tiles, 85 and 170 for each (community.openai.com, topic
 * 1344040, quotes the vendor's page); the least, what gpt-4o-mini counts and
 * what servers of Llama do are bounds. Gemini: generation 3 counts 1120 for an
 * image unless asked for more, and takes 1000 pages a file
 * (docs.cloud.google.com, "Image understanding", "Document understanding");
 * its tiles are a bound. Pages have up to 3000 of text besides an image of the
 * page; these, and what is usual of pages, are ours.
 */
static const struct media_rates rates[] = {
	{ "openai-", "4o-mini", 32, 246, 2833 + 8 * 5667, 2833 + 8 * 5667,
	  25501, 3000 + 2833 + 8 * 5667, 1000, 25501 + 1000 },
	{ "openai-", "", 32, 246, 6404, 24600, 1600, 3000 + 6404, 1000, 2600 },
	{ "gemini", "", 384, 25800, 2240, 0, 1120, 3000 + 2240, 1000, 1120 },
	{ "", "", 28, 100, 0, 4784, 1600, 3000 + 4784, 600, 3100 },
};

struct kids { /* objects that lists of pages name */
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

/* Tokens of an image by its pixels; the row's most if those are unknown. */
static int64_t count_tiles(const struct media_rates *r, struct str bytes,
			   int64_t unknown)
{
	int64_t side = r->side;
	uint32_t width;
	uint32_t height;

	if (!media_dimensions(bytes, &width, &height))
		return unknown;
	/* below 2^55 for each row: times hundred nothing overflows */
	return (((width + side - 1) / side) * ((height + side - 1) / side) *
			r->hundred +
		99) /
	       100;
}

static int64_t least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* Skips PDF's white space, but not comments. */
static struct str skip_space(struct str s)
{
	while (s.len && memchr(" \t\r\n\f", s.ptr[0], 6))
		s = str_skip(s, 1);
	return s;
}

static bool take_number(struct str *s, int64_t *n)
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

/* Adds the objects behind "/Kids": [1 0 R 2 0 R]. False if it is something
 * else, has more objects than fit, or lists one twice: that page may be shown
 * twice. */
static bool add_kids(struct kids *k, struct str s)
{
	int64_t object;
	int64_t generation;

	s = skip_space(s);
	if (!s.len || s.ptr[0] != '[')
		return false;
	s = skip_space(str_skip(s, 1));
	while (s.len && s.ptr[0] != ']') {
		if (k->n == MOST_PAGES || !take_number(&s, &object) ||
		    !take_number(&s, &generation) || !s.len || s.ptr[0] != 'R')
			return false;
		s = skip_space(str_skip(s, 1));
		for (int64_t i = 0; i < k->n; i++)
			if (k->list[i] == object)
				return false;
		k->list[k->n++] = object;
	}
	return s.len > 0;
}

/*
 * At least as many pages as the PDF has: the page objects in plain sight, or
 * the objects that the lists of pages name, if those are more. Returns most if
 * there may be others (in an object stream, or a page that is shown several
 * times), or if no page is seen. Older versions of a page count, too.
 */
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
	return n ? least(n, most) : most;
}

static int64_t most_of_image(const struct media_rates *r, struct str bytes)
{
	int64_t n = count_tiles(r, bytes, r->most);

	if (r->most)
		n = least(n, r->most);
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

	/* the upper bound means that pages may be hidden */
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
	return least(count_tiles(r, bytes, r->usual), r->usual);
}
