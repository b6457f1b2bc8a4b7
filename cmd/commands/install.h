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

/* A log file for the output of programs. */
struct install_log {
	char *path;                 /* owned */
	int fd;                     /* -1: not open */
	long begin;                 /* offset of this run's part */
	const struct settings *set; /* borrowed; for the environment */
};
int install_log_open(struct install_log *log, const struct settings *set,
		     struct error *err);
void install_log_close(struct install_log *log);
/* Runs argv[0] (an absolute path). Returns 0 if it exits with status 0, else
 * -1. When stop ends the wait, the program and its children are killed. */
int install_log_run(const struct install_log *log, char *const *argv,
		    const struct stop *stop, struct error *err);
/* Appends the last line of this run's part, without control characters; only
 * the last 1000 bytes are searched. */
void install_log_last(const struct install_log *log, struct buf *out);

#endif
