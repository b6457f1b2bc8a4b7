/* scope.h - which existing sandbox a run continues in. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_SESSION_SCOPE_H
#define CMD_SESSION_SCOPE_H

#include "cmd/session/run.h"

/* Reads [sandboxes] scope into r->options.scope. r->client must be open. ERR_*
 * if the run's options or its provider do not go with it. */
int scope_resolve(struct run *r, struct error *err);
/* Sets *label, owned, to the sandbox to take over: the resumed thread's own, or
 * the one that its scope shares; NULL: a new one is created or attached. Tells
 * the user about one of the thread that is not used. *shares: what is taken
 * over or created is that of the scope. If another dcode uses the shared
 * sandbox, a chat asks whether to make one for this thread alone (ERR_BUSY
 * after a no), and -n makes one. */
int scope_choose(struct run *r, struct store *store, char **label, bool *shares,
		 struct error *err);
/* True if a sandbox of the resumed thread may still exist. */
bool scope_has_own(struct run *r);
/* Returns the endpoint at which the resumed thread's newest sandbox was
 * created; owned, or NULL. The settings may have changed since, to another ssh
 * host or Docker endpoint. */
char *scope_endpoint(struct run *r);

#endif
