/* show.h - shows events of a conversation, with secrets masked. */
/* SPDX-License-Identifier: MIT */
#ifndef AGENT_SHOW_H
#define AGENT_SHOW_H

#include "agent/agent.h"

/*
 * Passes an event to ui with the secrets in its text, call, change and step
 * masked. The model's own words pass unchanged, piece by piece: what it was
 * told has come through message_admit().
 */
void show_event(const struct agent_ui *ui, const struct mask *mask,
		const struct agent_event *ev);

#endif
