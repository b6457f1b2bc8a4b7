/* target.h - finds the sandbox named on a command line. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_SESSION_TARGET_H
#define CMD_SESSION_TARGET_H

#include "cmd/app.h"
#include "cmd/args.h"
#include "lifecycle/lifecycle.h"

/* The sandbox that a command line names. */
struct target { /* start with { 0 } */
	struct sandbox_client client;
	bool open;           /* client is open */
	struct store *store; /* borrowed */
	char *id;            /* owned; NULL if the ledger has no id for it */
	char label[16];      /* "" if it is not in the ledger */
	enum ledger_state state;
	int64_t pid;
	bool owner_runs; /* its owner or another dcode uses it; see pid */
	char *note;      /* owned, or NULL */
	bool held;       /* kept, and not yet expired */
	int64_t ends;    /* Unix seconds, as in struct ledger_row */
};

/* Finds name in the ledger (label, short name, id, or unique prefix). With
 * --sandbox NAME an unknown name is taken as an id of that provider. Opens the
 * provider. ERR_NOT_FOUND with a hint. */
int target_open(struct target *t, struct app *app, const struct args *args,
		const char *name, struct error *err);
void target_close(struct target *t);
/* True if the ledger has a sandbox of that name, as in target_open(). */
bool target_is_known(struct app *app, const char *name);
/* Attaches to the sandbox, and starts it if it was stopped. It counts as in use
 * until dcode exits. */
int target_attach(struct target *t, struct sandbox *sb, const struct stop *stop,
		  struct error *err);

/* Call after target_attach(). Stops the sandbox again if that started it, with
 * its previous expiry, so that it costs no more than before. Keeps it running
 * if another dcode uses it. Reported on stderr; a failure is a warning. */
void target_stop_again(const struct target *t, struct app *app);

/* ERR_USAGE if no dcode created the sandbox. stops: it is to be stopped,
 * otherwise deleted. */
int target_check_ours(struct target *t, bool stops, const struct stop *stop,
		      struct error *err);
/* ERR_USAGE if another dcode uses the sandbox and --force is not given. */
int target_check_unused(const struct target *t, const struct args *args,
			const char *verb, const char *name, struct error *err);

/* Prints a table cell without control characters, padded to width. */
void sandbox_cell(const char *text, int width);
/* Formats Unix seconds as local time, "2026-11-20 11:47", or "-". */
const char *sandbox_time(int64_t seconds, char room[20]);
const char *sandbox_state_name(enum sandbox_state state);

#endif
