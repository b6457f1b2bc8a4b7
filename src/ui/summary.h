/* summary.h - one line about a tool call, for people. */
/* SPDX-License-Identifier: MIT */
#ifndef UI_SUMMARY_H
#define UI_SUMMARY_H

#include "model/message.h"

/* "execute: ls -la", "read_file: src/a.c"; at most 200 characters. */
void summary_of_call(const struct part *call, struct buf *out);
/* What is worth a line: the error's first line, an exit status; else
 * nothing. */
void summary_of_result(const struct part *call, struct str result, bool failed,
		       struct buf *out);

/* Replaces the ellipsis at the end of any of these. */
void summary_to_ascii(struct buf *line);
/* "Declined: not that way", from the result of a call that the user has
 * declined. */
void summary_of_declined(struct str result, struct buf *out);

#endif
