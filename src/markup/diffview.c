/* diffview.c - changes of a text as coloured rows. */
/* SPDX-License-Identifier: MIT */
#include "markup/diffview.h"

#include <stdio.h>

#include "markup/diff_lines.h"
#include "term/rows.h"

struct drawing {
	const struct diffview *d;
	struct str old_rest; /* from the next line on */
	struct str new_rest;
	size_t old_line; /* number of the next line, from 1 */
	size_t new_line;
	int digits;
	struct rows *out;
};

/* Where two lines differ: bytes that both begin and end with, cut between
 * words. */
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

/* Whether a cut at i goes through a word. */
static bool in_word(struct str s, size_t i)
{
	return i > 0 && i < s.len && is_word(s.ptr[i - 1]) && is_word(s.ptr[i]);
}

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

/* Appends one line behind its number and sign. */
static void add_line(struct drawing *p, size_t number, char sign,
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

static void add_plain_line(struct drawing *p, size_t number, char sign,
			   struct style style, struct str line)
{
	struct rows text = { 0 };

	rows_add(&text, style, line);
	rows_end(&text);
	add_line(p, number, sign, style, &text);
	rows_release(&text);
}

/* The same of a line with another in its place. */
static void add_changed_line(struct drawing *p, size_t number, char sign,
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
	add_line(p, number, sign, style, &text);
	rows_release(&text);
}

static void add_fold(struct drawing *p, size_t lines)
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

/* Lines that both have: those next to a change, the others folded. */
static void add_same(struct drawing *p, size_t n, bool begin, bool end)
{
	size_t head = begin ? 0 : DIFFVIEW_CONTEXT;
	size_t tail = end ? 0 : DIFFVIEW_CONTEXT;
	bool fold = n > head + tail + 1;

	for (size_t i = 0; i < n; i++) {
		struct str line = next_line(&p->new_rest);

		next_line(&p->old_rest);
		if (fold && i == head)
			add_fold(p, n - head - tail);
		if (!fold || i < head || i >= n - tail)
			add_plain_line(p, p->new_line, ' ', plain, line);
		p->old_line++;
		p->new_line++;
	}
}

/* Lines in the place of as many others are compared one by one. */
static void add_change(struct drawing *p, const struct diff_step *step)
{
	bool pairs = step->n_old == step->n_new;
	struct str ahead = p->new_rest;
	struct str back = p->old_rest;

	for (size_t i = 0; i < step->n_old; i++) {
		struct str line = next_line(&p->old_rest);
		struct str other = next_line(&ahead);

		if (pairs)
			add_changed_line(p, p->old_line++, '-', line,
					 find_difference(line, other));
		else
			add_plain_line(p, p->old_line++, '-', removed, line);
	}
	for (size_t i = 0; i < step->n_new; i++) {
		struct str line = next_line(&p->new_rest);
		struct str other = next_line(&back);

		if (pairs)
			add_changed_line(p, p->new_line++, '+', line,
					 find_difference(other, line));
		else
			add_plain_line(p, p->new_line++, '+', added, line);
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

		add_same(&p, step->same, begin, i + 1 == steps.n);
		add_change(&p, step);
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
