/* supervise_fuzz.c - whatever a vendor answers about a job is told apart. */
/* SPDX-License-Identifier: MIT */
#include <stdint.h>
#include <stdlib.h>

#include "base/str.h"
#include "sandbox/supervise/request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void parse(struct str raw)
{
	struct supervise_answer a = { .body = BUF_INIT(4096) };
	struct error err = { 0 };

	if (supervise_parse(raw, "n", &a, &err) == 0) {
		if (a.out_len > a.body.len || a.body.over || err.code ||
		    a.code < -1 || a.code > 255 || a.word > WORD_NOBASE64)
			abort();
		if (a.body.len && (a.out_at < 0 || a.err_at < 0))
			abort();
	} else if (err.code != ERR_PROTOCOL && err.code != ERR_LIMIT) {
		abort();
	}
	buf_release(&a.body);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str raw = { (const char *)data, size };
	struct buf framed = BUF_INIT(1 << 20);

	parse(raw);
	/* The same as the inside of a frame, where most of the rules are. */
	buf_adds(&framed, "\n@dcode:n:b\naGVsbG8=\n\n@dcode:n=");
	buf_addstr(&framed, raw);
	buf_addc(&framed, '\n');
	parse(buf_str(&framed));
	buf_release(&framed);
	return 0;
}
