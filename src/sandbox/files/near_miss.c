/* near_miss.c - the text of a file that an edit probably meant. */
/* SPDX-License-Identifier: MIT */
#include "sandbox/files/near_miss.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <utf8proc.h>

#include "base/mem.h"
#include "base/str.h"

enum {
	FILE_BYTES = 8 << 20,  /* of a file that is looked through */
	TEXT_LINES = 1000,     /* of the text that is looked for */
	LINE_BYTES = 16 << 10, /* of a line that are compared */
	SHOWN_LINES = 10,
	SHOWN_CHARS = 1000, /* of each of them */
	PARTS = 18,         /* of one character, decomposed: Unicode's most */
	FOLD_COST = 64,     /* bytes: what folding an empty line costs */
	WORK_BYTES = 128 << 20, /* folded for one edit, about a second */
};

/* A line without what is taken for equal; from[i] is where byte i was. */
struct folded {
	struct buf text;
	size_t *from;
};

/* What looks like one of these is the first of its string. */
static const char *const alike[] = {
	"'\u2018\u2019\u201a\u201b\u2032\u00b4`",
	"\"\u201c\u201d\u201e\u201f\u2033\u00ab\u00bb",
	"-\u2010\u2011\u2012\u2013\u2014\u2015\u2212",
	NULL,
};

static uint32_t take(struct str *s)
{
	utf8proc_int32_t c = 0;
	utf8proc_ssize_t n = utf8proc_iterate((const utf8proc_uint8_t *)s->ptr,
					      (utf8proc_ssize_t)s->len, &c);

	*s = str_skip(*s, n > 0 ? (size_t)n : 1);
	return n > 0 ? (uint32_t)c : 0xFFFD;
}

static bool is_space(uint32_t c)
{
	return c == '\t' || c == ' ' || c == '\r' ||
	       (c > 0x7f &&
		utf8proc_category((utf8proc_int32_t)c) == UTF8PROC_CATEGORY_ZS);
}

/* Shown as nothing: zero-width space and joiners, soft hyphen, mark of byte
 * order. */
static bool is_invisible(uint32_t c)
{
	return c == 0x200B || c == 0x200C || c == 0x200D || c == 0x2060 ||
	       c == 0xFEFF || c == 0xAD;
}

static uint32_t plain(uint32_t c)
{
	for (size_t i = 0; alike[i]; i++) {
		struct str rest = str_of(alike[i]);
		uint32_t first = take(&rest);

		if (c == first)
			return first;
		while (rest.len)
			if (take(&rest) == c)
				return first;
	}
	return c;
}

static void add(struct folded *f, uint32_t c, size_t at)
{
	utf8proc_uint8_t room[4];
	utf8proc_ssize_t n = utf8proc_encode_char((utf8proc_int32_t)c, room);

	for (utf8proc_ssize_t i = 0; i < n; i++)
		f->from[f->text.len + (size_t)i] = at;
	buf_add(&f->text, (const char *)room, (size_t)n);
}

static void add_parts(struct folded *f, uint32_t c, size_t at)
{
	utf8proc_int32_t parts[PARTS];
	int class = 0;
	utf8proc_ssize_t n = 0;

	if (plain(c) == c)
		n = utf8proc_decompose_char(
			(utf8proc_int32_t)c, parts, PARTS,
			UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT, &class);
	if (n < 1 || n > PARTS) {
		add(f, plain(c), at);
		return;
	}
	for (utf8proc_ssize_t i = 0; i < n; i++)
		add(f, plain((uint32_t)parts[i]), at);
}

static void fold(struct str line, struct folded *f)
{
	struct str rest;
	size_t room = 1;
	bool space = false;

	if (line.len > LINE_BYTES)
		line.len = LINE_BYTES;
	rest = line;
	for (size_t i = 0; i < line.len; i++)
		room += (unsigned char)line.ptr[i] < 0x80 ? 1 : PARTS * 4;
	f->text = BUF_INIT(room);
	f->from = xcalloc(room, sizeof(*f->from));
	while (rest.len) {
		size_t at = line.len - rest.len;
		uint32_t c = take(&rest);

		if (is_space(c)) {
			space = f->text.len > 0;
			continue;
		}
		if (is_invisible(c))
			continue;
		if (space)
			add(f, ' ', at);
		space = false;
		if (c < 0x80)
			add(f, plain(c), at);
		else
			add_parts(f, c, at);
	}
}

static void unfold(struct folded *f)
{
	buf_release(&f->text);
	free(f->from);
}

struct wanted {
	struct str raw[TEXT_LINES];
	struct folded lines[TEXT_LINES];
	size_t n;
	size_t work; /* of WORK_BYTES: what is left */
};

/* Attack: a file that repeats the first lines of the text makes each of its
 * lines the start of a long comparison, hours of them for 8 MB. False: give up,
 * the edit fails without the hint. */
static bool may_fold(struct wanted *w, struct str line)
{
	size_t cost = FOLD_COST + line.len;

	if (cost > w->work)
		return false;
	w->work -= cost;
	return true;
}

/* Where in a line of the file line i of the text is, or SIZE_MAX: the first
 * must end the line, the last begin it, others be all of it. */
static size_t find_line(const struct wanted *w, size_t i,
			const struct folded *line)
{
	struct str have = buf_str(&line->text);
	struct str want = buf_str(&w->lines[i].text);
	size_t at;

	if (want.len > have.len)
		return SIZE_MAX;
	if (w->n == 1) {
		at = str_search(have, want);
		return at < have.len ? at : SIZE_MAX;
	}
	at = i ? 0 : have.len - want.len;
	if (i && i + 1 < w->n && have.len != want.len)
		return SIZE_MAX;
	return memcmp(have.ptr ? have.ptr + at : "", want.ptr ? want.ptr : "",
		      want.len)
		       ? SIZE_MAX
		       : at;
}

static bool begins_with(struct str s, struct str with)
{
	return s.len >= with.len &&
	       str_eq((struct str){ s.ptr, with.len }, with);
}

/* True where all lines of the text are at rest. Fills the first line that is
 * not the same byte for byte: what the file has there, and its number. */
static bool matches(struct wanted *w, struct str rest, struct str *have,
		    size_t *which)
{
	bool differs = false;

	for (size_t i = 0; i < w->n; i++) {
		struct folded f;
		struct str line;
		size_t at;

		if (!str_split(&rest, '\n', &line) || !may_fold(w, line))
			return false;
		fold(line, &f);
		at = find_line(w, i, &f);
		if (at != SIZE_MAX && at > 0)
			line = str_skip(line, f.from[at]);
		else if (at == 0 && w->raw[i].len && f.text.len &&
			 !is_space((unsigned char)w->raw[i].ptr[0]) && i == 0)
			line = str_skip(line, f.from[0]);
		unfold(&f);
		if (at == SIZE_MAX)
			return false;
		if (!differs && !begins_with(line, w->raw[i])) {
			differs = true;
			*have = line;
			*which = i;
		}
	}
	return differs;
}

/* "a tab", "4 spaces", "a no-break space (U+00A0)", "'x' (U+0078)" */
static void describe(struct str s, struct buf *out)
{
	struct str from = s;
	uint32_t c = s.len ? take(&s) : '\n';
	size_t n = 1;

	for (struct str rest = s; rest.len && take(&rest) == c; s = rest)
		n++;
	if (c == '\n' || c == '\r')
		buf_adds(out, "the end of the line");
	else if ((c == ' ' || c == '\t') && n == 1)
		buf_addf(out, "a %s", c == ' ' ? "space" : "tab");
	else if (c == ' ' || c == '\t')
		buf_addf(out, "%zu %ss", n, c == ' ' ? "space" : "tab");
	else if (c == 0xA0)
		buf_adds(out, "a no-break space (U+00A0)");
	else if (is_space(c) || is_invisible(c))
		buf_addf(out, "the invisible character U+%04" PRIX32, c);
	else
		buf_addf(out, "'%.*s' (U+%04" PRIX32 ")",
			 (int)str_char_offset(from, 1), from.ptr, c);
}

static bool starts_with_space(struct str s)
{
	return s.len && is_space(take(&s));
}

static void explain(struct str have, struct str want, struct buf *out)
{
	/* Where white space begins, in both: its amount may be what differs. */
	struct str spaces[2] = { have, want };

	while (have.len && want.len) {
		struct str a = have;
		struct str b = want;
		uint32_t c = take(&a);

		if (c != take(&b))
			break;
		have = a;
		want = b;
		if (!is_space(c)) {
			spaces[0] = a;
			spaces[1] = b;
		}
	}
	if (starts_with_space(have) || starts_with_space(want)) {
		have = spaces[0];
		want = spaces[1];
	}
	buf_adds(out, "The file has ");
	describe(have, out);
	buf_adds(out, " where old_string has ");
	describe(want, out);
	buf_adds(out, ". Copy the text as the file has it.");
}

static void show(const struct wanted *w, struct str rest, size_t number,
		 struct buf *out)
{
	struct str line;

	buf_addf(out, "line %zu nearly matches:\n", number);
	for (size_t i = 0; i < w->n && i < SHOWN_LINES; i++) {
		if (!str_split(&rest, '\n', &line))
			break;
		if (line.len && line.ptr[line.len - 1] == '\r')
			line.len--;
		buf_add(out, line.ptr, str_char_offset(line, SHOWN_CHARS));
		buf_addc(out, '\n');
	}
}

static bool find(struct wanted *w, struct str file, struct buf *out)
{
	size_t number = 1;
	struct str have = { 0 };
	struct str line;
	size_t which = 0;

	for (; file.len && w->work > FOLD_COST; number++) {
		if (matches(w, file, &have, &which)) {
			show(w, file, number, out);
			explain(have, w->raw[which], out);
			return true;
		}
		if (!str_split(&file, '\n', &line))
			break;
	}
	return false;
}

bool near_miss(struct str file, struct str text, struct buf *out)
{
	struct wanted *w = xcalloc(1, sizeof(*w));
	bool found = false;
	bool any = false;

	w->work = WORK_BYTES;
	/* A line break at the end is one more line, an empty one. */
	while (text.len && file.len <= FILE_BYTES && w->n < TEXT_LINES &&
	       str_split(&text, '\n', &w->raw[w->n])) {
		fold(w->raw[w->n], &w->lines[w->n]);
		any |= w->lines[w->n].text.len > 0;
		w->n++;
	}
	if (any && !text.len)
		found = find(w, file, out);
	for (size_t i = 0; i < w->n; i++)
		unfold(&w->lines[i]);
	free(w);
	return found;
}
