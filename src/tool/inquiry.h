/* inquiry.h - what the model asks the user with ask_user. */
/* SPDX-License-Identifier: MIT */
#ifndef TOOL_INQUIRY_H
#define TOOL_INQUIRY_H

#include <stdbool.h>

#include "base/buf.h"

enum {
	INQUIRY_MOST = 10,            /* questions of a call */
	INQUIRY_CHOICES = 20,         /* of a question */
	INQUIRY_TEXT_CHARS = 2000,    /* of a question, and of a choice */
	INQUIRY_ANSWER_BYTES = 64000, /* of what the user types to one */
};

enum inquiry_kind {
	INQUIRY_TEXT,   /* in the user's own words */
	INQUIRY_CHOICE, /* one of the choices, or own words */
	INQUIRY_SEVERAL /* any of them */
};

struct inquiry_item {
	const char *question; /* any UTF-8 of the model's; borrowed */
	enum inquiry_kind kind;
	bool required;
	const char *choices[INQUIRY_CHOICES]; /* borrowed */
	size_t n_choices;
	/* Out: what was chosen, and what was typed: empty, or one of them. */
	bool chosen[INQUIRY_CHOICES];
	struct buf answer; /* UTF-8; max is INQUIRY_ANSWER_BYTES */
};

struct inquiry {
	struct inquiry_item items[INQUIRY_MOST];
	size_t n;
};

enum inquiry_end {
	INQUIRY_ANSWERED,
	INQUIRY_DECLINED, /* the user does not want to */
	INQUIRY_NOBODY,   /* input has ended, or is no terminal */
};

#endif
