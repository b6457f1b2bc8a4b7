/* project_trust.h - asks before a repository's hooks, servers or subagents are
 * used. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_PROJECT_TRUST_H
#define CMD_PROJECT_TRUST_H

#include "cmd/app.h"
#include "trust/trust.h"

/* Sets *t to app->trust, the user's stored permissions for projects, which the
 * first call opens. New entries are asked about. Kinds in app->trusted are
 * allowed without asking. If there is no user to ask, everything that was not
 * allowed before is refused. */
int project_trust_open(struct app *app, struct trust **t, struct error *err);

#endif
