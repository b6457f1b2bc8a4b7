/* blocks.h - messages as lists of blocks: Anthropic's form, and Bedrock's. */
/* SPDX-License-Identifier: MIT */
#ifndef MODEL_WIRES_BLOCKS_H
#define MODEL_WIRES_BLOCKS_H

#include "model/wire.h"

struct blocks_form { /* each appends a block */
	/* Thinking is this vendor's when its replay begins so. */
	const char *thinking;
	void (*put_text)(struct buf *out, const char *text);
	void (*put_media)(struct buf *out, const struct part *p);
	void (*put_call)(struct buf *out, const struct part *p);
	/* n files follow the result p and are part of it. */
	void (*put_result)(struct buf *out, const struct part *p, size_t n);
	void (*put_empty)(struct buf *out); /* where there is nothing to send */
};
/* Text blocks must hold more than white space. NULL: true. */
bool blocks_blank(const char *text);
/* Appends a message: results are blocks of the user's. Thinking is left out
 * where nothing follows it in its message, which both vendors refuse. */
void blocks_push(struct history *h, const struct message *m,
		 const struct blocks_form *f);

#endif
