/* word_diff.h - finds the words that differ between two versions of a line. */
/* SPDX-License-Identifier: MIT */
#ifndef BASE_WORD_DIFF_H
#define BASE_WORD_DIFF_H

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

enum { WORD_DIFF_RANGES = 32 /* at most, in each line */ };

/* The bytes of a line that differ, in ascending order. */
struct word_ranges {
	size_t n;
	struct {
		size_t begin, end; /* offsets of the first byte, and after the
				      last one */
	} items[WORD_DIFF_RANGES];
};

/*
 * Compares two versions of a line, without line ends, by words, numbers and
 * single signs. Returns false if they have too little in common to be versions
 * of one line; then the ranges are empty. The time is proportional to the
 * length of the lines: if the parts that differ have many words, each becomes a
 * single range.
 */
bool word_diff_lines(struct str old_line, struct str new_line,
		     struct word_ranges *removed, struct word_ranges *added);

#endif
