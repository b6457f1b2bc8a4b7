/* html_diff.c - changes of files, coloured by line. */
/* SPDX-License-Identifier: MIT */
#include "ui/html_diff.h"

#include "markup/diff.h"

enum { CONTEXT = 3 }; /* lines around an edit */

static void add_line(struct html *h, const char *class, char sign,
		     struct str line)
{
	if (class)
		html_markupf(h, "<span class=\"%s\">", class);
	if (sign)
		buf_addc(&h->out, sign);
	html_escape(h, line);
	html_markup(h, class ? "</span>\n" : "\n");
}

static const char *const classes[] = {
	[DIFF_CONTEXT] = NULL, [DIFF_ADDED] = "add", [DIFF_REMOVED] = "del",
	[DIFF_HUNK] = "at",    [DIFF_HEAD] = "head",
};

void html_diff(struct html *h, struct str text)
{
	struct buf masked = BUF_INIT(SIZE_MAX / 4);
	struct str rest;
	struct str line;
	bool in_hunk = false;

	mask_text(h->mask, text, &masked);
	rest = buf_str(&masked);
	html_markup(h, "<pre class=\"diff\">");
	while (str_split(&rest, '\n', &line))
		add_line(h, classes[diff_line_kind(line, &in_hunk)], 0, line);
	html_markup(h, "</pre>\n");
	buf_release(&masked);
}

/* Lines that both texts have: those next to a change. */
static void add_same(struct html *h, struct str *old_rest, struct str *new_rest,
		     size_t n, bool begin, bool end)
{
	struct str line;

	for (size_t i = 0; i < n; i++) {
		str_split(old_rest, '\n', &line);
		str_split(new_rest, '\n', &line);
		if ((!begin && i < CONTEXT) || (!end && i + CONTEXT >= n))
			add_line(h, NULL, ' ', line);
	}
}

static void add_lines(struct html *h, enum diff_kind kind, struct str *rest,
		      size_t n)
{
	struct str line;

	while (n-- && str_split(rest, '\n', &line))
		add_line(h, classes[kind], kind == DIFF_ADDED ? '+' : '-',
			 line);
}

void html_diff_edit(struct html *h, struct str before, struct str after)
{
	struct buf old_text = BUF_INIT(SIZE_MAX / 4);
	struct buf new_text = BUF_INIT(SIZE_MAX / 4);
	struct diff_steps steps = { 0 };
	struct str old_rest;
	struct str new_rest;

	mask_text(h->mask, before, &old_text);
	mask_text(h->mask, after, &new_text);
	old_rest = buf_str(&old_text);
	new_rest = buf_str(&new_text);
	diff_lines(old_rest, new_rest, &steps);
	html_markup(h, "<pre class=\"diff\">");
	for (size_t i = 0; i < steps.n; i++) {
		add_same(h, &old_rest, &new_rest, steps.items[i].same, i == 0,
			 i + 1 == steps.n);
		add_lines(h, DIFF_REMOVED, &old_rest, steps.items[i].n_old);
		add_lines(h, DIFF_ADDED, &new_rest, steps.items[i].n_new);
	}
	html_markup(h, "</pre>\n");
	diff_steps_release(&steps);
	buf_release(&old_text);
	buf_release(&new_text);
}
