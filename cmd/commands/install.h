/* install.h - making providers ready, and bringing in those of others. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_COMMANDS_INSTALL_H
#define CMD_COMMANDS_INSTALL_H

#include "cmd/command.h"

struct install { /* one dcode install, or /install; borrowed */
	struct app *app;
	const char *name; /* NULL: none was given */
	bool package;     /* --package */
	bool yes;         /* --yes */
	bool offline;     /* --offline */
};

/* The exit status: 0 removed, 1 not, 2 wrong use, 130. */
int install_uninstall(const struct install *in);

/* package.c: a Python package or an executable provider. */
int install_package(const struct install *in);

/* log.c: programs whose output goes to a log. */
struct install_log {
	char *path;                 /* owned */
	int fd;                     /* -1: not open */
	long begin;                 /* where this run's part begins */
	const struct settings *set; /* borrowed: the environment */
};
int install_log_open(struct install_log *log, const struct settings *set,
		     struct error *err);
void install_log_close(struct install_log *log);
/* 0 when argv[0] (absolute) ended with status 0; -1 else. Ends it, and what it
 * started, when stop does. */
int install_log_run(const struct install_log *log, char *const *argv,
		    const struct stop *stop, struct error *err);
/* The last line of this run's part (its last 1000 bytes), without control
 * characters. */
void install_log_last(const struct install_log *log, struct buf *out);

#endif
