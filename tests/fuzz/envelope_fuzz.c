/* envelope_fuzz.c - gRPC's framing: any bytes, in pieces of any size. */
/* SPDX-License-Identifier: MIT */
#include <stdint.h>
#include <stdlib.h>

#include "base/str.h"
#include "net/grpc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int keep(void *arg, struct str message, bool last, struct error *err)
{
	(void)err;
	buf_addf(arg, "%zu%c", message.len, last ? '!' : ':');
	buf_addstr(arg, message);
	return 0;
}

static enum err run(struct str all, size_t piece, bool connect, struct buf *out)
{
	struct envelope e = { .largest = 4096,
			      .last = connect ? ENVELOPE_CONNECT_LAST : 0 };
	struct error err = { 0 };
	int rc = 0;

	while (rc == 0 && all.len) {
		size_t n = all.len < piece ? all.len : piece;

		rc = envelope_feed(&e, (struct str){ all.ptr, n }, keep, out,
				   &err);
		all = str_skip(all, n);
	}
	buf_addf(out, "%zu", e.have);
	envelope_release(&e);
	return err.code;
}

/* The first byte is the size of the pieces, which must not matter, and whether
 * it is a Connect stream. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf once = BUF_INIT(1 << 20);
	struct buf pieces = BUF_INIT(1 << 20);
	struct str all;

	if (size < 2)
		return 0;
	all = (struct str){ (const char *)data + 1, size - 1 };
	if (run(all, all.len, data[0] & 1, &once) !=
		    run(all, data[0] / 2 + 1, data[0] & 1, &pieces) ||
	    !str_eq(buf_str(&once), buf_str(&pieces)))
		abort();
	buf_release(&once);
	buf_release(&pieces);
	return 0;
}
