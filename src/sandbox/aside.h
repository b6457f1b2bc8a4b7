/* aside.h - a word from a script of ours, within what a command prints. */
/* SPDX-License-Identifier: MIT */
#ifndef SANDBOX_ASIDE_H
#define SANDBOX_ASIDE_H

#include <stdbool.h>

#include "base/buf.h"

/*
 * A script prints RS, "dcode-NONCE ", a text and RS (0x1E). NONCE is made for
 * one command, so that nothing it prints can be taken for ours. All other bytes
 * pass unchanged.
 */
enum { ASIDE_NONCE = 16, ASIDE_MAX = 4096 /* bytes of the text */ };

struct aside {
	char nonce[ASIDE_NONCE + 1];
	struct buf held; /* may begin one */
	struct buf text; /* of the last one that was found */
	bool found;
};

/* With a new nonce. */
void aside_init(struct aside *a);
/* Appends what is not an aside to out. */
void aside_feed(struct aside *a, struct str chunk, struct buf *out);
/* The end: appends what was held back. */
void aside_end(struct aside *a, struct buf *out);
void aside_release(struct aside *a);

#endif
