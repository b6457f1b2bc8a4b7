/* wrap.c - rows cut to the width of the screen. */
/* SPDX-License-Identifier: MIT */
#include "term/wrap.h"

#include "base/str.h"
#include "term/width.h"

/* A row that is being cut: what is left of it. */
struct remainder {
	const struct rows *in;
	struct str bytes;
	const struct span *span;
	size_t used; /* bytes of *span that are out */
};

/* Bytes for the next row of so many cells; *skip: the blanks after them that
 * the cut takes the place of. */
static size_t find_cut(struct str s, size_t cells, bool words, size_t *skip)
{
	size_t most = width_prefix(s, cells);
	size_t cut;
	size_t wide;

	*skip = 0;
	if (!most) /* one cluster that is wider than the row */
		return width_next(s, &wide);
	if (most == s.len || !words)
		return most;
	for (cut = most; cut && s.ptr[cut] != ' ';)
		cut--;
	/* Blanks that the text begins with are its indentation, no gap. */
	while (cut && s.ptr[cut - 1] == ' ')
		cut--;
	if (!cut)
		return most;
	while (cut + *skip < s.len && s.ptr[cut + *skip] == ' ')
		++*skip;
	return cut;
}

/* Moves n bytes to out, or drops them when it is NULL. */
static void consume(struct remainder *r, size_t n, struct rows *out)
{
	while (n) {
		size_t len = r->span->len - r->used;

		if (len > n)
			len = n;
		if (out)
			rows_add_span(out, r->in, r->span,
				      (struct str){ r->bytes.ptr, len });
		r->bytes = str_skip(r->bytes, len);
		r->used += len;
		n -= len;
		if (r->used == r->span->len) {
			r->span++;
			r->used = 0;
		}
	}
}

void wrap_row(const struct rows *in, size_t i, const struct wrap *w,
	      struct rows *out)
{
	struct row_view v = rows_view(in, i);
	struct remainder r = { in, v.bytes, v.spans, 0 };
	size_t columns = w->columns ? w->columns : 1;
	bool first = true;

	rows_close(out);
	do {
		struct str text = first ? w->first.text : w->rest.text;
		size_t taken = width_cells(text);
		size_t skip;
		size_t n;

		if (taken && taken + 2 <= columns)
			rows_add(out, first ? w->first.style : w->rest.style,
				 text);
		else
			taken = 0;
		n = find_cut(r.bytes, columns - taken, w->words, &skip);
		consume(&r, n, out);
		consume(&r, skip, NULL);
		rows_end(out);
		first = false;
	} while (r.bytes.len);
}

void wrap_rows(const struct rows *in, const struct wrap *w, struct rows *out)
{
	for (size_t i = 0; i < in->n; i++)
		wrap_row(in, i, w, out);
}
