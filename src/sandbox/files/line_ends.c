/* line_ends.c - the line ends of a text that is replaced as a whole. */
/* SPDX-License-Identifier: MIT */
#include "sandbox/files/line_ends.h"

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

/* The line end that a text begins with; KINDS for none. */
static int kind_of(struct str s)
{
	if (str_starts(s, "\r\n"))
		return CRLF;
	if (str_starts(s, "\n"))
		return LF;
	return str_starts(s, "\r") ? CR : KINDS;
}

/* Those that most lines have; KINDS where there are none. A CR alone counts
 * only in a text that has no other line ends. */
static int most(struct str s)
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

/* A text without the line end at its end; false: it has none. */
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
	int kind = most(old);
	struct str rest;
	bool changed = false;
	bool had;
	bool has;

	if (str_starts(text, "\xEF\xBB\xBF"))
		text = str_skip(text, 3);
	rest = text;
	has = strip_end(&rest);
	had = strip_end(&old);
	if (!text.len)
		return;
	while (rest.len) {
		int now = kind_of(rest);
		size_t len = now == CRLF ? 2 : 1;

		/* A CR that ends no line of such a file is a character. */
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
