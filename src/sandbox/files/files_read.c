/* files_read.c - a page of a text file, or a whole small binary one. */
/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <string.h>

#include "base/str.h"
#include "sandbox/files/files_impl.h"
#include "sandbox/files/page.h"

enum {
	WHOLE_TEXT = 96 << 10, /* file bytes that cross a slow wire whole */
	SLACK = 64,            /* more than the page, to see that it is cut */
};
static const int64_t most_lines = 2000000000; /* busybox head and tail */

struct read_window {
	int64_t offset;
	int64_t limit;
	bool binary;
	int64_t most; /* bytes of a binary one */
};

/* Asks for one line more than wanted, to know whether there is one. */
static int ask(struct sandbox *sb, const char *path,
	       const struct read_window *w, struct helper *h,
	       const struct stop *stop, struct error *err)
{
	bool fast = sb->client->provider->flags & SANDBOX_STDIN;
	int64_t whole = fast ? FILES_COUNT_BYTES : WHOLE_TEXT;
	int64_t first = w->offset < most_lines ? w->offset : most_lines - 1;
	int64_t count = w->limit < most_lines ? w->limit : most_lines - 1;
	char numbers[5][24];

	h->script = HELPER_READ;
	h->n_args = 7;
	h->timeout_ms = FILES_HELPER_MS;
	h->args[0] = str_of(path);
	h->args[1] = w->binary ? STR("binary") : STR("text");
	h->args[2] = helper_decimal(first + 1, numbers[0]);
	h->args[3] = helper_decimal(count ? count + 1 : 0, numbers[1]);
	h->args[4] = helper_decimal(w->binary ? w->most : whole, numbers[2]);
	h->args[5] = helper_decimal(FILES_PAGE_BYTES + SLACK, numbers[3]);
	h->args[6] = helper_decimal(FILES_COUNT_BYTES, numbers[4]);
	/* A file that grows meanwhile is cut by this, with an error. */
	h->out.max = FILES_COUNT_BYTES + FILES_PAGE_BYTES;
	if (w->binary)
		h->out.max += (size_t)w->most;
	if (helper_run(sb, h, stop, err))
		return -1;
	return files_answered(h, err);
}

static int64_t lines_in(struct str raw)
{
	int64_t n = 0;
	struct str line;

	while (str_split(&raw, '\n', &line))
		n += line.len || raw.len;
	return n;
}

static int text_page(const struct read_window *w, const struct helper *h,
		     bool whole, int64_t total, struct files_page *page,
		     struct error *err)
{
	struct page_source src = { .raw = buf_str(&h->out),
				   .at_end = whole,
				   .total = total };

	if (!whole) {
		src.first_line = w->offset;
		src.at_end = src.raw.len &&
			     src.raw.len < FILES_PAGE_BYTES + SLACK &&
			     lines_in(src.raw) <= w->limit;
	}
	return page_cut(&src, w->offset, w->limit, page, err);
}

static int understand(const struct read_window *w, struct helper *h,
		      struct files_page *page, struct error *err)
{
	const char *rest = h->status + 2;
	int64_t size = helper_number(&rest);
	struct str kind;
	int64_t total;

	while (*rest == ' ')
		rest++;
	kind = (struct str){ rest, str_find(str_of(rest), ' ') };
	rest += kind.len;
	total = helper_number(&rest);
	if (size < 0)
		return error_set(err, ERR_PROTOCOL,
				 "unexpected server response: no size");
	if (str_is(kind, "large"))
		return error_set(err, ERR_REMOTE,
				 "Binary file exceeds maximum preview size of "
				 "%" PRId64 " bytes",
				 w->most);
	page->total_lines = -1;
	page->next_offset = -1;
	if (w->binary) {
		page->binary = true;
		page->text = h->out;
		h->out = (struct buf){ 0 };
		return 0;
	}
	if (size == 0) {
		page->total_lines = 0;
		return 0;
	}
	page->no_lines = str_is(kind, "none");
	if (page->no_lines)
		return 0;
	return text_page(w, h, str_is(kind, "whole"), total, page, err);
}

int files_read(struct sandbox *sb, const struct files_window *window,
	       struct files_page *page, const struct stop *stop,
	       struct error *err)
{
	struct helper h = { 0 };
	struct read_window w = {
		.offset = window->offset > 0 ? window->offset : 0,
		.limit = window->limit > 0 ? window->limit : 0,
		.binary = window->as_binary,
		.most = window->most ? window->most : FILES_BINARY_BYTES
	};
	int rc;

	*page = (struct files_page){ 0 };
	rc = ask(sb, window->path, &w, &h, stop, err);
	if (!rc)
		rc = understand(&w, &h, page, err);
	buf_release(&h.out);
	return rc;
}
