/* install.h - sets up providers and installs those of other vendors. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_COMMANDS_INSTALL_H
#define CMD_COMMANDS_INSTALL_H

#include "cmd/command.h"

struct install { /* arguments of dcode install or /install; borrowed */
	struct app *app;
	const char *name; /* NULL: no name was given */
	bool package;     /* --package */
	bool yes;         /* --yes */
	bool offline;     /* --offline */
};

/* Returns the exit status: 0 removed, 1 not removed, 2 wrong usage, 130
 * interrupted. */
int install_uninstall(const struct install *in);

/* Installs a Python package or an executable provider. Returns the exit status.
 */
int install_package(const struct install *in);

#endif
