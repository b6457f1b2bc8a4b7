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

/* Asks, unless --yes was given. 0 yes; else the exit status. refusal: the
 * beginning of what is said where nobody can be asked. */
int install_confirm(const struct install *in, const char *refusal,
		    const char *question);

/* builtin.c: whether it is ready, and what is missing. */
int install_builtin(const struct install *in,
		    const struct sandbox_provider *provider);
int install_all(const struct install *in);
/* A model vendor, whose name is known to be one. */
int install_model(const struct install *in);
/* All of them; nothing is asked. */
int install_models(const struct install *in);

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

/* tree.c: files that are put in place all at once. */
/* Copies a file or folder; links are copied as links. cp -a: nothing of it is
 * run. */
int install_copy(const struct install_log *log, const char *from,
		 const char *to, const struct stop *stop, struct error *err);
/* Puts fresh (which may not be there: then path is removed) in the place of
 * path; what was there is removed. One rename: path is the old or the new one,
 * whenever it ends. */
int install_replace(const char *path, const char *fresh, struct error *err);
/* Removes what earlier runs that were killed left in dir. */
void install_sweep(const char *dir);
/* Takes the lock that keeps two installations apart; a descriptor to close. */
int install_lock(const struct settings *set, struct error *err);

/* Removes a package's files from site, a folder of packages. ERR_NOT_FOUND. */
int install_remove_dist(const char *site, const char *name, struct error *err);

#endif
