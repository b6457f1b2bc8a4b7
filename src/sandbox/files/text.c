/* text.c - a file's bytes as text: encoding, pages, edits. */
/* SPDX-License-Identifier: MIT */

/*
 * Functions on untrusted bytes without I/O, in this order: detecting a file's
 * encoding and converting it without loss; a page of lines; preserving line
 * ends when a file is replaced; explaining why an edit's text is not found;
 * applying an edit. All of them are fuzzed.
 */
#include "sandbox/files/text.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <utf8proc.h>

#include "base/mem.h"
#include "base/str.h"

enum { LF, CRLF, CR, KINDS };

static const struct {
	const char *bytes;
	const char *name;
} kinds[KINDS] = {
	[LF] = { "\n", "LF" },
	[CRLF] = { "\r\n", "CR LF" },
	[CR] = { "\r", "CR" },
};

/* Returns the kind of line end with which s begins; KINDS if none. */
static int kind_of(struct str s)
{
	if (str_starts(s, "\r\n"))
		return CRLF;
	if (str_starts(s, "\n"))
		return LF;
	return str_starts(s, "\r") ? CR : KINDS;
}

/* Returns the kind of line end that most lines have; KINDS if there are none.
 * CR counts only if the text has no other line ends. */
static int most_used_ends(struct str s)
{
	size_t n[KINDS] = { 0 };

	while (s.len) {
		int kind = kind_of(s);

		if (kind < KINDS)
			n[kind]++;
		s = str_skip(s, kind == CRLF ? 2 : 1);
	}
	if (n[CRLF] || n[LF])
		return n[CRLF] > n[LF] ? CRLF : LF;
	return n[CR] ? CR : KINDS;
}

/* Removes one line end from the end of the text; false if there is none. */
static bool strip_end(struct str *s)
{
	if (str_ends(*s, "\r\n"))
		s->len -= 2;
	else if (str_ends(*s, "\n") || str_ends(*s, "\r"))
		s->len--;
	else
		return false;
	return true;
}

void line_ends_keep(struct str old, struct str text, struct buf *out,
		    struct buf *kept)
{
	int kind = most_used_ends(old);
	struct str rest;
	bool changed = false;
	bool had;
	bool has;

	if (str_starts(text, "\xEF\xBB\xBF"))
		text = str_skip(text, 3);
	if (!old.len) { /* an empty file has no form to keep */
		buf_addstr(out, text);
		return;
	}
	rest = text;
	has = strip_end(&rest);
	had = strip_end(&old);
	if (!text.len)
		return;
	while (rest.len) {
		int now = kind_of(rest);
		size_t len = now == CRLF ? 2 : 1;

		/* In a file whose lines end otherwise, a single CR is an
		 * ordinary character. */
		if (now == KINDS || kind == KINDS ||
		    (now == CR && kind != CR)) {
			buf_add(out, rest.ptr, len);
		} else {
			buf_adds(out, kinds[kind].bytes);
			changed |= now != kind;
		}
		rest = str_skip(rest, len);
	}
	if (had) {
		buf_adds(out, kinds[kind].bytes);
		changed |= has && !str_ends(text, kinds[kind].bytes);
	}
	if (changed)
		buf_addf(kept, "%s line ends", kinds[kind].name);
	if (had != has)
		buf_addf(kept, "%s%s line break at the end",
			 kept->len ? ", " : "", had ? "a" : "no");
}

/* Characters for bytes 0x80 to 0x9f in windows-1252 (WHATWG Encoding, read
 * 2026-11). 0: undefined. */
static const uint16_t high_controls[32] = {
	0x20AC, 0,      0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021,
	0x02C6, 0x2030, 0x0160, 0x2039, 0x0152, 0,      0x017D, 0,
	0,      0x2018, 0x2019, 0x201C, 0x201D, 0x2022, 0x2013, 0x2014,
	0x02DC, 0x2122, 0x0161, 0x203A, 0x0153, 0,      0x017E, 0x0178,
};

static int refuse_binary(struct error *err)
{
	return error_set_case(err, ERR_REMOTE, CASE_NOT_TEXT,
			      "not_a_text_file");
}

/* True if raw may be text with one byte per character. It is more likely
 * damaged UTF-8 if it has at least as many valid multi-byte UTF-8 characters as
 * other bytes from 0x80 on. */
static bool is_latin1(struct str raw)
{
	size_t single = 0;
	size_t multiple = 0;

	while (raw.len) {
		unsigned char c = (unsigned char)raw.ptr[0];
		size_t good = str_utf8_prefix(
			(struct str){ raw.ptr, raw.len < 4 ? raw.len : 4 });

		/* bytes that are not in text of any such encoding */
		if ((c < ' ' && !(c >= '\t' && c <= '\r') && c != 0x1b) ||
		    c == 0x7f || c == 0xff ||
		    (c >= 0x80 && c < 0xa0 && !high_controls[c - 0x80] &&
		     !good))
			return false;
		if (c < 0x80) {
			raw = str_skip(raw, 1);
			continue;
		}
		single += !good;
		multiple += good > 0;
		raw = str_skip(raw, good ? str_char_offset(raw, 1) : 1);
	}
	return single > multiple;
}

enum { GUESSED_BYTES = 8192, LEAST_GUESSED = 8 };

/* True if raw is UTF-16 without a byte order mark: one byte of nearly each
 * pair is 0, always on the same side, and the other one is of a text. */
static bool is_utf16(struct str raw, enum encoding_name *name)
{
	size_t len = raw.len < GUESSED_BYTES ? raw.len : GUESSED_BYTES;
	size_t zeros[2] = { 0 };
	size_t side;

	if (raw.len % 2 || len < LEAST_GUESSED)
		return false;
	for (size_t i = 0; i < len; i++)
		zeros[i % 2] += !raw.ptr[i];
	side = zeros[1] > 0;
	if (zeros[!side] || zeros[side] < len / 2 - len / 8)
		return false;
	for (size_t i = !side; i < len; i += 2) {
		unsigned char c = (unsigned char)raw.ptr[i];

		if (!raw.ptr[i + side - !side] && c < ' ' &&
		    !(c >= '\t' && c <= '\r'))
			return false;
	}
	*name = side ? ENCODING_UTF16LE : ENCODING_UTF16BE;
	return true;
}

int encoding_detect(struct str raw, bool cut, struct encoding *e,
		    struct error *err)
{
	size_t good;

	*e = (struct encoding){ .name = ENCODING_UTF8 };
	if (str_starts(raw, "\xFF\xFE") || str_starts(raw, "\xFE\xFF")) {
		e->name = raw.ptr[0] == '\xFF' ? ENCODING_UTF16LE
					       : ENCODING_UTF16BE;
		e->mark = 2;
		return 0;
	}
	if (!cut && is_utf16(raw, &e->name))
		return 0;
	if (str_starts(raw, "\xEF\xBB\xBF"))
		e->mark = 3;
	good = str_utf8_prefix(raw);
	if (good == raw.len || (cut && good + 4 > raw.len))
		return 0;
	if (e->mark || !is_latin1(raw))
		return refuse_binary(err);
	e->name = ENCODING_LATIN1;
	return 0;
}

static void add_character(uint32_t c, struct buf *out)
{
	utf8proc_uint8_t room[4];
	utf8proc_ssize_t n = utf8proc_encode_char((utf8proc_int32_t)c, room);

	buf_add(out, (const char *)room, (size_t)n);
}

static uint32_t unit_at(const struct encoding *e, struct str raw, size_t i)
{
	unsigned a = (unsigned char)raw.ptr[i];
	unsigned b = (unsigned char)raw.ptr[i + 1];

	return e->name == ENCODING_UTF16LE ? b << 8 | a : a << 8 | b;
}

/* Decodes UTF-16. Fails on an odd byte, an unpaired surrogate or a NUL
 * character. */
static int decode_utf16(const struct encoding *e, struct str raw,
			struct buf *out, struct error *err)
{
	if (raw.len % 2)
		return refuse_binary(err);
	for (size_t i = 0; i < raw.len; i += 2) {
		uint32_t c = unit_at(e, raw, i);

		if (c >= 0xD800 && c < 0xDC00 && i + 2 < raw.len) {
			uint32_t low = unit_at(e, raw, i + 2);

			if (low < 0xDC00 || low > 0xDFFF)
				return refuse_binary(err);
			c = 0x10000 + ((c - 0xD800) << 10) + (low - 0xDC00);
			i += 2;
		} else if (!c || (c >= 0xD800 && c < 0xE000)) {
			return refuse_binary(err);
		}
		add_character(c, out);
	}
	return 0;
}

int encoding_decode(const struct encoding *e, struct str raw, struct buf *out,
		    struct error *err)
{
	int rc = 0;

	raw = str_skip(raw, e->mark);
	if (e->name == ENCODING_UTF8)
		buf_addstr(out, raw);
	else if (e->name != ENCODING_LATIN1)
		rc = decode_utf16(e, raw, out, err);
	else
		for (size_t i = 0; i < raw.len; i++) {
			unsigned char c = (unsigned char)raw.ptr[i];
			bool high = c >= 0x80 && c < 0xa0;

			add_character(high && high_controls[c - 0x80]
					      ? high_controls[c - 0x80]
					      : c,
				      out);
		}
	return rc < 0 ? -1 : buf_check(out, "the file as UTF-8", err);
}

static uint32_t read_character(struct str *text)
{
	utf8proc_int32_t c = 0;
	utf8proc_ssize_t n =
		utf8proc_iterate((const utf8proc_uint8_t *)text->ptr,
				 (utf8proc_ssize_t)text->len, &c);

	*text = str_skip(*text, n > 0 ? (size_t)n : 1);
	return n > 0 ? (uint32_t)c : 0xFFFD;
}

/* Returns the byte that encodes a character, or -1. */
static int latin1_byte(uint32_t c)
{
	if (c < 0x80 || (c >= 0xa0 && c < 0x100))
		return (int)c;
	for (int i = 0; i < 32; i++)
		if (high_controls[i] ? high_controls[i] == c
				     : c == 0x80u + (unsigned)i)
			return 0x80 + i;
	return -1;
}

static void add_unit(const struct encoding *e, uint32_t unit, struct buf *out)
{
	bool little = e->name == ENCODING_UTF16LE;

	buf_addc(out, (char)(little ? unit : unit >> 8));
	buf_addc(out, (char)(little ? unit >> 8 : unit));
}

int encoding_encode(const struct encoding *e, struct str text, struct buf *out,
		    struct error *err)
{
	if (e->name == ENCODING_UTF8)
		buf_addstr(out, text);
	while (text.len && e->name != ENCODING_UTF8) {
		struct str from = text;
		uint32_t c = read_character(&text);

		if (e->name == ENCODING_LATIN1) {
			int byte = latin1_byte(c);

			if (byte < 0)
				return error_set(
					err, ERR_USAGE,
					"the file is Latin-1, which has no "
					"'%.*s' (U+%04X)",
					(int)(from.len - text.len), from.ptr,
					(unsigned)c);
			buf_addc(out, (char)byte);
			continue;
		}
		if (c >= 0x10000) {
			add_unit(e, 0xD800 + ((c - 0x10000) >> 10), out);
			c = 0xDC00 + ((c - 0x10000) & 0x3FF);
		}
		add_unit(e, c, out);
	}
	return buf_check(out, "the file", err);
}

size_t encoding_size(const struct encoding *e, struct str text)
{
	size_t n = 0;

	if (e->name == ENCODING_UTF8)
		return text.len;
	if (e->name == ENCODING_LATIN1)
		return str_chars(text);
	while (text.len)
		n += read_character(&text) >= 0x10000 ? 4 : 2;
	return n;
}

const char *encoding_label(const struct encoding *e)
{
	switch (e->name) {
	case ENCODING_UTF16LE:
		return "UTF-16 (little-endian)";
	case ENCODING_UTF16BE:
		return "UTF-16 (big-endian)";
	case ENCODING_LATIN1:
		return "Latin-1 (windows-1252)";
	case ENCODING_UTF8:
		break;
	}
	return NULL;
}

enum { PREFIX = 8192, LONGEST_CHAR = 4 };

static const char clipped_marker[] =
	"\n\n[Output was truncated due to size limits. This paginated read "
	"result exceeded the sandbox stdout limit. Continue reading with a "
	"larger offset or smaller limit to inspect the rest of the file.]";

/* Removes the next line from the front of *rest, with its line end, and returns
 * it without. False at the end of the text. */
static bool read_line(struct str *rest, struct str *line)
{
	size_t len;
	size_t skip = 1;

	if (!rest->len)
		return false;
	len = str_find(*rest, '\n');
	if (len && memchr(rest->ptr, '\r', len)) {
		len = str_find(*rest, '\r');
		if (len + 1 < rest->len && rest->ptr[len + 1] == '\n')
			skip = 2;
	}
	if (len == rest->len)
		skip = 0;
	*line = (struct str){ rest->ptr, len };
	*rest = str_skip(*rest, len + skip);
	return true;
}

/* True if the first PREFIX bytes are UTF-8. If a character crosses the end of
 * the prefix, all its bytes are checked. */
static bool prefix_is_text(struct str raw)
{
	size_t len = raw.len < PREFIX ? raw.len : PREFIX;
	size_t look = PREFIX + LONGEST_CHAR - 1;

	if (look > raw.len)
		look = raw.len;
	return str_utf8_prefix((struct str){ raw.ptr, look }) >= len;
}

/* Appends a line; false if it did not fit completely. */
static bool add_line(struct buf *text, struct str line, bool first)
{
	if (!first)
		buf_addc(text, '\n');
	buf_addstr(text, line);
	return !text->over;
}

/* Cuts the page at its maximum size, between characters. Returns the number of
 * complete lines shown; an overlong first line counts as one, so that paging
 * continues. -1: not UTF-8. */
static int64_t clip_page(struct files_page *page)
{
	struct buf *text = &page->text;
	size_t most = FILES_PAGE_BYTES - (sizeof(clipped_marker) - 1);
	int64_t whole;

	for (int i = 1; i < LONGEST_CHAR; i++)
		if (((unsigned char)text->ptr[most] & 0xc0) == 0x80)
			most--;
	if (str_utf8_prefix(buf_str(text)) < most)
		return -1;
	whole = text->ptr[most] == '\n';
	for (size_t i = 0; i < most; i++)
		whole += text->ptr[i] == '\n';
	page->clipped = true;
	text->len = most;
	text->over = false;
	buf_adds(text, clipped_marker);
	return whole ? whole : 1;
}

static int set_past_end(int64_t offset, int64_t total, struct error *err)
{
	return error_set(err, ERR_REMOTE,
			 "Line offset %" PRId64 " exceeds file length (%" PRId64
			 " line%s)",
			 offset, total, total == 1 ? "" : "s");
}

static void number_lines(const struct page_source *src, int64_t offset,
			 int64_t lines, struct files_page *page)
{
	page->start_line = offset + 1;
	page->end_line = offset + lines;
	page->next_offset = page->end_line;
	if (src->at_end && page->end_line >= page->total_lines)
		page->next_offset = -1;
}

/* Copies the requested lines into the page, until it is full. */
static int cut_lines(const struct page_source *src, int64_t offset,
		     int64_t limit, struct files_page *page, struct error *err)
{
	struct str rest = src->raw;
	struct str line;
	int64_t at = src->first_line;
	int64_t lines = 0;
	bool fits = true;

	page->text.max = FILES_PAGE_BYTES;
	if (!at && !prefix_is_text(src->raw))
		return error_set_case(err, ERR_REMOTE, CASE_NOT_TEXT,
				      "not_a_text_file");
	while (at < offset && read_line(&rest, &line))
		at++;
	if (!rest.len)
		return set_past_end(offset, src->at_end ? at : src->total, err);
	while (fits && lines < limit && read_line(&rest, &line)) {
		fits = add_line(&page->text, line, lines == 0);
		at++;
		lines++;
	}
	if (!fits)
		lines = clip_page(page);
	if (lines < 0 || !str_is_utf8(buf_str(&page->text)))
		return error_set_case(err, ERR_REMOTE, CASE_NOT_TEXT,
				      "not_a_text_file");
	/* src has the rest of the file: count its lines */
	while (src->at_end && read_line(&rest, &line))
		at++;
	page->total_lines = src->at_end ? at : src->total;
	number_lines(src, offset, lines, page);
	return 0;
}

int page_cut(const struct page_source *src, int64_t offset, int64_t limit,
	     struct files_page *page, struct error *err)
{
	struct page_source plain = *src;
	struct encoding e = { .name = ENCODING_UTF8 };
	struct error ignored = { 0 };
	struct buf text = BUF_INIT(4 * src->raw.len + 1);
	int rc;

	/* Errors are ignored here: cut_lines() reports text that cannot be
	 * decoded. */
	if (encoding_detect(src->raw, !src->at_end, &e, &ignored) == 0 &&
	    e.name != ENCODING_UTF8 &&
	    encoding_decode(&e, src->raw, &text, &ignored) == 0) {
		plain.raw = buf_str(&text);
		page->encoding = encoding_label(&e);
	}
	rc = cut_lines(&plain, offset, limit, page, err);
	buf_release(&text);
	return rc;
}

enum {
	FILE_BYTES = 8 << 20, /* maximum size of the file that is searched */
	/* maximum lines of the text that is searched for */
	TEXT_LINES = 1000,
	LINE_BYTES = 16 << 10, /* bytes of a line that are compared */
	SHOWN_LINES = 10,
	SHOWN_CHARS = 1000, /* characters shown of each line */
	/* most characters that one character decomposes into in Unicode */
	PARTS = 18,
	/* bytes: the cost that is charged for each line in addition to its
	 * length */
	FOLD_COST = 64,
	/* limit of that cost for one edit: about a second */
	WORK_BYTES = 128 << 20,
};

/* A line after folding: characters that are treated as equal (quotes, dashes,
 * white space) have become the same one. from[i] is the original offset of byte
 * i. */
struct folded {
	struct buf text;
	size_t *from;
};

/* Each string lists characters that are treated as equal to its first one. */
static const char *const alike[] = {
	"'\u2018\u2019\u201a\u201b\u2032\u00b4`",
	"\"\u201c\u201d\u201e\u201f\u2033\u00ab\u00bb",
	"-\u2010\u2011\u2012\u2013\u2014\u2015\u2212",
	NULL,
};

struct wanted {
	struct str raw[TEXT_LINES];
	struct folded lines[TEXT_LINES];
	size_t n;
	bool ends;   /* the text ends with a line break */
	size_t work; /* what is left of WORK_BYTES */
};

static bool is_space(uint32_t c)
{
	return c == '\t' || c == ' ' || c == '\r' ||
	       (c > 0x7f &&
		utf8proc_category((utf8proc_int32_t)c) == UTF8PROC_CATEGORY_ZS);
}

/* True for characters without width: zero-width space and joiners, soft hyphen,
 * byte order mark. */
static bool is_invisible(uint32_t c)
{
	return c == 0x200B || c == 0x200C || c == 0x200D || c == 0x2060 ||
	       c == 0xFEFF || c == 0xAD;
}

static uint32_t plain_character(uint32_t c)
{
	for (size_t i = 0; alike[i]; i++) {
		struct str rest = str_of(alike[i]);
		uint32_t first = read_character(&rest);

		if (c == first)
			return first;
		while (rest.len)
			if (read_character(&rest) == c)
				return first;
	}
	return c;
}

static void add_folded(struct folded *f, uint32_t c, size_t at)
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

	if (plain_character(c) == c)
		n = utf8proc_decompose_char(
			(utf8proc_int32_t)c, parts, PARTS,
			UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT, &class);
	if (n < 1 || n > PARTS) {
		add_folded(f, plain_character(c), at);
		return;
	}
	for (utf8proc_ssize_t i = 0; i < n; i++)
		add_folded(f, plain_character((uint32_t)parts[i]), at);
}

/* Folds a line for near_miss(): similar characters become equal, and white
 * space is reduced. */
static void fold_line(struct str line, struct folded *f)
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
		uint32_t c = read_character(&rest);

		if (is_space(c)) {
			space = f->text.len > 0;
			continue;
		}
		if (is_invisible(c))
			continue;
		if (space)
			add_folded(f, ' ', at);
		space = false;
		if (c < 0x80)
			add_folded(f, plain_character(c), at);
		else
			add_parts(f, c, at);
	}
}

static void release_folded(struct folded *f)
{
	buf_release(&f->text);
	free(f->from);
}

/* Charges the cost of folding a line to the work budget. Attack: a file repeats
 * the first lines of the searched text, so that a long comparison starts at
 * each of its lines: hours for 8 MB. False: the budget is used up; the edit
 * fails without the hint. */
static bool may_fold(struct wanted *w, struct str line)
{
	size_t cost = FOLD_COST + line.len;

	if (cost > w->work)
		return false;
	w->work -= cost;
	return true;
}

/* Looks for line i of the searched text in a line of the file; returns its
 * offset there, or SIZE_MAX. The text's first line must match the end of the
 * file's line, its last line the beginning, any other the whole line. */
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

/* True if a line of the file has the bytes of line i of the searched text: all
 * of its bytes, or the first ones if the text ends within that line. */
static bool has_bytes(struct str line, const struct wanted *w, size_t i)
{
	if (str_ends(line, "\r"))
		line.len--;
	return begins_with(line, w->raw[i]) &&
	       ((i + 1 == w->n && !w->ends) || line.len == w->raw[i].len);
}

/* True if all lines of the searched text match the file's lines from rest on,
 * after folding. *have and *which: the first line that differs in its bytes, as
 * it is in the file, and its number in the text. */
static bool matches_here(struct wanted *w, struct str rest, struct str *have,
			 size_t *which)
{
	bool differs = false;

	for (size_t i = 0; i < w->n; i++) {
		struct folded f;
		struct str line;
		size_t at;

		if (!str_split(&rest, '\n', &line) || !may_fold(w, line))
			return false;
		fold_line(line, &f);
		at = find_line(w, i, &f);
		if (at != SIZE_MAX && at > 0)
			line = str_skip(line, f.from[at]);
		else if (at == 0 && w->raw[i].len && f.text.len &&
			 !is_space((unsigned char)w->raw[i].ptr[0]) && i == 0)
			line = str_skip(line, f.from[0]);
		release_folded(&f);
		if (at == SIZE_MAX)
			return false;
		if (!differs && !has_bytes(line, w, i)) {
			differs = true;
			*have = line;
			*which = i;
		}
	}
	return differs;
}

/* Appends "a tab", "4 spaces", "a no-break space (U+00A0)" or "'x'
 * (U+0078)". */
static void describe_text(struct str s, struct buf *out)
{
	struct str from = s;
	uint32_t c = s.len ? read_character(&s) : '\n';
	size_t n = 1;

	for (struct str rest = s; rest.len && read_character(&rest) == c;
	     s = rest)
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
	return s.len && is_space(read_character(&s));
}

/* Describes the first difference between a line of the file (have) and the
 * searched text's (want). */
static void explain_difference(struct str have, struct str want,
			       struct buf *out)
{
	/* Where the current run of white space starts in each: the amount of
	 * white space may be the difference. */
	struct str spaces[2] = { have, want };

	while (have.len && want.len) {
		struct str a = have;
		struct str b = want;
		uint32_t c = read_character(&a);

		if (c != read_character(&b))
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
	describe_text(have, out);
	buf_adds(out, " where old_string has ");
	describe_text(want, out);
	buf_adds(out, ". Copy the text as the file has it.");
}

static void show_place(const struct wanted *w, struct str rest, size_t number,
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

static bool find_place(struct wanted *w, struct str file, struct buf *out)
{
	size_t number = 1;
	struct str have = { 0 };
	struct str line;
	size_t which = 0;

	for (; file.len && w->work > FOLD_COST; number++) {
		if (matches_here(w, file, &have, &which)) {
			show_place(w, file, number, out);
			explain_difference(have, w->raw[which], out);
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
	w->ends = str_ends(text, "\n");
	while (text.len && file.len <= FILE_BYTES && w->n < TEXT_LINES &&
	       str_split(&text, '\n', &w->raw[w->n])) {
		fold_line(w->raw[w->n], &w->lines[w->n]);
		any |= w->lines[w->n].text.len > 0;
		w->n++;
	}
	if (any && !text.len)
		found = find_place(w, file, out);
	for (size_t i = 0; i < w->n; i++)
		release_folded(&w->lines[i]);
	free(w);
	return found;
}

enum { AS_SENT, WITH_CRLF, WITH_LF, WITH_CR, FORMS };

/* The new text, once for each kind of line ends. */
struct insertion {
	struct buf forms[FORMS];
	/* insert the new text as sent, because the old text contained a CR */
	bool exact;
	/* 1: the old text begins with a LF that the file keeps, because the new
	 * one begins with a line end, too, which the forms do not have; else
	 * 0 */
	size_t kept;
};

static void convert_line_ends(struct buf *out, struct str s, int form)
{
	for (size_t i = 0; i < s.len; i++) {
		bool pair = s.ptr[i] == '\r' && i + 1 < s.len &&
			    s.ptr[i + 1] == '\n';

		if (form != AS_SENT && pair)
			continue;
		if (form == WITH_CRLF && s.ptr[i] == '\n')
			buf_addc(out, '\r');
		buf_addc(out,
			 form == WITH_CR && s.ptr[i] == '\n' ? '\r' : s.ptr[i]);
	}
}

/* Returns the kind of line end that the line at offset at has. A last line
 * without one gets the kind of the line before. AS_SENT: the file has no line
 * ends. */
static int line_ends_at(struct str file, size_t at)
{
	size_t end = at + str_find(str_skip(file, at), '\n');

	if (end == file.len) {
		const char *last = at ? memrchr(file.ptr, '\n', at) : NULL;

		if (!last)
			return str_find(file, '\r') < file.len ? WITH_CR
							       : AS_SENT;
		end = (size_t)(last - file.ptr);
	}
	return end && file.ptr[end - 1] == '\r' ? WITH_CRLF : WITH_LF;
}

/* Counts occurrences from the left without overlap. */
static int64_t count_occurrences(struct str file, struct str old)
{
	int64_t n = 0;

	for (;;) {
		size_t at = str_search(file, old);

		if (at >= file.len)
			return n;
		n++;
		file = str_skip(file, at + old.len);
	}
}

static struct str form_at(const struct insertion *new, struct str file,
			  size_t at)
{
	int form = new->exact ? AS_SENT : line_ends_at(file, at);

	return buf_str(&new->forms[form]);
}

static void replace_all(struct str file, struct str old,
			const struct insertion *new, struct edit_change *change)
{
	size_t from = 0;

	for (int64_t i = 0; i < change->count; i++) {
		size_t at = from + str_search(str_skip(file, from), old);
		/* The old text starts with LF but the file has CR LF there:
		 * replace the CR too. */
		size_t half = !new->exact && !new->kept &&old.ptr[0] == '\n' &&
			      at > from &&file.ptr[at - 1] == '\r';
		size_t begins = at + new->kept - half;

		if (i == 0)
			change->head = begins;
		else
			buf_add(&change->middle, file.ptr + from,
				begins - from);
		buf_addstr(&change->middle, form_at(new, file, at + new->kept));
		from = at + old.len;
	}
	change->tail = file.len - from;
}

/* For an empty old text: inserts the new one before every character and at the
 * end. */
static void insert_between(struct str file, const struct insertion *new,
			   struct edit_change *change)
{
	struct str text = form_at(new, file, 0);

	buf_addstr(&change->middle, text);
	while (file.len && !change->middle.over) {
		size_t len = str_char_offset(file, 1);

		buf_add(&change->middle, file.ptr, len);
		buf_addstr(&change->middle, text);
		file = str_skip(file, len);
	}
}

static bool ends_with(struct str s, struct str with)
{
	return s.len >= with.len && str_eq(str_skip(s, s.len - with.len), with);
}

/* Sets a hint if old, without its newline at the end, is the end of the file,
 * and the file has no newline there: the most common reason why a text is not
 * found. */
static int suggest_form(struct str file, struct str old, struct error *err)
{
	struct str stripped = old;
	int64_t n;

	if (old.len && old.ptr[old.len - 1] == '\n')
		stripped.len--;
	if (stripped.len && stripped.len < old.len &&
	    stripped.ptr[stripped.len - 1] == '\r')
		stripped.len--;
	if (!stripped.len || stripped.len == old.len ||
	    !ends_with(file, stripped))
		return -1;
	n = count_occurrences(file, stripped);
	if (n > 1)
		return error_hint(
			err,
			"old_string ends with a newline, but the file does not "
			"end with a newline. Without it the text occurs "
			"%" PRId64
			" times: remove the trailing newline and add "
			"surrounding context.",
			n);
	return error_hint(
		err,
		"old_string ends with a newline, but the file does not end "
		"with a newline. Retry with the trailing newline removed "
		"from old_string (and from new_string if it also ends "
		"with a newline).");
}

static int set_not_found(struct str file, const struct buf olds[FORMS],
			 struct buf *near, struct error *err)
{
	struct buf text = BUF_INIT(2 * near->max);

	error_set_case(err, ERR_REMOTE, CASE_STRING_NOT_FOUND,
		       "string_not_found");
	for (int form = AS_SENT; form < FORMS && !err->hint[0]; form++)
		suggest_form(file, buf_str(&olds[form]), err);
	if (!err->hint[0] && near_miss(file, buf_str(&olds[WITH_LF]), &text))
		buf_addstr(near, buf_str(&text));
	buf_release(&text);
	return -1;
}

static bool may_match(struct str file, int form)
{
	return form != WITH_CR || str_find(file, '\n') == file.len;
}

/* Searches for old with each form of line ends and replaces the first form that
 * occurs. */
static int apply_form(struct str file, const struct buf olds[FORMS],
		      struct str new, bool all, struct edit_change *change,
		      struct error *err)
{
	struct insertion in = { 0 };
	struct str old = { 0 };
	int form;

	for (form = AS_SENT; form < FORMS && !change->count; form++) {
		if (!may_match(file, form))
			continue;
		old = buf_str(&olds[form]);
		change->count = old.len ? count_occurrences(file, old)
					: (int64_t)str_chars(file) + 1;
	}
	if (!change->count)
		return set_not_found(file, olds, &change->near, err);
	if (change->count > 1 && !all)
		return error_set_case(err, ERR_REMOTE,
				      CASE_MULTIPLE_OCCURRENCES,
				      "multiple_occurrences");
	in.exact = form - 1 == AS_SENT && str_find(old, '\r') < old.len;
	if (!in.exact && str_starts(old, "\n") &&
	    (str_starts(new, "\n") || str_starts(new, "\r\n"))) {
		in.kept = 1;
		new = str_skip(new, new.ptr[0] == '\r' ? 2 : 1);
	}
	for (form = AS_SENT; form < FORMS; form++) {
		in.forms[form] = BUF_INIT(change->middle.max);
		convert_line_ends(&in.forms[form], new, form);
		change->middle.over |= in.forms[form].over;
	}
	if (old.len)
		replace_all(file, old, &in, change);
	else
		insert_between(file, &in, change);
	for (form = AS_SENT; form < FORMS; form++)
		buf_release(&in.forms[form]);
	return buf_check(&change->middle, "the edited file", err);
}

int edit_match(struct str file, struct str old, struct str new, bool all,
	       struct edit_change *change, struct error *err)
{
	struct buf olds[FORMS];
	int rc;

	change->count = 0;
	change->head = 0;
	change->tail = 0;
	if (!str_is_utf8(file))
		return error_set_case(err, ERR_REMOTE, CASE_NOT_TEXT,
				      "not_a_text_file");
	for (int form = AS_SENT; form < FORMS; form++) {
		olds[form] = BUF_INIT(2 * old.len + 1);
		convert_line_ends(&olds[form], old, form);
	}
	rc = apply_form(file, olds, new, all, change, err);
	for (int form = AS_SENT; form < FORMS; form++)
		buf_release(&olds[form]);
	return rc;
}
