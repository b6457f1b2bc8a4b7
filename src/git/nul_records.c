/* nul_records.c - what git prints with -z, record by record. */
/* SPDX-License-Identifier: MIT */
#include "git/nul_records.h"

#include <string.h>

enum { RECORD_MAX = 1 << 20 };

static int on_chunk(void *arg, struct str chunk, struct error *err)
{
	struct nul_records *r = arg;
	size_t done = 0;
	int rc = 0;

	buf_addstr(&r->held, chunk);
	if (buf_check(&r->held, "a name", err) < 0)
		return -1;
	while (rc == 0 && done < r->held.len) {
		const char *one = r->held.ptr + done;
		const char *end = memchr(one, '\0', r->held.len - done);

		if (!end)
			break;
		done += (size_t)(end - one) + 1;
		rc = r->each(r->arg, one, err);
	}
	buf_consume(&r->held, done);
	return rc;
}

int nul_records_run(const struct git *g, const char *const *argv,
		    struct nul_records *r, const struct stop *stop,
		    struct error *err)
{
	struct git_request q = {
		.argv = argv,
		.input = r->input,
		.sink = on_chunk,
		.sink_arg = r,
		.warned = &r->warned,
	};
	int rc;

	r->held = BUF_INIT(RECORD_MAX);
	rc = git_run(g, &q, stop, err);
	buf_release(&r->held);
	return rc;
}
