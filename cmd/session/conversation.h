/* conversation.h - the model and the thread of a run, and switching them. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_SESSION_CONVERSATION_H
#define CMD_SESSION_CONVERSATION_H

#include "cmd/session/run.h"
#include "tool/todos.h"

/* If -r was given, fills r->thread; only then opens the database. If a chat
 * asks for the latest thread and there is none, says so and starts a new
 * thread. */
int run_resume_find(struct run *r, struct error *err);
/* Asks or warns before resuming a thread that belongs to another directory or
 * is in use. Creates r->session, which locks the thread or continues in a copy
 * of it. */
int run_resume_begin(struct run *r, struct error *err);
/* Loads the stored messages into r->model. A chat also shows the last prompt
 * and the end of the last answer. */
int run_resume_load(struct run *r, struct error *err);
/* Returns the model of -M or of the resumed thread; NULL: use the settings. */
const char *run_given_model(const struct run *r);
/* Sets *c to the model named by -M, the resumed thread or the settings. */
int run_find_model(const struct run *r, struct model_choice *c,
		   struct error *err);
/* True if err means that an API key is missing. */
bool run_lacks_key(const struct error *err);
/* Sets r->choice to the model of -M, else of the resumed thread, else of the
 * settings. */
int run_choose_model(struct run *r, struct error *err);
/* Opens r->model with a system prompt for this sandbox and an empty history. */
int run_open_model(struct run *r, struct error *err);
/* Updates the list of tools in r->model. Its history stays. */
int run_offer_tools(struct run *r, struct error *err);
/* agent.reset callback: empties the model's history after a compaction, and
 * offers the tools for reading it. arg is the run. */
int run_reset_model(void *arg, struct error *err);
/* Sets the agent's context window from r->choice. */
void run_set_window(struct run *r);
/* Prints a note on stderr if the size of the context window is unknown and
 * dcode assumes one. */
void run_tell_assumed(const struct run *r);
/* Creates r->session, or updates its model and sandbox. */
int run_name_session(struct run *r, struct error *err);
/*
 * The following functions change an open run between two prompts and keep its
 * sandbox. On -1 the run is unchanged.
 *
 * Switches to another model, which gets the thread's whole history. spec as for
 * --model; params as for --model-params, or NULL.
 */
int conversation_set_model(struct run *r, const char *spec, const char *params,
			   struct error *err);
/* Starts a new, empty thread. */
int conversation_begin(struct run *r, struct error *err);
/* Continues in a new thread with the first messages of the run's own stored
 * thread t, which does not change. */
int conversation_rewind(struct run *r, const struct thread *t, int64_t messages,
			struct error *err);
/* Switches to a stored thread and its model. Asks the same questions as -r.
 * Takes ownership of *t, also on -1. */
int conversation_resume(struct run *r, struct thread *t, struct error *err);
/* Loads the stored messages of the run's thread into r->model. */
int conversation_load(struct run *r, struct error *err);
/* Sets *t to the thread's current todo list, from the stored messages; t->n is
 * 0 if there is none. Call between two prompts. */
int conversation_todos(struct run *r, struct todos *t, struct error *err);
/* False with err if the thread could not be stored: after a switch to another
 * thread it would be lost. */
bool conversation_is_stored(const struct run *r, struct error *err);

#endif
