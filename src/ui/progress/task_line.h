/* task_line.h - the line at a terminal that says what dcode -n is doing. */
/* SPDX-License-Identifier: MIT */
#ifndef UI_PROGRESS_TASK_LINE_H
#define UI_PROGRESS_TASK_LINE_H

/*
 * At a terminal, a thread redraws one line of standard error: the step, the
 * elapsed time, the tokens, and the current step of the todo list. Everything
 * else that is printed removes the line first (output_status() in
 * ui/streams.h), so that it never stands in the answer. Without a terminal on
 * standard error nothing is drawn, but the turn is still counted.
 */
#include <pthread.h>

#include "tool/todos.h"
#include "ui/progress/turn.h"
#include "ui/streams.h"

struct task_line {                  /* initialise with task_line_begin() */
	struct output_guard *guard; /* borrowed */
	struct meter *const *made;  /* the caller's variable, which points to
				       the meter before the first event */
	pthread_t thread;
	bool drawn; /* the thread runs */
	bool ascii;
	pthread_mutex_t lock; /* guards the following fields */
	pthread_cond_t changed;
	struct turn turn;
	struct todos todos;
	struct meter *meter; /* NULL: not made yet */
	bool over;
};

/* Begins to count. task_line_draw() begins to draw, if standard error is a
 * terminal that can erase a line. */
void task_line_begin(struct task_line *s, struct output_guard *guard,
		     struct meter *const *made, bool ascii);
void task_line_draw(struct task_line *s);
/* Call with each event, on any thread but one at a time. */
void task_line_event(struct task_line *s, const struct agent_event *ev);
/* Sets what dcode does outside of the model's turn. */
void task_line_step(struct task_line *s, const char *doing);
/* Ends the line. Later events are not shown. */
void task_line_end(struct task_line *s);
/* Appends what, then "12 s, 3 calls, 3.2K tokens". Nothing if no line was
 * drawn. Call after task_line_end(). */
void task_line_add_end(struct task_line *s, const char *what, struct buf *out);
void task_line_release(struct task_line *s);

#endif
