/* target.h - a sandbox that is named on the command line. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_SESSION_TARGET_H
#define CMD_SESSION_TARGET_H

#include "cmd/app.h"
#include "cmd/args.h"
#include "lifecycle/lifecycle.h"

/* A sandbox that was named on the command line. */
struct target { /* start from { 0 } */
	struct sandbox_client client;
	bool open;           /* host is */
	struct store *store; /* borrowed */
	char *id;            /* owned; NULL while only the ledger knows it */
	char label[16];      /* "" when it is not in the ledger */
	enum ledger_state state;
	int64_t pid;
	bool owner_runs; /* or another dcode uses it; its pid is in pid */
	char *note;      /* owned, or NULL */
	bool held;       /* kept, and its end has not come */
	int64_t ends;    /* as in struct ledger_row */
};

/*
 * Finds name in the ledger (label, short name, id or the beginning of one);
 * with --sandbox NAME it is else taken for an id of that provider. Opens the
 * provider. ERR_NOT_FOUND with advice.
 */
int target_open(struct target *t, struct app *app, const struct args *args,
		const char *name, struct error *err);
void target_close(struct target *t);
/* Whether the ledger has a sandbox of that name, as target_open() takes it. */
bool target_is_known(struct app *app, const char *name);
/* The running sandbox behind it; started when it was stopped. Until dcode ends
 * it is in use. */
int target_attach(struct target *t, struct sandbox *sb, const struct stop *stop,
		  struct error *err);

/* After target_attach(): stops it again where that has started it, so that it
 * costs what it did before, and as long as before; not where another dcode uses
 * it by now. Said on stderr; what fails is warned about. */
void target_stop_again(const struct target *t, struct app *app);

/* ERR_USAGE for one that no dcode made; stops: else it is to be deleted. */
int target_check_ours(struct target *t, bool stops, const struct stop *stop,
		      struct error *err);
/* ERR_USAGE for one that another dcode uses, without --force. */
int target_check_unused(const struct target *t, const struct args *args,
			const char *verb, const char *name, struct error *err);

/* Prints a cell of a table, cleaned, at least so wide. */
void sandbox_cell(const char *text, int width);
/* "2026-11-20 11:47", local time, or "-". */
const char *sandbox_time(int64_t seconds, char room[20]);
const char *sandbox_state_name(enum sandbox_state state);

#endif
