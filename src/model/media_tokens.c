/* media_tokens.c - how much of a window an image or a PDF may take. */
/* SPDX-License-Identifier: MIT */
/* Upper bounds of our own, on the safe side; what was read, on 2026-11-23, is
 * named where it was. */
#include <string.h>

#include "base/str.h"
#include "model/media.h"

enum {
	/* A patch of 28x28 pixels is a token, and larger images are made
	 * smaller (platform.claude.com/docs, "Images and vision"); to how
	 * many, at most, is our bound for 2576 pixels. */
	CLAUDE_PATCH = 28,
	CLAUDE_IMAGE = 4784,
	/* Of text, besides an image of the page; bounds, as the pages are. */
	PAGE_TEXT = 3000,
	CLAUDE_PAGES = 600,
	/* Patches of 32x32 pixels, times up to 2.46, or tiles, 85 and 170 for
	 * each (community.openai.com, topic 1344040, quotes the vendor's page).
	 * How many at most, what gpt-4o-mini counts, and what servers of Llama
	 * do, are bounds. */
	OPENAI_PATCH = 32,
	OPENAI_PATCHES = 10000,
	OPENAI_LEAST = 6404,
	OPENAI_MINI = 2833 + 8 * 5667,
	OPENAI_PAGES = 1000,
	/* Generation 3 counts 1120 for an image unless asked for more, and
	 * takes 1000 pages a file at most (docs.cloud.google.com, "Image
	 * understanding", "Document understanding"); tiles are bounds. */
	GEMINI_TILE = 384,
	GEMINI_TILE_TOKENS = 258,
	GEMINI_IMAGE = 2240,
	GEMINI_PAGES = 1000,
	MOST_PAGES = 1000, /* of all of them */
};

static int64_t tiles(struct str bytes, int64_t side, int64_t unknown)
{
	uint32_t width;
	uint32_t height;

	if (!media_dimensions(bytes, &width, &height))
		return unknown;
	/* below 2^46: no product of them overflows */
	return ((width + side - 1) / side) * ((height + side - 1) / side);
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

static int64_t claude(struct str bytes, bool is_pdf)
{
	if (is_pdf)
		return count_pages(bytes, CLAUDE_PAGES) *
		       (PAGE_TEXT + CLAUDE_IMAGE);
	return least(tiles(bytes, CLAUDE_PATCH, CLAUDE_IMAGE), CLAUDE_IMAGE);
}

static int64_t openai(const char *model, struct str bytes, bool is_pdf)
{
	int64_t patches;
	int64_t n;

	if (is_pdf)
		return count_pages(bytes, OPENAI_PAGES) *
		       (PAGE_TEXT + (strstr(model, "4o-mini") ? OPENAI_MINI
							      : OPENAI_LEAST));
	if (strstr(model, "4o-mini"))
		return OPENAI_MINI;
	patches = least(tiles(bytes, OPENAI_PATCH, OPENAI_PATCHES),
			OPENAI_PATCHES);
	n = (patches * 246 + 99) / 100;
	return n > OPENAI_LEAST ? n : OPENAI_LEAST;
}

static int64_t gemini(struct str bytes, bool is_pdf)
{
	int64_t n;

	if (is_pdf)
		return count_pages(bytes, GEMINI_PAGES) *
		       (PAGE_TEXT + GEMINI_IMAGE);
	n = tiles(bytes, GEMINI_TILE, 1) * GEMINI_TILE_TOKENS;
	return n > GEMINI_IMAGE ? n : GEMINI_IMAGE;
}

int64_t media_max_tokens(const char *wire, const char *model, struct str bytes)
{
	const char *type = media_type(bytes);
	bool is_pdf = type && media_is_pdf(type);

	if (!type)
		return 0;
	if (strcmp(wire, "gemini") == 0)
		return gemini(bytes, is_pdf);
	if (str_starts(str_of(wire), "openai-"))
		return openai(model, bytes, is_pdf);
	return claude(bytes, is_pdf);
}
