/* helper_fuzz.c - whatever a sandbox answers, it is read alike in any chunks.
 */
/* SPDX-License-Identifier: MIT */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "sandbox/files/text.h"
#include "sandbox/frame.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct got {
	struct buf body;
	struct buf statuses;
};

static int on_body(void *arg, struct str bytes, struct error *err)
{
	struct got *g = arg;

	(void)err;
	buf_addstr(&g->body, bytes);
	return 0;
}

static int on_status(void *arg, const char *status, struct error *err)
{
	struct got *g = arg;

	(void)err;
	buf_adds(&g->statuses, status);
	buf_addc(&g->statuses, '\n');
	return 0;
}

static void read_all(struct str wire, size_t step, struct got *g)
{
	struct frame_sink sink = { on_body, on_status, g };
	struct error err = { 0 };
	struct frame f;

	*g = (struct got){ BUF_INIT(1 << 20), BUF_INIT(1 << 20) };
	frame_init(&f, "n");
	while (wire.len) {
		size_t len = wire.len < step ? wire.len : step;

		if (frame_feed(&f, (struct str){ wire.ptr, len }, &sink, &err))
			break;
		wire = str_skip(wire, len);
	}
	frame_release(&f);
}

static bool on_path(void *arg, struct str path)
{
	(void)arg;
	if (!path.len)
		abort();
	return path.ptr[0] != 'q';
}

static void read_body(struct str body)
{
	struct path_records p = { 0 };
	struct files_page page = { 0 };
	struct page_source src = { .raw = body, .at_end = true };
	struct match_record m;
	struct error err = { 0 };

	path_records_feed(&p, body, on_path, NULL);
	path_records_end(&p, true, on_path, NULL);
	for (int form = MATCH_FILE; form <= MATCH_COLON; form++) {
		struct str rest = body;

		while (match_record_next(&rest, (enum match_form)form, &m))
			if (m.line < 1 || (form != MATCH_FILE && !m.path.len))
				abort();
	}
	if (page_cut(&src, 1, 2, &page, &err) == 0 &&
	    !str_is_utf8(buf_str(&page.text)))
		abort();
	buf_release(&page.text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str wire = { (const char *)data, size };
	struct got whole;
	struct got bytes;

	read_all(wire, size ? size : 1, &whole);
	read_all(wire, 1, &bytes);
	if (!str_eq(buf_str(&whole.statuses), buf_str(&bytes.statuses)))
		abort();
	if (!str_eq(buf_str(&whole.body), buf_str(&bytes.body)))
		abort();
	read_body(wire);
	read_body(buf_str(&whole.body));
	buf_release(&whole.body);
	buf_release(&whole.statuses);
	buf_release(&bytes.body);
	buf_release(&bytes.statuses);
	return 0;
}
