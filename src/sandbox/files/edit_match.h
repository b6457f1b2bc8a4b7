/* edit_match.h - decides what an edit changes, on bytes alone. */
/* SPDX-License-Identifier: MIT */
#ifndef SANDBOX_FILES_EDIT_MATCH_H
#define SANDBOX_FILES_EDIT_MATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

struct edit_change {
	int64_t count; /* occurrences found */
	/* The new file: its first head bytes, middle, its last tail bytes. */
	size_t head;
	size_t tail;
	struct buf middle; /* the caller sets max, and releases */
	struct buf near;   /* what near_miss() says where nothing was found; the
			      caller sets max, and releases */
};

/*
 * spec/agent.md §2.5: old as sent, else with CR LF, with LF, in a file without
 * LF with CR; the first form that occurs wins. Empty old: between characters.
 * The line ends of new become those of the lines that it goes into, unless old
 * was found with a CR in it. -1: ERR_REMOTE "not_a_text_file",
 * "string_not_found" (maybe with a hint), "multiple_occurrences" (unless all);
 * ERR_LIMIT when the result is too large.
 */
int edit_match(struct str file, struct str old, struct str new, bool all,
	       struct edit_change *change, struct error *err);

#endif
