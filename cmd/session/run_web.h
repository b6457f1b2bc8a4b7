/* run_web.h - what of the web a run may read. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_SESSION_RUN_WEB_H
#define CMD_SESSION_RUN_WEB_H

#include "agent/agent.h"

struct run;

/* Whether the tool reads the web: what [web] of config.toml allows counts. */
bool run_web_has(const struct tool *tool);
/* Whether such a tool is of use in this run: somebody can allow its calls, or
 * [web] allows some; and for a search, something searches. */
bool run_web_offers(const struct run *r, const struct tool *tool);
/* Whether [web] lets the call run without a question. */
bool run_web_allows(const struct run *r, const struct approval *a);
/* What the call acts on, for a question. */
void run_web_place(const struct run *r, const struct approval *a,
		   struct buf *place);
/* Words for the model: unattended, it is not allowed. */
void run_web_refuse(const struct approval *a, struct buf *reason);

#endif
