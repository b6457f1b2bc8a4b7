/* read_text_fuzz.c - no page of read_file is longer than a result may be. */
/* SPDX-License-Identifier: MIT */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "tool/files/read_file.h"
#include "tool/result.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
	HEAD = 8,
	MAX_TEXT = 120000,
	SLACK = 200 /* the notice about a negative offset */
};

/* Eight bytes: how often the text is repeated, and the page's numbers. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct files_page page = { .text = BUF_INIT(MAX_TEXT) };
	struct read_text_request req = { "/f", 0, 100 };
	struct buf out = BUF_INIT(RESULT_RAW_BYTES);
	size_t lines;

	if (size <= HEAD)
		return 0;
	for (int i = 0; i < 1 << (data[0] % 13) && !page.text.over; i++)
		buf_add(&page.text, data + HEAD, size - HEAD);
	lines = numbering_count(buf_str(&page.text));
	page.start_line = 1 + data[1] * 1000;
	page.end_line = page.start_line + (int64_t)lines - 1 + data[2] % 3 - 1;
	page.next_offset = data[3] & 1 ? page.end_line : -1;
	page.total_lines = data[3] & 2 ? page.end_line + data[4] : -1;
	page.clipped = data[3] & 4;
	req.offset = (int8_t)data[5];
	read_text_render(&page, &req, &out);
	if (out.over || str_chars(buf_str(&out)) > RESULT_CHARS + SLACK)
		abort();
	buf_clear(&out);
	evict_preview(buf_str(&page.text), &out);
	if (out.over || str_chars(buf_str(&out)) > 20000)
		abort();
	buf_release(&page.text);
	buf_release(&out);
	return 0;
}
