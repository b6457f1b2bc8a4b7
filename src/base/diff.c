/* diff.c - compares two texts by line, and writes the difference as text. */
/* SPDX-License-Identifier: MIT */
/*
 * Begin reading at diff_lines(), which searches the shortest edit script
 * (Myers, "An O(ND) Difference Algorithm"). diff_text() writes the result as
 * text.
 */
#include "base/diff.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"

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

/* Reads n lines that both texts have. Writes those within DIFF_CONTEXT_LINES
 * lines of a change. begin: no change precedes the lines, because the texts
 * begin with them; end: none follows. */
static void write_same(struct writing *w, size_t n, bool begin, bool end)
{
	size_t head = begin ? 0 : DIFF_CONTEXT_LINES;
	size_t tail = end ? 0 : DIFF_CONTEXT_LINES;
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

void diff_store(struct str old_text, struct str new_text, struct buf *out)
{
	struct writing end = { .line = str_count_lines(new_text) + 1,
			       .out = out };

	diff_text(old_text, new_text, out);
	if (out->len || old_text.len)
		write_hunk(&end);
}

void diff_count(struct str old_text, struct str new_text, size_t *added,
		size_t *removed)
{
	struct diff_steps steps = { 0 };

	*added = *removed = 0;
	diff_lines(old_text, new_text, &steps);
	for (size_t i = 0; i < steps.n; i++) {
		*added += steps.items[i].n_new;
		*removed += steps.items[i].n_old;
	}
	diff_steps_release(&steps);
}

void diff_count_stored(struct str stored, size_t *added, size_t *removed)
{
	struct str line;

	*added = *removed = 0;
	while (str_split(&stored, '\n', &line)) {
		*added += str_starts(line, "+");
		*removed += str_starts(line, "-");
	}
}
