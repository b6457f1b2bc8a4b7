/* bind.h - which directories a sandbox may get as they are. */
/* SPDX-License-Identifier: MIT */
#ifndef SANDBOX_BIND_H
#define SANDBOX_BIND_H

#include "config/settings.h"

/* Refuses a directory that is no project: the home directory and those above
 * it, the system's, what everybody shares, and dcode's own. *real (also on -1,
 * unless it does not exist) is its real path, owned. */
int bind_check(const struct settings *set, const char *dir, char **real,
	       struct error *err);

#endif
