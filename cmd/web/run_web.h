/* run_web.h - which pages of the web a run may fetch. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_WEB_RUN_WEB_H
#define CMD_WEB_RUN_WEB_H

#include "agent/agent.h"

struct run;

/* Whether the tool reads the web: its calls go by hosts. */
bool run_web_has(const struct tool *tool);
/* Whether [web] allow_hosts names any host. */
bool run_web_lists(const struct run *r);
/* Whether it names that of the call's URL. */
bool run_web_allows(const struct run *r, const struct approval *a);
/* Words for the model: unattended, the host is not on the list. */
void run_web_refuse(const struct approval *a, struct buf *reason);

#endif
