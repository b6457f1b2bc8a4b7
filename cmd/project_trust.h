/* project_trust.h - asks before a repository's hooks, servers or subagents are
 * used. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_PROJECT_TRUST_H
#define CMD_PROJECT_TRUST_H

#include "cmd/app.h"
#include "trust/trust.h"

/* Returns app->trust, created on the first call: the user's store of decisions,
 * with a question for new entries. Kinds in app->trusted are allowed without
 * asking. If there is no user to ask, everything not yet allowed is refused. */
int project_trust_open(struct app *app, struct trust **t, struct error *err);

#endif
