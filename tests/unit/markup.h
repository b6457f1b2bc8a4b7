/* markup.h - rows as text, with their styles marked up, for tests. */
/* SPDX-License-Identifier: MIT */
#ifndef UNIT_MARKUP_H
#define UNIT_MARKUP_H

#include "base/str.h"
#include "term/rows.h"

/* Lines of so many cells. */
#define BARS_2 "\xE2\x94\x80\xE2\x94\x80"
#define BARS_20                                                                \
	BARS_2 BARS_2 BARS_2 BARS_2 BARS_2 BARS_2 BARS_2 BARS_2 BARS_2 BARS_2
#define BARS_38                                                                \
	BARS_20 BARS_2 BARS_2 BARS_2 BARS_2 BARS_2 BARS_2 BARS_2 BARS_2 BARS_2
#define BARS_40 BARS_38 BARS_2

static const char *const style_names[N_STYLES] = {
	[STYLE_PLAIN] = "",          [STYLE_ACCENT] = "accent",
	[STYLE_MUTED] = "muted",     [STYLE_OK] = "ok",
	[STYLE_WARN] = "warn",       [STYLE_ERROR] = "error",
	[STYLE_CODE] = "code",       [STYLE_LINK] = "link",
	[STYLE_HEADING] = "head",    [STYLE_USER] = "user",
	[STYLE_TOOL] = "tool",       [STYLE_ADDED] = "added",
	[STYLE_REMOVED] = "removed", [STYLE_KEYWORD] = "keyword",
	[STYLE_STRING] = "string",   [STYLE_COMMENT] = "comment",
	[STYLE_NUMBER] = "number",
};

/* "{bold heading|text}" and "{link <address>|text}"; LF after each row. */
static void markup_row(const struct rows *r, size_t i, struct buf *out)
{
	static const char *const attrs[] = { "bold",      "dim",    "italic",
					     "underline", "strike", "reverse",
					     "on+",       "on-",    "lit" };
	struct row_view v = rows_view(r, i);

	for (size_t k = 0; k < v.n_spans; k++) {
		const struct span *s = &v.spans[k];
		bool plain = !s->style.attrs && !s->style.role && !s->link;
		const char *sep = "{";

		for (size_t a = 0; a < sizeof(attrs) / sizeof(*attrs); a++) {
			if (!(s->style.attrs & 1 << a))
				continue;
			buf_addf(out, "%s%s", sep, attrs[a]);
			sep = " ";
		}
		if (s->style.role)
			buf_addf(out, "%s%s", sep, style_names[s->style.role]);
		if (s->link)
			buf_addf(out, " <%s>", rows_link(r, s).ptr);
		buf_adds(out, plain ? "" : "|");
		buf_addstr(out, (struct str){ v.bytes.ptr, s->len });
		buf_adds(out, plain ? "" : "}");
		v.bytes = str_skip(v.bytes, s->len);
	}
	buf_addc(out, '\n');
}

/* Owned by the caller. */
static inline char *markup(const struct rows *r)
{
	struct buf out = BUF_INIT(64 << 20);

	for (size_t i = 0; i < r->n; i++)
		markup_row(r, i, &out);
	return buf_detach(&out);
}

/* The text alone. */
static inline char *rows_text(const struct rows *r)
{
	struct buf out = BUF_INIT(64 << 20);

	for (size_t i = 0; i < r->n; i++) {
		buf_addstr(&out, rows_view(r, i).bytes);
		buf_addc(&out, '\n');
	}
	return buf_detach(&out);
}

static inline size_t rows_widest(const struct rows *r)
{
	size_t most = 0;

	for (size_t i = 0; i < r->n; i++)
		if (rows_cells(r, i) > most)
			most = rows_cells(r, i);
	return most;
}

#endif
