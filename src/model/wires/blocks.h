/* blocks.h - messages as lists of blocks: Anthropic's form, and Bedrock's. */
/* SPDX-License-Identifier: MIT */
#ifndef MODEL_WIRES_BLOCKS_H
#define MODEL_WIRES_BLOCKS_H

#include "model/wire.h"

struct blocks_form {
	bool (*is_sendable)(const struct part *p);
	/* Appends the block of m->parts[i]; a result's has the files that
	 * follow it. */
	void (*put)(struct buf *out, const struct message *m, size_t i);
	void (*put_empty)(struct buf *out); /* where there is nothing to send */
};
/* Appends a message: results are blocks of the user's. Thinking is left out
 * where nothing follows it in its message, which both vendors refuse. */
void blocks_push(struct history *h, const struct message *m,
		 const struct blocks_form *f);

#endif
