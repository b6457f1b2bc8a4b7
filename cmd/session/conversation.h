/* conversation.h - the model and the thread of a run, and changing them. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_SESSION_CONVERSATION_H
#define CMD_SESSION_CONVERSATION_H

#include "cmd/session/run.h"
#include "tool/todos.h"

/*
 * The following change an open run between two prompts; its sandbox stays. On
 * -1 it is as it was before.
 *
 * Goes on with another model, which gets all that the thread holds so far.
 * spec as --model; params as --model-params, or NULL.
 */
int conversation_set_model(struct run *r, const char *spec, const char *params,
			   struct error *err);
/* Goes on in a new, empty thread. */
int conversation_begin(struct run *r, struct error *err);
/* Goes on with a stored thread and its model; asks as -r does. Takes *t over,
 * also on -1. */
int conversation_resume(struct run *r, struct thread *t, struct error *err);
/* Hands the stored messages of the run's thread on to its model. */
int conversation_load(struct run *r, struct error *err);
/* The list of steps as the thread's model last set it; none: t->n is 0. From
 * the stored messages, between two prompts. */
int conversation_todos(struct run *r, struct todos *t, struct error *err);
/* True when the run's thread can be read from the database in full. */
bool conversation_is_stored(const struct run *r, struct error *err);

#endif
