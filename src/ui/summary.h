/* summary.h - a tool call in one line, and the steps of a task in a few. */
/* SPDX-License-Identifier: MIT */
#ifndef UI_SUMMARY_H
#define UI_SUMMARY_H

/*
 * What plain text, the chat, a page of HTML and the line of a subagent show
 * alike. Begin reading at summary_of_call(); todo_view_*() is the list that
 * write_todos sets.
 */
#include "agent/agent.h"
#include "model/message.h"
#include "term/rows.h"
#include "term/theme.h"
#include "tool/todos.h"
#include "tool/tool.h"

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

/*
 * Appends the summary of the tool's row (struct tool). args: NULL where raw,
 * the text of the model, is no object; of these and of unknown tools the
 * beginning of raw is shown. Values are cut to their first line.
 */
void tool_summary_add(const struct tool *tool, const cJSON *args,
		      struct str raw, struct buf *out);

enum { TODO_VIEW_ROWS = 12 /* steps that a screen shows of a list */ };

/* "2 of 5 done" */
void todo_view_count(const struct todos *t, struct buf *out);
/* The same of the list that a call sets; false: it sets none. */
bool todo_view_sum(const struct part *call, struct buf *out);
/* A line each, "[x] done", "[>] at work" or "[ ] open", one line however long;
 * what it returns is not sanitized. */
void todo_view_text(const struct todos *t, struct buf *out);
/* Below the line of a call of write_todos that succeeded; false: it is none.
 * Of a long list the steps around the one at work. */
bool todo_view_rows(const struct part *call, const struct theme *theme,
		    size_t columns, struct rows *out);
/* Follows the list through the events of a turn. */
void todo_view_follow(struct todos *t, const struct agent_event *ev);
/* A row for the live part: the step at work, and how many are done; nothing
 * where all are. */
void todo_view_live(const struct todos *t, const struct theme *theme,
		    size_t columns, struct rows *out);

#endif
