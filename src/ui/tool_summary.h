/* tool_summary.h - what matters of a call's arguments, on one line. */
/* SPDX-License-Identifier: MIT */
#ifndef UI_TOOL_SUMMARY_H
#define UI_TOOL_SUMMARY_H

#include "tool/tool.h"

/*
 * Appends the summary of the tool's row (struct tool). args: NULL where raw,
 * the text of the model, is no object; of these and of unknown tools the
 * beginning of raw is shown. Values are cut to their first line.
 */
void tool_summary_add(const struct tool *tool, const cJSON *args,
		      struct str raw, struct buf *out);

#endif
