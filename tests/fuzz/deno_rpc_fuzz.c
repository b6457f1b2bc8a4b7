/* deno_rpc_fuzz.c - whatever a Deno sandbox says finds those who wait. */
/* SPDX-License-Identifier: MIT */
#include <stdint.h>
#include <stdlib.h>

#include "base/str.h"
#include "providers/deno/rpc.c"

enum { CALLS = 4, ROOM = 4096 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int tell(struct deno_calls *c, struct str text)
{
	struct deno_frame f;
	struct error err = { 0 };
	int rc = parse_frame(&f, text, ROOM, &err);

	if (rc < 0 && err.code != ERR_PROTOCOL && err.code != ERR_LIMIT)
		abort();
	if (rc == 0 && f.kind == DENO_REPLY && !f.ok == !f.failed)
		abort();
	if (f.data.len > ROOM + 3)
		abort();
	if (rc == 0)
		rc = apply_frame(c, &f, &err);
	release_frame(&f);
	return rc;
}

static void check(const struct deno_waiting *w)
{
	if (w->done != cancel_triggered(&w->ready))
		abort();
	if (!w->done && (w->ok || w->why.code))
		abort();
	if (w->done && !w->spawn && !w->ok == !w->why.code)
		abort();
}

/* One message a line, to two processes, a request, and one whose caller has
 * left. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct deno_calls c = { 0 };
	struct deno_waiting *calls[CALLS];
	struct buf out[CALLS] = { BUF_INIT(64), BUF_INIT(ROOM) };
	struct error gone = { .code = ERR_NETWORK };
	struct str rest = { (const char *)data, size };
	struct str line;
	int rc = 0;

	for (int i = 0; i < CALLS; i++) {
		calls[i] = add_call(&c, i, &gone);
		if (!calls[i])
			abort();
		calls[i]->spawn = i != 2;
		calls[i]->out = i < 2 ? &out[i] : NULL;
	}
	release_call(&c, calls[3]);
	while (rc == 0 && str_split(&rest, '\n', &line))
		rc = tell(&c, line);
	for (int i = 0; i < 3; i++)
		check(calls[i]);
	fail_calls(&c, &gone);
	if (c.early)
		abort();
	for (int i = 0; i < 3; i++) {
		check(calls[i]);
		if (!calls[i]->done)
			abort();
		release_call(&c, calls[i]);
		buf_release(&out[i]);
	}
	if (c.list)
		abort();
	return 0;
}
