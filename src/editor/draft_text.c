/* draft_text.c - the text of a draft: a gap buffer, with markers for pastes. */
/* SPDX-License-Identifier: MIT */
#include "editor/draft_text.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"

enum { GAP_MIN = 1024 };

size_t gap_len(const struct gap *g)
{
	return g->cap - (g->end - g->start);
}

unsigned char gap_byte(const struct gap *g, size_t at)
{
	return (unsigned char)
		g->bytes[at < g->start ? at : at + g->end - g->start];
}

/* Moves the gap to position at. */
static void move_gap(struct gap *g, size_t at)
{
	size_t n;

	if (at < g->start) {
		n = g->start - at;
		memmove(g->bytes + g->end - n, g->bytes + at, n);
		g->start -= n;
		g->end -= n;
	} else if (at > g->start) {
		n = at - g->start;
		memmove(g->bytes + g->start, g->bytes + g->end, n);
		g->start += n;
		g->end += n;
	}
}

/* Enlarges the gap to at least need bytes. */
static void grow_gap(struct gap *g, size_t need)
{
	size_t tail = g->cap - g->end;
	size_t cap;

	if (g->end - g->start >= need)
		return;
	cap = g->cap + need + g->cap / 2 + GAP_MIN;
	g->bytes = xrealloc(g->bytes, cap, 1);
	memmove(g->bytes + cap - tail, g->bytes + g->end, tail);
	g->end = cap - tail;
	g->cap = cap;
}

void gap_replace(struct gap *g, size_t at, size_t len, struct str text)
{
	if (len || text.len)
		move_gap(g, at);
	g->end += len;
	if (!text.len)
		return;
	grow_gap(g, text.len);
	memcpy(g->bytes + g->start, text.ptr, text.len);
	g->start += text.len;
}

struct str gap_view(struct gap *g, size_t from, size_t to)
{
	if (from >= to)
		return (struct str){ 0 };
	if (from < g->start && to > g->start)
		move_gap(g, g->start - from < to - g->start ? from : to);
	if (from >= g->start)
		return (struct str){ g->bytes + g->end + from - g->start,
				     to - from };
	return (struct str){ g->bytes + from, to - from };
}

size_t gap_after_last(struct gap *g, size_t from, size_t to, char c)
{
	struct str s = gap_view(g, from, to);
	const char *at = s.len ? memrchr(s.ptr, c, s.len) : NULL;

	return at ? from + (size_t)(at - s.ptr) + 1 : from;
}

size_t gap_find(struct gap *g, size_t from, size_t to, char c)
{
	struct str s = gap_view(g, from, to);
	const char *at = s.len ? memchr(s.ptr, c, s.len) : NULL;

	return at ? from + (size_t)(at - s.ptr) : to;
}

void gap_release(struct gap *g)
{
	free(g->bytes);
	*g = (struct gap){ 0 };
}

/* True if all of the eight bytes are printable ASCII. */
static bool is_plain_word(const char *p)
{
	const uint64_t ones = UINT64_MAX / 255;
	uint64_t w;

	memcpy(&w, p, sizeof(w));
	/* For bytes below 0x80, the subtraction or addition changes the top bit
	 * if one of them is below 0x20, or is 0x7F. */
	return !((w | (w - ones * 0x20) | (w + ones)) & ones * 0x80);
}

/* True if s has a control character other than LF and tab, including the C1
 * controls. */
static bool has_control(struct str s)
{
	for (size_t i = 0; i < s.len; i++) {
		unsigned char c = (unsigned char)s.ptr[i];

		if (s.len - i > 8 && is_plain_word(s.ptr + i)) {
			i += 7;
			continue;
		}
		if ((c < 0x20 && c != '\n' && c != '\t') || c == 0x7F)
			return true;
		if (c == 0xC2 && i + 1 < s.len &&
		    (unsigned char)s.ptr[i + 1] < 0xA0)
			return true;
	}
	return false;
}

size_t pastes_clean_prefix(struct str bytes)
{
	bytes.len = str_utf8_prefix(bytes);
	return has_control(bytes) ? 0 : bytes.len;
}

bool pastes_is_clean(struct str bytes)
{
	return pastes_clean_prefix(bytes) == bytes.len;
}

static void write_mark(size_t number, char mark[PASTES_MARK])
{
	mark[0] = PASTES_LEAD;
	mark[1] = (char)(0x80 | (number >> 12 & 0x3F));
	mark[2] = (char)(0x80 | (number >> 6 & 0x3F));
	mark[3] = (char)(0x80 | (number & 0x3F));
}

void pastes_add(struct pastes *p, struct buf *bytes, bool clean,
		char mark[PASTES_MARK])
{
	struct str s = buf_str(bytes);
	struct paste *new;

	if (p->n == p->cap) {
		p->cap = p->cap ? p->cap * 2 : 8;
		p->items = xrealloc(p->items, p->cap, sizeof(*p->items));
	}
	new = &p->items[p->n];
	*new = (struct paste){ .len = s.len,
			       .lines = str_count_lines(s),
			       .utf8 = clean || str_is_utf8(s),
			       .clean = clean };
	new->bytes = buf_detach(bytes);
	write_mark(p->n++, mark);
}

bool pastes_find(const struct pastes *p, struct str bytes,
		 char mark[PASTES_MARK])
{
	size_t i = 0;

	while (i < p->n && (p->items[i].len != bytes.len ||
			    memcmp(p->items[i].bytes, bytes.ptr, bytes.len)))
		i++;
	if (i < p->n)
		write_mark(i, mark);
	return i < p->n;
}

size_t pastes_read_mark(struct str mark)
{
	const unsigned char *m = (const unsigned char *)mark.ptr;

	return (size_t)(m[1] & 0x3F) << 12 | (size_t)(m[2] & 0x3F) << 6 |
	       (m[3] & 0x3F);
}

static void add_size(size_t len, struct buf *out)
{
	if (len < 1000)
		buf_addf(out, "%zu B", len);
	else if (len < 1000000)
		buf_addf(out, "%zu kB", (len + 500) / 1000);
	else
		buf_addf(out, "%zu.%zu MB", len / 1000000, len / 100000 % 10);
}

void pastes_label(const struct pastes *p, size_t number, struct buf *out)
{
	const struct paste *paste = &p->items[number];

	buf_addf(out, "[Pasted #%zu: ", number + 1);
	if (paste->lines > 1)
		buf_addf(out, "%zu lines, ", paste->lines);
	add_size(paste->len, out);
	if (!paste->utf8)
		buf_adds(out, ", invalid UTF-8 sent as U+FFFD");
	else if (!paste->clean)
		buf_adds(out, ", with control characters");
	buf_addc(out, ']');
}

/* Appends a paste; each invalid byte becomes U+FFFD. */
static void add_utf8(const struct paste *paste, struct buf *out)
{
	struct str s = { paste->bytes, paste->len };

	while (!paste->utf8 && s.len) {
		size_t n = str_utf8_prefix(s);

		buf_add(out, s.ptr, n);
		s = str_skip(s, n);
		if (s.len)
			buf_adds(out, "\xEF\xBF\xBD");
		s = str_skip(s, 1);
	}
	buf_addstr(out, s);
}

void pastes_expand(const struct pastes *p, struct str text, struct buf *out)
{
	while (text.len) {
		size_t n = str_find(text, PASTES_LEAD);

		buf_add(out, text.ptr, n);
		text = str_skip(text, n);
		if (!text.len)
			return;
		add_utf8(&p->items[pastes_read_mark(text)], out);
		text = str_skip(text, PASTES_MARK);
	}
}

static void clear_pastes(struct pastes *p)
{
	for (size_t i = 0; i < p->n; i++)
		free(p->items[i].bytes);
	free(p->items);
	*p = (struct pastes){ 0 };
}

void pastes_retire(struct pastes *p, struct pastes *recent)
{
	for (size_t i = 0; recent && i < p->n; i++) {
		struct paste *from = &p->items[i];
		struct str bytes = { from->bytes, from->len };
		struct buf moved = BUF_INIT(PASTES_RECENT_BYTES);
		char mark[PASTES_MARK];

		if (!from->clean || !str_trim(bytes).len ||
		    bytes.len > PASTES_RECENT_BYTES ||
		    pastes_find(recent, bytes, mark))
			continue;
		if (recent->n == PASTES_RECENT) {
			free(recent->items[0].bytes);
			recent->n--;
			memmove(recent->items, recent->items + 1,
				recent->n * sizeof(*recent->items));
		}
		buf_addstr(&moved, bytes);
		pastes_add(recent, &moved, true, mark);
	}
	clear_pastes(p);
}

/* Returns where the first paste in text begins, and sets *found to it.
 * text.len: there is none. */
static size_t find_paste(const struct pastes *p, struct str text,
			 struct str *found)
{
	size_t first = text.len;

	*found = (struct str){ 0 };
	for (size_t i = 0; i < p->n; i++) {
		struct str paste = { p->items[i].bytes, p->items[i].len };
		size_t at = str_search(text, paste);

		if (at == text.len) {
			paste = str_trim(paste);
			at = str_search(text, paste);
		}
		if (at < first ||
		    (at == first && paste.len > found->len && at < text.len)) {
			first = at;
			*found = (struct str){ text.ptr + at, paste.len };
		}
	}
	return first;
}

void pastes_mark(struct pastes *p, const struct pastes *recent, struct str text,
		 struct buf *out)
{
	while (text.len) {
		struct buf paste = BUF_INIT(PASTES_RECENT_BYTES);
		char mark[PASTES_MARK];
		struct str found;
		size_t at = find_paste(recent, text, &found);

		buf_add(out, text.ptr, at);
		text = str_skip(text, at + found.len);
		if (!found.len)
			return;
		if (!pastes_find(p, found, mark)) {
			if (p->n == PASTES_MAX) {
				buf_addstr(out, found);
				continue;
			}
			buf_addstr(&paste, found);
			pastes_add(p, &paste, true, mark);
		}
		buf_add(out, mark, sizeof(mark));
	}
}
