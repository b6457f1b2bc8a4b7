/* diff.c - compares two texts by line; draws diffs as text or coloured rows. */
/* SPDX-License-Identifier: MIT */
/*
 * Begin reading at diff_lines(), which searches the shortest edit script
 * (Myers, "An O(ND) Difference Algorithm"). diff_text() writes the result as
 * text, diffview_render() draws it.
 */
#include "markup/diff.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "term/rows.h"

struct diff_text {
	struct str *items;
	size_t n;
};

/* The search of Myers 1986, "An O(ND) Difference Algorithm": how far each
 * diagonal reaches after each number of edits. All values are stored, because
 * mark_changes() needs them to find the way back. */
struct diff_search {
	struct diff_text a;
	struct diff_text b;
	long *reach; /* one row of 2 * DIFF_EDITS + 3 values for each number of
			edits */
};

enum { WIDTH = 2 * DIFF_EDITS + 3 };

enum diff_kind diff_line_kind(struct str line, bool *in_hunk)
{
	if (str_starts(line, "@@ ")) {
		*in_hunk = true;
		return DIFF_HUNK;
	}
	if (str_starts(line, "diff "))
		*in_hunk = false;
	if (!*in_hunk &&
	    (str_starts(line, "+++ ") || str_starts(line, "--- ") ||
	     !(line.len && (line.ptr[0] == '+' || line.ptr[0] == '-'))))
		return DIFF_HEAD;
	if (str_starts(line, "+"))
		return DIFF_ADDED;
	return str_starts(line, "-") ? DIFF_REMOVED : DIFF_CONTEXT;
}

bool diff_lines_are_unified(struct str text)
{
	static const char *const order[] = { "--- ", "+++ ", "@@ -" };
	size_t at = 0;
	struct str line;

	while (str_split(&text, '\n', &line)) {
		if (str_starts(line, order[at]))
			at++;
		else
			at = str_starts(line, order[0]) ? 1 : 0;
		if (at == sizeof(order) / sizeof(*order))
			return true;
	}
	return false;
}

static struct diff_text split_lines(struct str text)
{
	size_t room = 64;
	struct diff_text l = { xcalloc(room, sizeof(*l.items)), 0 };
	struct str line;

	while (str_split(&text, '\n', &line)) {
		if (l.n == room) {
			room *= 2;
			l.items = xrealloc(l.items, room, sizeof(*l.items));
		}
		l.items[l.n++] = line;
	}
	return l;
}

static void add_step(struct diff_steps *steps, struct diff_step step)
{
	steps->items =
		xrealloc(steps->items, steps->n + 1, sizeof(*steps->items));
	steps->items[steps->n++] = step;
}

static long *reach_of(struct diff_search *s, long edits)
{
	return s->reach + edits * WIDTH + DIFF_EDITS + 1;
}

/* True if the best path to diagonal k with this number of edits ends with an
 * added line. */
static bool ends_with_addition(const long *before, long k, long edits)
{
	return k == -edits || (k != edits && before[k - 1] < before[k + 1]);
}

/* Computes the row of reach for this number of edits. Returns true if it
 * reaches the end of both texts. */
static bool search_row(struct diff_search *s, long edits)
{
	long *now = reach_of(s, edits);
	const long *before = edits ? reach_of(s, edits - 1) : NULL;
	long n = (long)s->a.n;
	long m = (long)s->b.n;

	for (long k = -edits; k <= edits; k += 2) {
		long x = 0;

		if (edits)
			x = ends_with_addition(before, k, edits)
				    ? before[k + 1]
				    : before[k - 1] + 1;
		while (x < n && x - k < m && x - k >= 0 &&
		       str_eq(s->a.items[x], s->b.items[x - k]))
			x++;
		now[k] = x;
		if (x >= n && x - k >= m)
			return true;
	}
	return false;
}

/* Marks the changed lines, from the end to the beginning. */
static void mark_changes(struct diff_search *s, long edits, bool *removed,
			 bool *added)
{
	long x = (long)s->a.n;
	long k = x - (long)s->b.n;

	for (; edits; edits--) {
		const long *before = reach_of(s, edits - 1);

		if (ends_with_addition(before, k, edits)) {
			k++;
			x = before[k];
			added[x - k] = true;
		} else {
			k--;
			x = before[k];
			removed[x] = true;
		}
	}
}

/* Marks the lines that differ between a and b; all of them if there are too
 * many edits. */
static void find_changes(struct diff_search *s, bool *removed, bool *added)
{
	size_t most =
		s->a.n + s->b.n < DIFF_EDITS ? s->a.n + s->b.n : DIFF_EDITS;

	for (size_t edits = 0; edits <= most; edits++) {
		s->reach = xrealloc(s->reach, (edits + 1) * WIDTH,
				    sizeof(*s->reach));
		if (!search_row(s, (long)edits))
			continue;
		mark_changes(s, (long)edits, removed, added);
		return;
	}
	memset(removed, true, s->a.n);
	memset(added, true, s->b.n);
}

static size_t same_head(struct diff_text a, struct diff_text b)
{
	size_t n = 0;

	while (n < a.n && n < b.n && str_eq(a.items[n], b.items[n]))
		n++;
	return n;
}

static size_t same_tail(struct diff_text a, struct diff_text b)
{
	size_t n = 0;

	while (n < a.n && n < b.n &&
	       str_eq(a.items[a.n - n - 1], b.items[b.n - n - 1]))
		n++;
	return n;
}

/* Converts the marked lines to steps; head: common lines before them. */
static void add_steps(const struct diff_search *s, const bool *removed,
		      const bool *added, size_t head, struct diff_steps *steps)
{
	size_t i = 0;
	size_t j = 0;

	while (i < s->a.n || j < s->b.n) {
		struct diff_step step = { .same = head };

		head = 0;
		while (i < s->a.n && j < s->b.n && !removed[i] && !added[j])
			i++, j++, step.same++;
		while (i < s->a.n && removed[i])
			i++, step.n_old++;
		while (j < s->b.n && added[j])
			j++, step.n_new++;
		add_step(steps, step);
	}
	if (head)
		add_step(steps, (struct diff_step){ .same = head });
}

void diff_lines(struct str old_text, struct str new_text,
		struct diff_steps *steps)
{
	struct diff_text a = split_lines(old_text);
	struct diff_text b = split_lines(new_text);
	size_t head = same_head(a, b);
	struct diff_search s = { { a.items + head, a.n - head },
				 { b.items + head, b.n - head },
				 NULL };
	size_t tail = same_tail(s.a, s.b);
	bool *removed;
	bool *added;

	s.a.n -= tail;
	s.b.n -= tail;
	removed = xcalloc(s.a.n + 1, sizeof(*removed));
	added = xcalloc(s.b.n + 1, sizeof(*added));
	find_changes(&s, removed, added);
	add_steps(&s, removed, added, head, steps);
	add_step(steps, (struct diff_step){ .same = tail });
	free(removed);
	free(added);
	free(s.reach);
	free(a.items);
	free(b.items);
}

void diff_steps_release(struct diff_steps *steps)
{
	free(steps->items);
	*steps = (struct diff_steps){ 0 };
}

struct writing {
	struct str old_rest; /* unread part of the old text */
	struct str new_rest;
	size_t line; /* number of the next line in the new text, from 1 */
	struct buf *out;
};

static void write_line(struct buf *out, char sign, struct str line)
{
	if (out->len)
		buf_addc(out, '\n');
	buf_addc(out, sign);
	buf_addstr(out, line);
}

static void write_hunk(struct writing *w)
{
	if (w->out->len)
		buf_addc(w->out, '\n');
	buf_addf(w->out, "@@ line %zu @@", w->line);
}

/* Reads n lines that both texts have. Writes those within DIFFVIEW_CONTEXT
 * lines of a change. begin: no change precedes the lines, because the texts
 * begin with them; end: none follows. */
static void write_same(struct writing *w, size_t n, bool begin, bool end)
{
	size_t head = begin ? 0 : DIFFVIEW_CONTEXT;
	size_t tail = end ? 0 : DIFFVIEW_CONTEXT;
	bool fold = n > head + tail;
	struct str line;

	for (size_t i = 0; i < n; i++) {
		(void)str_split(&w->old_rest, '\n', &line);
		(void)str_split(&w->new_rest, '\n', &line);
		if (!end && (fold ? i == n - tail : begin && i == 0))
			write_hunk(w);
		if (!fold || i < head || i >= n - tail)
			write_line(w->out, ' ', line);
		w->line++;
	}
	if (begin && !end && !n)
		write_hunk(w);
}

static void write_step(struct writing *w, const struct diff_step *step)
{
	struct str line;

	for (size_t i = 0; i < step->n_old; i++) {
		(void)str_split(&w->old_rest, '\n', &line);
		write_line(w->out, '-', line);
	}
	for (size_t i = 0; i < step->n_new; i++, w->line++) {
		(void)str_split(&w->new_rest, '\n', &line);
		write_line(w->out, '+', line);
	}
}

void diff_text(struct str old_text, struct str new_text, struct buf *out)
{
	struct writing w = { old_text, new_text, 1, out };
	struct diff_steps steps = { 0 };
	bool begin = true;

	if (str_eq(old_text, new_text))
		return;
	diff_lines(old_text, new_text, &steps);
	for (size_t i = 0; i < steps.n; i++) {
		const struct diff_step *step = &steps.items[i];
		bool end = !step->n_old && !step->n_new;

		if (!begin || !end)
			write_same(&w, step->same, begin, end);
		write_step(&w, step);
		begin = begin && end;
	}
	diff_steps_release(&steps);
	if (old_text.len && new_text.len &&
	    str_ends(old_text, "\n") != str_ends(new_text, "\n"))
		write_line(out, '\\',
			   str_of(str_ends(new_text, "\n")
					  ? " a line break is added at the end"
					  : " the last line break is removed"));
}

struct drawing {
	const struct diffview *d;
	struct str old_rest; /* unread part of the old text */
	struct str new_rest;
	size_t old_line; /* number of the next line, from 1 */
	size_t new_line;
	int digits;
	struct rows *out;
};

/* The common beginning and end of two lines in bytes, cut between words. */
struct difference {
	size_t head;
	size_t tail;
};

static const struct style muted = { .role = STYLE_MUTED };

static const struct style plain = { .role = STYLE_PLAIN };

static const struct style added = { .role = STYLE_ADDED };

static const struct style removed = { .role = STYLE_REMOVED };

static bool is_word(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
	       (c >= 'A' && c <= 'Z') || c == '_' || (unsigned char)c >= 0x80;
}

/* True if position i is inside a word. */
static bool in_word(struct str s, size_t i)
{
	return i > 0 && i < s.len && is_word(s.ptr[i - 1]) && is_word(s.ptr[i]);
}

/* Finds the common beginning and end of two lines, without splitting words. */
static struct difference find_difference(struct str a, struct str b)
{
	size_t least = a.len < b.len ? a.len : b.len;
	struct difference d = { 0, 0 };

	while (d.head < least && a.ptr[d.head] == b.ptr[d.head])
		d.head++;
	while (d.head && (in_word(a, d.head) || in_word(b, d.head)))
		d.head--;
	while (d.tail < least - d.head &&
	       a.ptr[a.len - d.tail - 1] == b.ptr[b.len - d.tail - 1])
		d.tail++;
	while (d.tail &&
	       (in_word(a, a.len - d.tail) || in_word(b, b.len - d.tail)))
		d.tail--;
	return d;
}

static struct str next_line(struct str *rest)
{
	struct str line = { 0 };

	str_split(rest, '\n', &line);
	return line;
}

/* Appends a line after its number and sign. */
static void draw_line(struct drawing *p, size_t number, char sign,
		      struct style style, const struct rows *text)
{
	char first[48] = "";
	char rest[48] = "";
	struct wrap w = { .columns = p->d->columns };

	if (p->d->numbers)
		snprintf(first, sizeof(first), "%*zu %c ", p->digits, number,
			 sign);
	else
		snprintf(first, sizeof(first), "%c ", sign);
	snprintf(rest, sizeof(rest), "%*s", p->d->numbers ? p->digits + 3 : 2,
		 "");
	w.first.text = str_of(first);
	w.first.style = sign == ' ' ? muted : style;
	w.rest.text = str_of(rest);
	wrap_row(text, 0, &w, p->out);
}

static void draw_plain_line(struct drawing *p, size_t number, char sign,
			    struct style style, struct str line)
{
	struct rows text = { 0 };

	rows_add(&text, style, line);
	rows_end(&text);
	draw_line(p, number, sign, style, &text);
	rows_release(&text);
}

/* Draws a changed line; the words that differ are bold. */
static void draw_changed_line(struct drawing *p, size_t number, char sign,
			      struct str line, struct difference d)
{
	struct style style = sign == '+' ? added : removed;
	struct style strong = { ATTR_BOLD, style.role };
	struct rows text = { 0 };

	rows_add(&text, style, (struct str){ line.ptr, d.head });
	rows_add(&text, strong,
		 (struct str){ line.ptr + d.head, line.len - d.head - d.tail });
	rows_add(&text, style, str_skip(line, line.len - d.tail));
	rows_end(&text);
	draw_line(p, number, sign, style, &text);
	rows_release(&text);
}

static void draw_fold(struct drawing *p, size_t lines)
{
	struct wrap w = { .columns = p->d->columns };
	struct rows text = { 0 };
	char line[64];

	snprintf(line, sizeof(line), "%s %zu line%s",
		 theme_glyph(p->d->theme, GLYPH_ELLIPSIS), lines,
		 lines == 1 ? "" : "s");
	rows_adds(&text, muted, line);
	wrap_rows(&text, &w, p->out);
	rows_release(&text);
}

/* Draws n common lines: those next to a change, with a note in place of the
 * others. begin: no change precedes the lines; end: none follows. */
static void draw_same(struct drawing *p, size_t n, bool begin, bool end)
{
	size_t head = begin ? 0 : DIFFVIEW_CONTEXT;
	size_t tail = end ? 0 : DIFFVIEW_CONTEXT;
	bool fold = n > head + tail + 1;

	for (size_t i = 0; i < n; i++) {
		struct str line = next_line(&p->new_rest);

		next_line(&p->old_rest);
		if (fold && i == head)
			draw_fold(p, n - head - tail);
		if (!fold || i < head || i >= n - tail)
			draw_plain_line(p, p->new_line, ' ', plain, line);
		p->old_line++;
		p->new_line++;
	}
}

/* Draws a change. If as many lines were added as removed, compares them in
 * pairs, so that only the words that differ are bold. */
static void draw_change(struct drawing *p, const struct diff_step *step)
{
	bool pairs = step->n_old == step->n_new;
	struct str ahead = p->new_rest;
	struct str back = p->old_rest;

	for (size_t i = 0; i < step->n_old; i++) {
		struct str line = next_line(&p->old_rest);
		struct str other = next_line(&ahead);

		if (pairs)
			draw_changed_line(p, p->old_line++, '-', line,
					  find_difference(line, other));
		else
			draw_plain_line(p, p->old_line++, '-', removed, line);
	}
	for (size_t i = 0; i < step->n_new; i++) {
		struct str line = next_line(&p->new_rest);
		struct str other = next_line(&back);

		if (pairs)
			draw_changed_line(p, p->new_line++, '+', line,
					  find_difference(other, line));
		else
			draw_plain_line(p, p->new_line++, '+', added, line);
	}
}

static int count_digits(struct str a, struct str b)
{
	struct str text = a.len > b.len ? a : b;
	struct str line;
	size_t lines = 1;

	while (str_split(&text, '\n', &line))
		lines++;
	return snprintf(NULL, 0, "%zu", lines);
}

void diffview_render(const struct diffview *d, struct str old_text,
		     struct str new_text, struct rows *out)
{
	struct drawing p = { d, old_text, new_text, 1, 1, 1, out };
	struct diff_steps steps = { 0 };
	bool begin = true;

	p.digits = count_digits(old_text, new_text);
	diff_lines(old_text, new_text, &steps);
	for (size_t i = 0; i < steps.n; i++) {
		const struct diff_step *step = &steps.items[i];

		draw_same(&p, step->same, begin, i + 1 == steps.n);
		draw_change(&p, step);
		begin = false;
	}
	diff_steps_release(&steps);
}

void diffview_unified(const struct diffview *d, struct str text,
		      struct rows *out)
{
	static const struct style styles[] = {
		[DIFF_CONTEXT] = { .role = STYLE_PLAIN },
		[DIFF_ADDED] = { .role = STYLE_ADDED },
		[DIFF_REMOVED] = { .role = STYLE_REMOVED },
		[DIFF_HUNK] = { .role = STYLE_ACCENT },
		[DIFF_HEAD] = { .role = STYLE_MUTED },
	};
	struct wrap w = { .columns = d->columns };
	struct rows lines = { 0 };
	struct str line;
	bool in_hunk = false;

	while (str_split(&text, '\n', &line)) {
		rows_add(&lines, styles[diff_line_kind(line, &in_hunk)], line);
		rows_end(&lines);
	}
	wrap_rows(&lines, &w, out);
	rows_release(&lines);
}

void diffview_count(struct str old_text, struct str new_text, size_t *n_added,
		    size_t *n_removed)
{
	struct diff_steps steps = { 0 };

	*n_added = *n_removed = 0;
	diff_lines(old_text, new_text, &steps);
	for (size_t i = 0; i < steps.n; i++) {
		*n_added += steps.items[i].n_new;
		*n_removed += steps.items[i].n_old;
	}
	diff_steps_release(&steps);
}
