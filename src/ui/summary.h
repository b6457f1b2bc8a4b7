/* summary.h - a tool call in one line, and a todo list in a few. */
/* SPDX-License-Identifier: MIT */
#ifndef UI_SUMMARY_H
#define UI_SUMMARY_H

/*
 * Used by plain text, the chat, HTML pages and the line of a subagent. Begin
 * reading at summary_of_call(); todo_view_*() shows the list that write_todos
 * sets.
 */
#include "agent/agent.h"
#include "model/message.h"
#include "term/rows.h"
#include "term/theme.h"
#include "tool/todos.h"
#include "tool/tool.h"

/* Appends "execute: ls -la" or "read_file: src/a.c"; at most 200 characters.
 * workdir: where the tools run, as in tool_summary_add(). */
void summary_of_call(const struct part *call, const char *workdir,
		     struct buf *out);
/* Appends what is worth a line of an EVENT_TOOL_RESULT: the error's first line,
 * an exit status that is not 0, or that the call was interrupted. */
void summary_of_result(const struct agent_event *ev, struct buf *out);
/* Appends the first line of a failed call's result, for the user: a code of a
 * file's error at its end, which the model gets, is in words. Of a call with
 * wrong arguments appends which. */
void summary_of_failure(struct str result, struct buf *out);
/* Appends "interrupted after 3.2 s", or that the call did not run. */
void summary_of_interrupt(const struct agent_event *ev, struct buf *out);
/* Returns the error at the beginning of the lines that say how a command ended:
 * that it timed out, or that the sandbox failed. Empty if it ended by itself.
 */
struct str summary_end_error(struct str end);
/* Returns the exit status named at the end of a command's result ("exit code
 * 1"), or an empty text. */
struct str summary_exit_status(struct str result);
/* Appends how a call ended, of an EVENT_TOOL_RESULT: "ok", "exit 2",
 * "interrupted", "declined" or "failed". */
void summary_state(const struct agent_event *ev, struct buf *out);
/* Appends a duration: "2.1 s", "14 s", "2 min 14 s" or "1 h 5 min". */
void summary_add_time(int64_t ms, struct buf *out);
/* Appends ", 3.2K tokens", or nothing if there are none. */
void summary_add_tokens(int64_t tokens, struct buf *out);

/* Appends "changed: a.c, b.c (+12 −3)" if a command has changed files. */
void summary_of_changes(const struct agent_event *ev, struct buf *out);
/* Appends "the sandbox listens on 3000: /forward 3000" if a command has begun
 * to listen. */
void summary_of_listeners(const struct agent_event *ev, struct buf *out);
/* Replaces the ellipsis at the end of a summary by "...", and the minus sign of
 * summary_of_changes(). */
void summary_to_ascii(struct buf *line);
/* Appends "Declined: not that way", taken from the result of a declined call.
 */
void summary_of_declined(struct str result, struct buf *out);

/*
 * Appends the summary that tool->summary defines. args is NULL if raw, the
 * model's text, is not an object. Then, and for unknown tools, the beginning of
 * raw is shown. Values are cut to their first line. A path below workdir is
 * shown relative to it; NULL: paths are shown as they are.
 */
struct summary_call {
	const struct tool *tool; /* NULL: unknown */
	const cJSON *args;
	struct str raw;
	const char *workdir;
};
void tool_summary_add(const struct summary_call *c, struct buf *out);

enum { TODO_VIEW_ROWS = 12 /* steps shown of a list on the screen */ };

/* Appends "2 of 5 done". */
void todo_view_count(const struct todos *t, struct buf *out);
/* Appends "2 of 5 done" for the list that a call sets. Returns false if it sets
 * none. */
bool todo_view_sum(const struct part *call, struct buf *out);
/* Appends one line per step, "[x] done", "[>] at work" or "[ ] open", however
 * long. The output is not sanitized. */
void todo_view_text(const struct todos *t, struct buf *out);
/* Appends the list below the line of a successful call of write_todos; of a
 * long list, the steps around the current one. Returns false for other calls.
 */
bool todo_view_rows(const struct part *call, const struct theme *theme,
		    size_t columns, struct rows *out);
/* Updates the list from the events of a turn. */
void todo_view_follow(struct todos *t, const struct agent_event *ev);
/* Appends "2 of 5 done: Write the tests", with the current step. Nothing if all
 * are done. */
void todo_view_step(const struct todos *t, struct buf *out);
/* Appends a row for the live part: the current step and how many are done.
 * Nothing if all are done. */
void todo_view_live(const struct todos *t, const struct theme *theme,
		    size_t columns, struct rows *out);

#endif
