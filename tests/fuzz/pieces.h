/* pieces.h - feeds a parser an input whole, and in pieces of one size. */
/* SPDX-License-Identifier: MIT */
#ifndef FUZZ_PIECES_H
#define FUZZ_PIECES_H

#include <stdint.h>
#include <stdlib.h>

#include "base/str.h"

/* The first byte is the size of the pieces: they must not matter. */
static int fuzz_pieces(enum err (*run)(struct str all, size_t piece,
				       struct buf *out),
		       const uint8_t *data, size_t size)
{
	struct buf once = BUF_INIT(1 << 20);
	struct buf pieces = BUF_INIT(1 << 20);
	struct str all;

	if (size < 2)
		return 0;
	all = (struct str){ (const char *)data + 1, size - 1 };
	if (run(all, all.len, &once) !=
		    run(all, (size_t)data[0] + 1, &pieces) ||
	    !str_eq(buf_str(&once), buf_str(&pieces)))
		abort();
	buf_release(&once);
	buf_release(&pieces);
	return 0;
}

#endif
