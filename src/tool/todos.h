/* todos.h - the list of steps that the model keeps with write_todos. */
/* SPDX-License-Identifier: MIT */
#ifndef TOOL_TODOS_H
#define TOOL_TODOS_H

#include "model/message.h"

#define TODOS_TOOL "write_todos" /* the name that models call it by */

enum {
	TODOS_MOST = 100,         /* items of a list */
	TODOS_CONTENT_CHARS = 500 /* of an item */
};

enum todo_status { TODO_PENDING, TODO_IN_PROGRESS, TODO_COMPLETED, N_TODO };

struct todo {
	char *content; /* owned: UTF-8 as the model wrote it, not blank */
	enum todo_status status;
};

struct todos { /* start from { 0 }; todos_release() after */
	struct todo *list;
	size_t n;
};

/* The list that a call sets, in place of what *t held; false, and *t as it
 * was: it is no call of write_todos, or one that the tool refuses. */
bool todos_read(struct todos *t, const struct part *call);
/*
 * The newest call of write_todos that succeeded, among messages in their order,
 * or NULL: the list of a thread is that of this call, for todos_read().
 * Borrowed from the messages.
 */
const struct part *todos_latest(const struct message *list, size_t n);
/* "pending", "in_progress", "completed" */
const char *todos_status(enum todo_status status);
size_t todos_count(const struct todos *t, enum todo_status status);
void todos_release(struct todos *t);

#endif
