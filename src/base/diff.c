/* diff.c - compares two texts by line, and two versions of a line by word. */
/* SPDX-License-Identifier: MIT */
/*
 * Begin reading at diff_lines(), which searches the shortest edit script
 * (Myers, "An O(ND) Difference Algorithm"). diff_text() writes the result as
 * text. word_diff_lines() leaves out the common beginning and end, and compares
 * the words between them with the classic table of the longest common
 * subsequence.
 */
#include "base/diff.h"

#include <stdint.h>
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

enum {
	WORDS_MOST = 64,     /* words compared one by one, in each line */
	PART_MOST = 8 << 10, /* bytes of these words */
	/* Lines with less in common, in percent of the longer one, are not
	   versions of one line. */
	LEAST_COMMON = 25,
};

/* The words of the part of a line that differs. */
struct word_part {
	struct str line;
	size_t from, to; /* the part, in bytes of the line */
	size_t n;
	size_t begin[WORDS_MOST + 1]; /* offsets in the line; the last is the
					 end of the last word */
	bool differs[WORDS_MOST];
};

static bool is_word(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
	       (c >= 'A' && c <= 'Z') || c == '_' || (unsigned char)c >= 0x80;
}

/* True if position i is inside a word. */
static bool is_inside_word(struct str s, size_t i)
{
	return i > 0 && i < s.len && is_word(s.ptr[i - 1]) && is_word(s.ptr[i]);
}

/* Sets the parts that differ: without the common beginning and end, but with
 * whole words. */
static void set_parts(struct word_part *a, struct word_part *b)
{
	struct str x = a->line;
	struct str y = b->line;
	size_t least = x.len < y.len ? x.len : y.len;
	size_t head = 0;
	size_t tail = 0;

	while (head < least && x.ptr[head] == y.ptr[head])
		head++;
	while (head && (is_inside_word(x, head) || is_inside_word(y, head)))
		head--;
	while (tail < least - head &&
	       x.ptr[x.len - tail - 1] == y.ptr[y.len - tail - 1])
		tail++;
	while (tail && (is_inside_word(x, x.len - tail) ||
			is_inside_word(y, y.len - tail)))
		tail--;
	a->from = b->from = head;
	a->to = x.len - tail;
	b->to = y.len - tail;
}

/* Returns the length of the first word, run of spaces or sign of s. */
static size_t word_length(struct str s)
{
	size_t n = 1;

	if (is_word(s.ptr[0]))
		while (n < s.len && is_word(s.ptr[n]))
			n++;
	else if (s.ptr[0] == ' ')
		while (n < s.len && s.ptr[n] == ' ')
			n++;
	return n;
}

/* Splits the part. Returns false if it is too long. */
static bool split_part(struct word_part *w)
{
	size_t at = w->from;

	if (w->to - w->from > PART_MOST)
		return false;
	for (w->n = 0; at < w->to; w->n++) {
		if (w->n == WORDS_MOST)
			return false;
		w->begin[w->n] = at;
		w->differs[w->n] = true;
		at += word_length((struct str){ w->line.ptr + at, w->to - at });
	}
	w->begin[w->n] = at;
	return true;
}

static struct str get_word(const struct word_part *w, size_t i)
{
	return (struct str){ w->line.ptr + w->begin[i],
			     w->begin[i + 1] - w->begin[i] };
}

/* Unmarks the words that both parts have in common, in this order. */
static void unmark_common(struct word_part *a, struct word_part *b)
{
	/* longest[i][j]: most common words of a from word i on and of b from
	 * word j on. */
	static _Thread_local uint8_t longest[WORDS_MOST + 1][WORDS_MOST + 1];
	size_t i;
	size_t j;

	memset(longest, 0, sizeof(longest));
	for (i = a->n; i-- > 0;) {
		for (j = b->n; j-- > 0;) {
			uint8_t down = longest[i + 1][j];
			uint8_t right = longest[i][j + 1];

			if (str_eq(get_word(a, i), get_word(b, j)))
				longest[i][j] =
					(uint8_t)(longest[i + 1][j + 1] + 1);
			else
				longest[i][j] = down > right ? down : right;
		}
	}
	for (i = j = 0; i < a->n && j < b->n;) {
		if (str_eq(get_word(a, i), get_word(b, j)))
			a->differs[i++] = b->differs[j++] = false;
		else if (longest[i + 1][j] >= longest[i][j + 1])
			i++;
		else
			j++;
	}
}

static bool is_blank(struct str s)
{
	return s.len && s.ptr[0] == ' ';
}

/* Marks a common space between two words that differ, so that a replaced
 * phrase is one range. */
static void join_phrases(struct word_part *w)
{
	for (size_t i = 1; i + 1 < w->n; i++)
		if (w->differs[i - 1] && w->differs[i + 1] &&
		    is_blank(get_word(w, i)))
			w->differs[i] = true;
}

static void add_range(struct word_ranges *r, size_t begin, size_t end)
{
	if (begin == end)
		return;
	if (r->n &&
	    (r->items[r->n - 1].end == begin || r->n == WORD_DIFF_RANGES)) {
		r->items[r->n - 1].end = end;
		return;
	}
	r->items[r->n].begin = begin;
	r->items[r->n++].end = end;
}

static void add_ranges(const struct word_part *w, struct word_ranges *r)
{
	for (size_t i = 0; i < w->n; i++)
		if (w->differs[i])
			add_range(r, w->begin[i], w->begin[i + 1]);
}

static size_t count_visible(struct str s)
{
	size_t n = 0;

	for (size_t i = 0; i < s.len; i++)
		n += s.ptr[i] != ' ';
	return n;
}

static size_t count_differing(struct str line, const struct word_ranges *r)
{
	size_t n = 0;

	for (size_t i = 0; i < r->n; i++)
		n += count_visible(
			(struct str){ line.ptr + r->items[i].begin,
				      r->items[i].end - r->items[i].begin });
	return n;
}

/* True if enough of both lines is common. */
static bool are_versions(struct str a, const struct word_ranges *in_a,
			 struct str b, const struct word_ranges *in_b)
{
	size_t all_a = count_visible(a);
	size_t all_b = count_visible(b);
	size_t same_a = all_a - count_differing(a, in_a);
	size_t same_b = all_b - count_differing(b, in_b);
	size_t same = same_a < same_b ? same_a : same_b;
	size_t all = all_a > all_b ? all_a : all_b;

	return same * 100 >= all * LEAST_COMMON;
}

bool word_diff_lines(struct str old_line, struct str new_line,
		     struct word_ranges *removed, struct word_ranges *added)
{
	struct word_part a = { .line = old_line };
	struct word_part b = { .line = new_line };

	*removed = *added = (struct word_ranges){ 0 };
	set_parts(&a, &b);
	if (split_part(&a) && split_part(&b)) {
		unmark_common(&a, &b);
		join_phrases(&a);
		join_phrases(&b);
		add_ranges(&a, removed);
		add_ranges(&b, added);
	} else {
		add_range(removed, a.from, a.to);
		add_range(added, b.from, b.to);
	}
	if (are_versions(old_line, removed, new_line, added))
		return true;
	*removed = *added = (struct word_ranges){ 0 };
	return false;
}
