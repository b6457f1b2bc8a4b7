/* diff_text.c - what changes of a text, as lines behind a sign. */
/* SPDX-License-Identifier: MIT */
#include "markup/diff_text.h"

#include "base/str.h"
#include "markup/diff_lines.h"
#include "markup/diffview.h"

struct writing {
	struct str old_rest; /* from the next line on */
	struct str new_rest;
	size_t line; /* of the new text, from 1 */
	struct buf *out;
};

static void add_line(struct buf *out, char sign, struct str line)
{
	if (out->len)
		buf_addc(out, '\n');
	buf_addc(out, sign);
	buf_addstr(out, line);
}

static void begin_hunk(struct writing *w)
{
	if (w->out->len)
		buf_addc(w->out, '\n');
	buf_addf(w->out, "@@ line %zu @@", w->line);
}

/* Lines that both have: those next to a change. */
static void add_same(struct writing *w, size_t n, bool begin, bool end)
{
	size_t head = begin ? 0 : DIFFVIEW_CONTEXT;
	size_t tail = end ? 0 : DIFFVIEW_CONTEXT;
	bool fold = n > head + tail;
	struct str line;

	for (size_t i = 0; i < n; i++) {
		(void)str_split(&w->old_rest, '\n', &line);
		(void)str_split(&w->new_rest, '\n', &line);
		if (!end && (fold ? i == n - tail : begin && i == 0))
			begin_hunk(w);
		if (!fold || i < head || i >= n - tail)
			add_line(w->out, ' ', line);
		w->line++;
	}
	if (begin && !end && !n)
		begin_hunk(w);
}

static void add_step(struct writing *w, const struct diff_step *step)
{
	struct str line;

	for (size_t i = 0; i < step->n_old; i++) {
		(void)str_split(&w->old_rest, '\n', &line);
		add_line(w->out, '-', line);
	}
	for (size_t i = 0; i < step->n_new; i++, w->line++) {
		(void)str_split(&w->new_rest, '\n', &line);
		add_line(w->out, '+', line);
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
			add_same(&w, step->same, begin, end);
		add_step(&w, step);
		begin = begin && end;
	}
	diff_steps_release(&steps);
	if (old_text.len && new_text.len &&
	    str_ends(old_text, "\n") != str_ends(new_text, "\n"))
		add_line(out, '\\',
			 str_of(str_ends(new_text, "\n")
					? " a line break is added at the end"
					: " the last line break is removed"));
}
