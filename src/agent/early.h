/* early.h - a prompt that is sent before what its tools act on is there. */
/* SPDX-License-Identifier: MIT */
#ifndef AGENT_EARLY_H
#define AGENT_EARLY_H

#include "agent/agent.h"

/*
 * Asks the model on a thread while the agent's own gets the sandbox ready. It
 * takes one prompt, which is that of the next agent_run(). Meanwhile the model
 * is the thread's, and nothing is stored.
 */
struct early;
/*
 * Sets a->early. stop ends the request, and with it what obeys early_stop();
 * fatal: so does a request that fails, but where agent_run() asks again.
 */
int early_begin(struct agent *a, const struct stop *stop, bool fatal,
		struct error *err);
/* stop, for what goes on beside; its cancel is good until early_end(). */
struct stop early_stop(const struct agent *a, const struct stop *stop);
/* Before early_send(): hooks of SessionStart, of this cause, and of
 * UserPromptSubmit have their say on the thread that asks. */
void early_hooks(struct early *e, const char *cause);
/* Any thread. False where the prompt is not sent: there was one, or
 * early_close(), or it might pass the window. */
bool early_send(struct early *e, const char *prompt);
/* Stores the prompt, once one is being sent. */
void early_save(struct agent *a);
/* No prompt is taken from now on. True where one was sent. */
bool early_close(struct agent *a);
/* Whether the next agent_run() goes on with what was sent. */
bool early_has(const struct agent *a);
/* Waits for the answer: the model is the agent's again. */
void early_await(struct agent *a);
/* The same, and ends what early_begin() began: what model_stream() gave. */
int early_take(struct agent *a, struct model_reply *reply, struct error *err);
/* In place of agent_run(), where what the tools act on cannot be had: cuts the
 * answer, or stores it with a result of each call that says why. *why becomes
 * the failure of the request where that was first. */
void early_fail(struct agent *a, struct error *why);
/* Cuts what was sent, and frees it; nothing where there is none. */
void early_end(struct agent *a);

#endif
