/* todos.h - the list of tasks that the model maintains with write_todos. */
/* SPDX-License-Identifier: MIT */
#ifndef TOOL_TODOS_H
#define TOOL_TODOS_H

#include "model/message.h"

#define TODOS_TOOL "write_todos" /* the tool's name in calls */

enum {
	TODOS_MOST = 100,         /* items per list */
	TODOS_CONTENT_CHARS = 500 /* characters per item */
};

enum todo_status { TODO_PENDING, TODO_IN_PROGRESS, TODO_COMPLETED, N_TODO };

struct todo {
	char *content; /* owned; UTF-8 as written by the model, not blank */
	enum todo_status status;
};

struct todos { /* initialise with { 0 }; free with todos_release() */
	struct todo *list;
	size_t n;
};

/* Replaces *t by the list in a call of write_todos. False, with *t unchanged,
 * if it is a call of another tool or has arguments that write_todos refuses. */
bool todos_read(struct todos *t, const struct part *call);
/*
 * Returns the newest successful call of write_todos among messages in
 * chronological order, or NULL. This call has the thread's current list; read
 * it with todos_read(). Borrowed from the messages.
 */
const struct part *todos_latest(const struct message *list, size_t n);
/* Returns "pending", "in_progress" or "completed". */
const char *todos_status(enum todo_status status);
size_t todos_count(const struct todos *t, enum todo_status status);
void todos_release(struct todos *t);

#endif
