/* answer_row.c - the answers of a question, in a row that arrow keys move in.
 * SPDX-License-Identifier: MIT
 */
#include "cmd/chat/answer_row.h"

#include "base/str.h"
#include "term/rows.h"

static const struct style strong = { ATTR_BOLD, STYLE_WARN };
static const struct style plain = { 0, STYLE_PLAIN };
static const struct style muted = { 0, STYLE_MUTED };
static const struct style chosen = { ATTR_BOLD, STYLE_ACCENT };

bool answer_row_move(struct answer_row *a, const struct key *key)
{
	switch (key->name) {
	case KEY_LEFT:
	case KEY_UP:
		a->selected = (a->selected + a->n - 1) % a->n;
		return true;
	case KEY_RIGHT:
	case KEY_DOWN:
		a->selected = (a->selected + 1) % a->n;
		return true;
	default:
		return false;
	}
}

/* Cells of the labels from first on, with what stands between them. */
static size_t width_from(const struct answer_row *a, size_t first)
{
	size_t cells = 0;

	for (size_t i = first; i < a->n; i++)
		cells += width_cells(str_of(a->labels[i])) + 4;
	return cells;
}

void answer_row_render(const struct answer_row *a, size_t columns,
		       struct rows *out)
{
	size_t first = width_from(a, 0) > columns ? a->selected : 0;

	for (size_t i = first; i < a->n && columns > 2; i++) {
		bool here = i == a->selected;
		struct str label = str_of(a->labels[i]);

		rows_add(out, here ? chosen : plain,
			 here ? STR("> ") : STR("  "));
		columns -= 2;
		label.len = width_prefix(label, columns);
		columns -= width_cells(label);
		rows_add(out, here ? chosen : plain, label);
		if (columns > 2)
			rows_add(out, muted, STR("  "));
		columns -= columns > 2 ? 2 : columns;
	}
	rows_end(out);
}

void answer_row_hint(size_t columns, struct rows *out)
{
	struct str text = STR("Up or Down: answer. Other keys go into your "
			      "message");

	if (width_cells(text) > columns)
		text = STR("Up/Down: answer");
	cut_text_add(out, strong, text, columns);
	rows_end(out);
}
