/* media_tokens.c - how much of a window an image or a PDF may take. */
/* SPDX-License-Identifier: MIT */
/* Upper bounds of our own, on the safe side; what was read, on 2026-11-23, is
 * named where it was. */
#include <string.h>

#include "base/str.h"
#include "model/media.h"

enum {
	MOST_PAGES = 1000, /* of all of them */
	HIDDEN_SHARE =
		32, /* bytes for a token, of a PDF that hides its pages */
};

/* What a file counts, in tokens: a row is for the wires that begin so, and for
 * models with this part in their names. */
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

static const struct media_rates *find_rates(const char *wire, const char *model)
{
	const struct media_rates *r = rates;

	while (!str_starts(str_of(wire), r->wire) || !strstr(model, r->model))
		r++;
	return r;
}

/* Of an image by its pixels; unknown where they are. */
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

/* PDF's white space; comments are not looked through. */
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

struct kids { /* objects that lists of pages name */
	int64_t list[MOST_PAGES];
	int64_t n;
};

/* Behind "/Kids": [1 0 R 2 0 R]. False: it is something else, or has more than
 * fits, or one of them stands in a list twice, as it may be shown twice. */
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
 * Page objects that stand in the file as they are, or what the lists of pages
 * name, if that is more; most where there may be others, in an object stream or
 * by a page that is shown several times, or none is seen. Older versions of a
 * page count too: never fewer than there are.
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

	/* so many that they may be hidden */
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
