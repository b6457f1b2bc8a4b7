/* status.c - the line below the editor: model, sandbox, place, tokens. */
/* SPDX-License-Identifier: MIT */
#include "ui/status.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/str.h"
#include "term/width.h"

enum { MOST_PARTS = 10, PART_BYTES = 256, SOON_S = 300 };

struct status_part {
	char text[PART_BYTES];
	int weight; /* the lowest is left out first */
	uint8_t role;
};

struct status_line {
	struct status_part parts[MOST_PARTS];
	size_t n;
};

static void print_tokens(int64_t n, char out[16])
{
	if (n < 1000)
		snprintf(out, 16, "%" PRId64, n);
	else if (n < 1000000)
		snprintf(out, 16, "%.1fK", (double)n / 1e3);
	else
		snprintf(out, 16, "%.1fM", (double)n / 1e6);
}

static void add_part(struct status_line *l, int weight, uint8_t role,
		     const char *text)
{
	struct status_part *p = &l->parts[l->n];

	if (!text || !text[0] || l->n == MOST_PARTS)
		return;
	snprintf(p->text, sizeof(p->text), "%s", text);
	p->weight = weight;
	p->role = role;
	l->n++;
}

static void add_sandbox(struct status_line *l, const struct status *s)
{
	char text[PART_BYTES];
	char left[32] = "";

	if (!s->sandbox)
		return;
	if (s->left_s >= 3600)
		snprintf(left, sizeof(left), ", %" PRId64 " h left",
			 s->left_s / 3600);
	else if (s->left_s >= 0)
		snprintf(left, sizeof(left), ", %" PRId64 " min left",
			 s->left_s / 60);
	snprintf(text, sizeof(text), "%s%s%s%s", s->sandbox,
		 s->state ? ", " : "", s->state ? s->state : "", left);
	add_part(l, 8,
		 s->left_s >= 0 && s->left_s < SOON_S ? STYLE_WARN
						      : STYLE_MUTED,
		 text);
}

static void add_tokens(struct status_line *l, const struct status *s)
{
	char text[PART_BYTES];
	char one[16];
	char two[16];

	if (s->context) {
		print_tokens(s->context, one);
		if (s->window)
			snprintf(text, sizeof(text), "context %s, %d%%", one,
				 (int)(s->context * 100 / s->window));
		else
			snprintf(text, sizeof(text), "context %s", one);
		add_part(l, 5, STYLE_MUTED, text);
	}
	if (s->input || s->output) {
		print_tokens(s->input, one);
		print_tokens(s->output, two);
		snprintf(text, sizeof(text), "%s in, %s out", one, two);
		add_part(l, 3, STYLE_MUTED, text);
	}
}

static void collect(struct status_line *l, const struct status *s)
{
	char text[PART_BYTES];

	add_part(l, 10, STYLE_WARN, s->hint);
	if (s->queued) {
		snprintf(text, sizeof(text), "%zu queued", s->queued);
		add_part(l, 9, STYLE_ACCENT, text);
	}
	add_part(l, 7, STYLE_MUTED, s->mode);
	add_part(l, 6, STYLE_MUTED, s->model);
	add_sandbox(l, s);
	add_part(l, 4, STYLE_MUTED, s->directory);
	add_part(l, 2, STYLE_MUTED, s->branch);
	add_tokens(l, s);
}

static size_t cells_of(const struct status_line *l, const char *dot)
{
	size_t cells = 0;

	for (size_t i = 0; i < l->n; i++)
		cells += width_cells(str_of(l->parts[i].text)) +
			 (i ? width_cells(str_of(dot)) + 2 : 0);
	return cells;
}

static void drop_least(struct status_line *l)
{
	size_t least = 0;

	for (size_t i = 1; i < l->n; i++)
		if (l->parts[i].weight < l->parts[least].weight)
			least = i;
	for (size_t i = least + 1; i < l->n; i++)
		l->parts[i - 1] = l->parts[i];
	l->n--;
}

void status_render(const struct status *s, const struct theme *theme,
		   size_t columns, struct rows *out)
{
	const struct style muted = { 0, STYLE_MUTED };
	const char *dot = theme_glyph(theme, GLYPH_DOT);
	struct status_line l = { .n = 0 };

	collect(&l, s);
	while (l.n > 1 && cells_of(&l, dot) > columns)
		drop_least(&l);
	for (size_t i = 0; i < l.n; i++) {
		struct str text = str_of(l.parts[i].text);
		struct style style = { 0, l.parts[i].role };

		if (i) {
			rows_adds(out, muted, " ");
			rows_adds(out, muted, dot);
			rows_adds(out, muted, " ");
		}
		text.len = width_prefix(text, columns);
		rows_add(out, style, text);
	}
	rows_end(out);
}
