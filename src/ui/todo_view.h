/* todo_view.h - the list of steps as people see it. */
/* SPDX-License-Identifier: MIT */
#ifndef UI_TODO_VIEW_H
#define UI_TODO_VIEW_H

#include "agent/agent.h"
#include "term/rows.h"
#include "term/theme.h"
#include "tool/todos.h"

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
