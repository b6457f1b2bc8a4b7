/* loud.h - names changed files that make programs run. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_SESSION_LOUD_H
#define CMD_SESSION_LOUD_H

#include "cmd/app.h"
#include "workspace/review.h"
#include "workspace/workspace.h"

/* "Look at PATH: it ..." on stderr for each of v. */
void loud_print(const struct app *app, const struct review *v);
/* The same for what differs between w's base and the commit theirs. */
int loud_changes(struct app *app, const struct workspace *w, const char *theirs,
		 const struct stop *stop, struct error *err);

#endif
