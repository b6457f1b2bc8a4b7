/* conversation.h - the model and the thread of a run, and changing them. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_SESSION_CONVERSATION_H
#define CMD_SESSION_CONVERSATION_H

#include "cmd/session/run.h"
#include "tool/todos.h"

/* Fills r->thread when -r was given; opens the database only then. Where a chat
 * asks for the last thread and there is none, says so and begins a new one. */
int run_resume_find(struct run *r, struct error *err);
/* Asks, or says, what has to be known before the thread goes on: that it is of
 * another directory, or in use. Makes r->session, which has it from then on. */
int run_resume_begin(struct run *r, struct error *err);
/* Hands the stored messages on to r->model; shows the last ones in a chat. */
int run_resume_load(struct run *r, struct error *err);
/* -M, else the model of the resumed thread; NULL: the settings say. */
const char *run_given_model(const struct run *r);
/* *c is the model that -M, the resumed thread or the settings name. */
int run_find_model(const struct run *r, struct model_choice *c,
		   struct error *err);
/* True if the error says that a key is missing. */
bool run_lacks_key(const struct error *err);
/* r->choice: a resumed thread goes on with its model, -M takes precedence. */
int run_choose_model(struct run *r, struct error *err);
/* r->model, with a prompt that knows the sandbox, but none of the thread. */
int run_open_model(struct run *r, struct error *err);
/* Offers r->model the tools that there are now; its history stays. */
int run_offer_tools(struct run *r, struct error *err);
int run_reset_model(void *arg, struct error *err); /* agent.reset; the run */
/* Tells the agent how much the window of r->choice holds. */
void run_set_window(struct run *r);
/* Says on stderr where the window's size is an assumption. */
void run_tell_assumed(const struct run *r);
/* Makes r->session, or says anew which model and sandbox it has. */
int run_name_session(struct run *r, struct error *err);
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
