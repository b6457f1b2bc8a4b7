/* page.c - a window of lines cut out of a file's bytes. */
/* SPDX-License-Identifier: MIT */
#include "sandbox/files/page.h"

#include <inttypes.h>
#include <string.h>

#include "base/str.h"
#include "sandbox/files/encoding.h"

enum { PREFIX = 8192, LONGEST_CHAR = 4 };

static const char marker[] =
	"\n\n[Output was truncated due to size limits. This paginated read "
	"result exceeded the sandbox stdout limit. Continue reading with a "
	"larger offset or smaller limit to inspect the rest of the file.]";

/* Takes a line off *rest; false at the end. */
static bool take_line(struct str *rest, struct str *line)
{
	size_t len;
	size_t skip = 1;

	if (!rest->len)
		return false;
	len = str_find(*rest, '\n');
	if (len && memchr(rest->ptr, '\r', len)) {
		len = str_find(*rest, '\r');
		if (len + 1 < rest->len && rest->ptr[len + 1] == '\n')
			skip = 2;
	}
	if (len == rest->len)
		skip = 0;
	*line = (struct str){ rest->ptr, len };
	*rest = str_skip(*rest, len + skip);
	return true;
}

/* A character that the end of the prefix cuts is looked at whole. */
static bool prefix_is_text(struct str raw)
{
	size_t len = raw.len < PREFIX ? raw.len : PREFIX;
	size_t look = PREFIX + LONGEST_CHAR - 1;

	if (look > raw.len)
		look = raw.len;
	return str_utf8_prefix((struct str){ raw.ptr, look }) >= len;
}

/* False when the line did not fit whole. */
static bool add_line(struct buf *text, struct str line, bool first)
{
	if (!first)
		buf_addc(text, '\n');
	buf_addstr(text, line);
	return !text->over;
}

/* Cuts at the cap, between characters. Returns the lines shown whole; a first
 * line that is too long counts, so that paging goes on. -1: not UTF-8. */
static int64_t clip(struct files_page *page)
{
	struct buf *text = &page->text;
	size_t most = FILES_PAGE_BYTES - (sizeof(marker) - 1);
	int64_t whole;

	for (int i = 1; i < LONGEST_CHAR; i++)
		if (((unsigned char)text->ptr[most] & 0xc0) == 0x80)
			most--;
	if (str_utf8_prefix(buf_str(text)) < most)
		return -1;
	whole = text->ptr[most] == '\n';
	for (size_t i = 0; i < most; i++)
		whole += text->ptr[i] == '\n';
	page->clipped = true;
	text->len = most;
	text->over = false;
	buf_adds(text, marker);
	return whole ? whole : 1;
}

static int past_end(int64_t offset, int64_t total, struct error *err)
{
	return error_set(err, ERR_REMOTE,
			 "Line offset %" PRId64 " exceeds file length (%" PRId64
			 " line%s)",
			 offset, total, total == 1 ? "" : "s");
}

static void number(const struct page_source *src, int64_t offset, int64_t lines,
		   struct files_page *page)
{
	page->start_line = offset + 1;
	page->end_line = offset + lines;
	page->next_offset = page->end_line;
	if (src->at_end && page->end_line >= page->total_lines)
		page->next_offset = -1;
}

static int cut(const struct page_source *src, int64_t offset, int64_t limit,
	       struct files_page *page, struct error *err)
{
	struct str rest = src->raw;
	struct str line;
	int64_t at = src->first_line;
	int64_t lines = 0;
	bool fits = true;

	page->text.max = FILES_PAGE_BYTES;
	if (!at && !prefix_is_text(src->raw))
		return error_reason(err, ERR_REMOTE, "not_a_text_file");
	while (at < offset && take_line(&rest, &line))
		at++;
	if (!rest.len)
		return past_end(offset, src->at_end ? at : src->total, err);
	while (fits && lines < limit && take_line(&rest, &line)) {
		fits = add_line(&page->text, line, lines == 0);
		at++;
		lines++;
	}
	if (!fits)
		lines = clip(page);
	if (lines < 0 || !str_is_utf8(buf_str(&page->text)))
		return error_reason(err, ERR_REMOTE, "not_a_text_file");
	while (src->at_end && take_line(&rest, &line))
		at++;
	page->total_lines = src->at_end ? at : src->total;
	number(src, offset, lines, page);
	return 0;
}

int page_cut(const struct page_source *src, int64_t offset, int64_t limit,
	     struct files_page *page, struct error *err)
{
	struct page_source plain = *src;
	struct encoding e = { .name = ENCODING_UTF8 };
	struct error ignored = { 0 };
	struct buf text = BUF_INIT(4 * src->raw.len + 1);
	int rc;

	/* What is no text at all, here or further down, is cut() to find. */
	if (encoding_detect(src->raw, !src->at_end, &e, &ignored) == 0 &&
	    e.name != ENCODING_UTF8 &&
	    encoding_decode(&e, src->raw, &text, &ignored) == 0) {
		plain.raw = buf_str(&text);
		page->encoding = encoding_label(&e);
	}
	rc = cut(&plain, offset, limit, page, err);
	buf_release(&text);
	return rc;
}
