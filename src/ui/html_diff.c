/* html_diff.c - changes of files, coloured by line. */
/* SPDX-License-Identifier: MIT */
#include "ui/html_diff.h"

enum { CONTEXT = 3 }; /* lines around an edit */

bool html_diff_is(struct str text)
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

/* NULL: context. A hunk's own lines may look like a head ("--- "). */
static const char *line_class(struct str line, bool *in_hunk)
{
	if (str_starts(line, "@@ ")) {
		*in_hunk = true;
		return "at";
	}
	if (str_starts(line, "diff "))
		*in_hunk = false;
	if (!*in_hunk &&
	    (str_starts(line, "+++ ") || str_starts(line, "--- ") ||
	     !(line.len && (line.ptr[0] == '+' || line.ptr[0] == '-'))))
		return "head";
	if (str_starts(line, "+"))
		return "add";
	return str_starts(line, "-") ? "del" : NULL;
}

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
		add_line(h, line_class(line, &in_hunk), 0, line);
	html_markup(h, "</pre>\n");
	buf_release(&masked);
}

/* Bytes of the lines that both begin with. */
static size_t same_head(struct str a, struct str b)
{
	size_t least = a.len < b.len ? a.len : b.len;
	size_t same = 0;

	for (size_t i = 0; i < least && a.ptr[i] == b.ptr[i]; i++)
		if (a.ptr[i] == '\n')
			same = i + 1;
	return same;
}

/* Bytes of the whole lines that both end with, in what is left of them. */
static size_t same_tail(struct str a, struct str b)
{
	size_t least = a.len < b.len ? a.len : b.len;
	struct str longer = a.len > b.len ? a : b;
	size_t same = 0;
	size_t i = 1;

	for (; i <= least && a.ptr[a.len - i] == b.ptr[b.len - i]; i++)
		if (a.ptr[a.len - i] == '\n')
			same = i - 1;
	/* All of the shorter one, where a line of the longer begins. */
	if (i > least && i <= longer.len && longer.ptr[longer.len - i] == '\n')
		same = least;
	return same;
}

static size_t count_lines(struct str text)
{
	struct str line;
	size_t n = 0;

	while (str_split(&text, '\n', &line))
		n++;
	return n;
}

static void add_lines(struct html *h, const char *class, char sign,
		      struct str text)
{
	struct str line;

	while (str_split(&text, '\n', &line))
		add_line(h, class, sign, line);
}

/* The last lines of what comes before an edit, or the first behind it. */
static void add_context(struct html *h, struct str text, bool last)
{
	size_t lines = count_lines(text);
	struct str line;

	for (size_t i = 0; str_split(&text, '\n', &line); i++)
		if (last ? i + CONTEXT >= lines : i < CONTEXT)
			add_line(h, NULL, ' ', line);
}

void html_diff_edit(struct html *h, struct str before, struct str after)
{
	struct buf old = BUF_INIT(SIZE_MAX / 4);
	struct buf new = BUF_INIT(SIZE_MAX / 4);
	struct str a;
	struct str b;
	size_t head;
	size_t tail;

	mask_text(h->mask, before, &old);
	mask_text(h->mask, after, &new);
	a = buf_str(&old);
	b = buf_str(&new);
	head = same_head(a, b);
	tail = same_tail(str_skip(a, head), str_skip(b, head));
	html_markup(h, "<pre class=\"diff\">");
	add_context(h, (struct str){ a.ptr, head }, true);
	add_lines(h, "del", '-',
		  (struct str){ a.ptr + head, a.len - head - tail });
	add_lines(h, "add", '+',
		  (struct str){ b.ptr + head, b.len - head - tail });
	add_context(h, str_skip(a, a.len - tail), false);
	html_markup(h, "</pre>\n");
	buf_release(&old);
	buf_release(&new);
}
