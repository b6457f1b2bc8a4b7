/* piece.h - how large an answer may be where connections are cut. */
/* SPDX-License-Identifier: MIT */
#ifndef SANDBOX_SUPERVISE_PIECE_H
#define SANDBOX_SUPERVISE_PIECE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct answer_piece {
	size_t max;   /* bytes of the next answer, */
	size_t limit; /* which may grow to this */
};
/* After an answer that was cut off, or damaged, as a vendor's that has a limit
 * of its own: true when less is asked for now. */
bool piece_shrink(struct answer_piece *p, bool cut);
/* After one that was whole. */
void piece_grow(struct answer_piece *p);
/* Before the next request, after so many that failed in a row, the last with
 * why. smaller: less is asked for now. */
int64_t piece_pause_ms(unsigned failures, const struct error *why,
		       bool smaller);

#endif
