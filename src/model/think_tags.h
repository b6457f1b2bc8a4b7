/* think_tags.h - thinking that a model writes into its answer. */
/* SPDX-License-Identifier: MIT */
#ifndef MODEL_THINK_TAGS_H
#define MODEL_THINK_TAGS_H

#include <stdbool.h>

#include "base/buf.h"

/*
 * Servers without a parser for reasoning pass on what reasoning models write:
 * "<think>\n...\n</think>\n\nThe answer". Only at the beginning of an answer:
 * elsewhere, also within a code fence, the words are the answer's.
 */
struct think_tags { /* from { 0 }; think_tags_release() */
	enum think_at {
		THINK_BEGIN, /* nothing but white space, or half a tag */
		THINK_INSIDE,
		THINK_BEHIND, /* white space after the closing tag */
		THINK_OVER,   /* all that follows is text */
	} at;
	size_t tag;      /* the pair that it is within */
	struct buf held; /* bytes that may be the beginning of a tag */
};

typedef int think_tags_emit(void *arg, bool thinking, struct str text,
			    struct error *err);

/* Hands on what is known to be thinking or text, in order; what emit returns
 * below 0 ends it and is returned. */
int think_tags_feed(struct think_tags *t, struct str delta,
		    think_tags_emit *emit, void *arg, struct error *err);
/* The answer is complete: what was held is not a tag. */
int think_tags_end(struct think_tags *t, think_tags_emit *emit, void *arg,
		   struct error *err);
void think_tags_release(struct think_tags *t);

#endif
