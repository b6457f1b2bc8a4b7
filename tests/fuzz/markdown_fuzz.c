/* markdown_fuzz.c - Markdown of a model stays within the screen, and whole. */
/* SPDX-License-Identifier: MIT */
#include <stdint.h>
#include <stdlib.h>

#include "markup/markdown.h"
#include "markup/markdown_render.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct markdown show(struct str text, size_t columns, size_t piece)
{
	static const struct theme theme = { 0 };
	struct error err = { 0 };
	struct markdown m = { .look = { .parse = md4c_load(&err),
					.theme = &theme,
					.columns = columns } };
	struct rows tail = { 0 };

	while (text.len) {
		size_t n = text.len < piece ? text.len : piece;

		markdown_feed(&m, (struct str){ text.ptr, n });
		text = str_skip(text, n);
	}
	markdown_tail(&m, &tail);
	rows_release(&tail);
	markdown_end(&m);
	return m;
}

static void check_row(const struct rows *rows, size_t i, size_t columns)
{
	struct str text = rows_view(rows, i).bytes;

	if (rows_cells(rows, i) > columns)
		abort();
	for (size_t k = 0; k < text.len; k++)
		if ((unsigned char)text.ptr[k] < ' ' || text.ptr[k] == 0x7F)
			abort();
}

/* Entities, tasks and links whose text is their address show less. */
static bool shows_all(struct str text)
{
	return str_find(text, '&') == text.len &&
	       str_search(text, STR("](")) == text.len &&
	       str_search(text, STR("[x]")) == text.len &&
	       str_search(text, STR("[X]")) == text.len;
}

/* Two bytes: the columns, and how much comes at once. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf clean = BUF_INIT(1 << 24);
	struct markdown whole;
	struct markdown parts;
	struct str text;
	size_t columns;
	size_t shown = 0;

	if (size < 2)
		return 0;
	columns = 2 + data[0] % 120;
	text = (struct str){ (const char *)data + 2, size - 2 };
	whole = show(text, columns, SIZE_MAX);
	parts = show(text, columns, 1 + data[1] % 16);
	if (whole.done.n != parts.done.n)
		abort();
	for (size_t i = 0; i < whole.done.n; i++) {
		check_row(&whole.done, i, columns);
		if (!rows_equal(&whole.done, i, &parts.done, i))
			abort();
		shown += letters_count(rows_view(&whole.done, i).bytes);
	}
	sanitize_text(text, &clean);
	if (shows_all(buf_str(&clean)) &&
	    shown < letters_count_source(buf_str(&clean)))
		abort();
	buf_release(&clean);
	markdown_release(&whole);
	markdown_release(&parts);
	return 0;
}
