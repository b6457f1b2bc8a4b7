/* question_change.c - colours the difference that a question shows. */
/* SPDX-License-Identifier: MIT */
/*
 * question_render() has wrapped the lines, and a renderer of differences needs
 * them whole. So the pieces are joined, drawn, and cut at the same places
 * again. Begin reading at question_change_render().
 */
#include "ui/question_change.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "markup/diffview.h"
#include "ui/question.h"

/* A row of the question: a line of the difference, or a piece of one. */
struct change_piece {
	struct str prefix; /* of question_render() */
	struct str text;
	bool goes_on; /* the line that began in an earlier row */
};

struct pieces {
	struct change_piece *items; /* owned */
	size_t n;
	size_t room;
};

static const struct style plain = { 0 };

static const struct style muted = { .role = STYLE_MUTED };

static void add_piece(struct pieces *p, struct str row, size_t prefix,
		      bool goes_on)
{
	if (p->n == p->room) {
		p->room = p->room ? 2 * p->room : 64;
		p->items = xrealloc(p->items, p->room, sizeof(*p->items));
	}
	p->items[p->n++] = (struct change_piece){ { row.ptr, prefix },
						  str_skip(row, prefix),
						  goes_on };
}

/* Returns the number of pieces of the line that begins with piece i. */
static size_t count_pieces(const struct pieces *p, size_t i)
{
	size_t n = 1;

	while (i + n < p->n && p->items[i + n].goes_on)
		n++;
	return n;
}

/* Joins the pieces of the line that begins with piece i. */
static void join_line(const struct pieces *p, size_t i, struct buf *out)
{
	size_t n = count_pieces(p, i);

	buf_clear(out);
	for (size_t k = 0; k < n; k++)
		buf_addstr(out, p->items[i + k].text);
}

/* Appends the bytes from..from + n of a row to the open row of out. */
static void copy_bytes(const struct rows *in, size_t row, size_t from, size_t n,
		       struct rows *out)
{
	struct row_view v = rows_view(in, row);
	size_t at = 0;

	for (size_t k = 0; k < v.n_spans && at < from + n; k++) {
		size_t end = at + v.spans[k].len;
		size_t begin = at < from ? from : at;
		size_t stop = end < from + n ? end : from + n;

		if (begin < stop)
			rows_add_span(out, in, &v.spans[k],
				      (struct str){ v.bytes.ptr + begin,
						    stop - begin });
		at = end;
	}
}

/* Draws the line that begins with piece i from its drawn row. The row has a
 * space after the sign that the question does not have. If it has other bytes
 * than the line, the line is added without colours. */
static void add_line(const struct pieces *p, size_t i, const struct rows *drawn,
		     size_t row, struct str line, struct rows *out)
{
	struct str bytes = rows_view(drawn, row).bytes;
	bool has_sign = line.len && line.ptr[0] != '@' && line.ptr[0] != '\\';
	size_t at = has_sign ? 2 : 0;
	size_t sign = has_sign ? 1 : 0;
	bool same = bytes.len >= at && bytes.len - at == line.len - sign &&
		    str_eq(str_skip(bytes, at), str_skip(line, sign));
	size_t n = count_pieces(p, i);

	for (size_t k = 0; k < n; k++) {
		struct change_piece *piece = &p->items[i + k];
		size_t len = piece->text.len;

		rows_add(out, muted, piece->prefix);
		if (!same) {
			rows_add(out, plain, piece->text);
		} else if (!k && has_sign && len) {
			copy_bytes(drawn, row, 0, 1, out);
			copy_bytes(drawn, row, at, len - 1, out);
			at += len - 1;
		} else {
			copy_bytes(drawn, row, at, len, out);
			at += len;
		}
		rows_end(out);
	}
}

/* Draws the lines so far and forgets them. */
static void draw_pieces(struct pieces *p, struct str path, struct rows *out)
{
	const struct diffview look = { .columns = SIZE_MAX, .path = path };
	struct diffview_stream view;
	struct buf line = BUF_INIT(ROWS_MAX_BYTES);
	struct rows drawn = { 0 };
	size_t row = 0;

	diffview_begin(&view, &look);
	for (size_t i = 0; i < p->n; i += count_pieces(p, i)) {
		join_line(p, i, &line);
		diffview_line(&view, buf_str(&line), &drawn);
	}
	diffview_end(&view, &drawn);
	for (size_t i = 0; i < p->n; i += count_pieces(p, i), row++) {
		join_line(p, i, &line);
		add_line(p, i, &drawn, row < drawn.n ? row : drawn.n - 1,
			 buf_str(&line), out);
	}
	p->n = 0;
	rows_release(&drawn);
	buf_release(&line);
}

/* True if the line is one of diff_text(), not a note of the question. */
static bool is_of_diff(struct str line)
{
	return line.len && strchr(" +-@\\", line.ptr[0]);
}

void question_change_render(struct str text, const char *label, struct str path,
			    struct rows *out)
{
	size_t first = strlen(label) + 4; /* "  label: " */
	struct pieces pieces = { 0 };
	struct str row;

	for (bool begins = true; str_split(&text, '\n', &row); begins = false) {
		size_t prefix = begins ? first : question_prefix(row);

		if (pieces.n && str_starts(row, QUESTION_WRAPPED)) {
			add_piece(&pieces, row, sizeof(QUESTION_WRAPPED) - 1,
				  true);
		} else if (row.len >= prefix && prefix &&
			   is_of_diff(str_skip(row, prefix))) {
			add_piece(&pieces, row, prefix, false);
		} else {
			draw_pieces(&pieces, path, out);
			rows_add(out, muted, row);
			rows_end(out);
		}
	}
	draw_pieces(&pieces, path, out);
	free(pieces.items);
}
