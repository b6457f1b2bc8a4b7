/* show.h - shows events of a conversation, with secrets masked. */
/* SPDX-License-Identifier: MIT */
#ifndef AGENT_SHOW_H
#define AGENT_SHOW_H

#include "agent/agent.h"

/*
 * Passes an event to ui with secrets masked in its text, call, change and step.
 * The model's own words are passed unchanged, delta by delta: all that the
 * model was told is masked already (message_admit(), model_brief.mask).
 */
void show_event(const struct agent_ui *ui, const struct mask *mask,
		const struct agent_event *ev);

#endif
