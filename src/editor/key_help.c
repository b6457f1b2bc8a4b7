/* key_help.c - the most useful keys, shown below an empty prompt after "?". */
/* SPDX-License-Identifier: MIT */
#include "editor/key_help.h"

#include "base/str.h"

enum { COLUMN = 38, NAME = 14 }; /* cells */

/* The most useful first: a small screen shows only these. */
static const struct {
	const char *key, *does;
} keys[] = {
	{ "Enter", "send" },
	{ "Esc", "take back, interrupt" },
	{ "Alt+Enter", "new line" },
	{ "Shift+Tab", "next approval mode" },
	{ "/", "commands" },
	{ "@", "name a file" },
	{ "!", "run a command yourself" },
	{ "Up, Ctrl+R", "earlier messages" },
	{ "/help keys", "all keys" },
	{ "Tab", "complete, or queue" },
	{ "Ctrl+O", "calls and their output" },
	{ "Ctrl+X", "write in your editor" },
	{ "Ctrl+_, Alt+_", "undo, redo" },
	{ "Ctrl+C", "clear, interrupt" },
	{ "Ctrl+D", "leave" },
};

static void add_key(size_t i, size_t cells, struct rows *rows)
{
	size_t used = cut_text_add(rows, (struct style){ 0, STYLE_ACCENT },
				   str_of(keys[i].key), cells);

	for (; used < NAME && used < cells; used++)
		rows_adds(rows, (struct style){ 0, STYLE_PLAIN }, " ");
	used += cut_text_add(rows, (struct style){ 0, STYLE_MUTED },
			     str_of(keys[i].does), cells - used);
	for (; used < cells; used++)
		rows_adds(rows, (struct style){ 0, STYLE_PLAIN }, " ");
}

void key_help_render(size_t columns, size_t max_rows, struct rows *rows)
{
	const size_t n = sizeof(keys) / sizeof(keys[0]);
	size_t beside = columns >= 2 * (COLUMN + 1) ? 2 : 1;
	size_t room = columns > 3 ? columns - 3 : 1;
	size_t all = (n + beside - 1) / beside;
	size_t shown = all < max_rows ? all : max_rows;

	for (size_t row = 0; row < shown; row++) {
		rows_adds(rows, (struct style){ 0, STYLE_MUTED }, "  ");
		for (size_t k = 0; k < beside; k++)
			if (row + k * shown < n)
				add_key(row + k * shown,
					beside == 1 || room < COLUMN ? room
								     : COLUMN,
					rows);
		rows_end(rows);
	}
}
