/* change.h - what a call does to a text file, as the sandbox has it. */
/* SPDX-License-Identifier: MIT */
#ifndef TOOL_CHANGE_H
#define TOOL_CHANGE_H

#include <stdbool.h>

#include "base/buf.h"

struct mask;

enum { TOOL_CHANGE_BYTES = 1 << 20 /* of a file that is compared */ };

struct tool_change { /* zeroed: not known */
	struct buf before, after;
	bool known;
};

/* Copies both; leaves it unknown where one is larger or no UTF-8 text. */
void tool_change_set(struct tool_change *c, struct str before,
		     struct str after);
/* What is shown of it, without the values that are masked. */
void tool_change_mask(struct tool_change *c, const struct mask *m);
void tool_change_release(struct tool_change *c);

#endif
