/* replay.h - shows the end of a stored thread as it was on the screen. */
/* SPDX-License-Identifier: MIT */
#ifndef AGENT_REPLAY_H
#define AGENT_REPLAY_H

#include "agent/agent.h"
#include "session/thread.h"

/* Where a thread is shown; borrowed. */
struct replay_view {
	const struct agent_ui *ui;
	const struct mask *mask;
	size_t rows, columns; /* of the terminal */
	const char *workdir;  /* where the tools run; or NULL */
};

/* Shows the messages of a thread that filled the screen last, with the events
 * of the time when they were new (agent_event.replayed). */
int replay_thread(const struct replay_view *v, struct store *store,
		  const struct thread *t, struct error *err);

#endif
