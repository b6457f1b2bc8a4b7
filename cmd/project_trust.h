/* project_trust.h - asks whether what a repository brings may run here. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_PROJECT_TRUST_H
#define CMD_PROJECT_TRUST_H

#include "cmd/app.h"
#include "trust/trust.h"

/* The one store of this user, made by its first use, with the one question; it
 * is app->trust. Kinds of app->trusted are allowed without one. Where nobody
 * can be asked, all that was not allowed before is refused. */
int project_trust_open(struct app *app, struct trust **t, struct error *err);

#endif
