/* target.h - finds the sandbox named on a command line. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_SESSION_TARGET_H
#define CMD_SESSION_TARGET_H

#include "cmd/app.h"
#include "cmd/args.h"
#include "lifecycle/lifecycle.h"

/* The sandbox that a command line names. */
struct target { /* initialise with { 0 } */
	struct sandbox_client client;
	bool open;           /* client is open and must be closed */
	struct store *store; /* borrowed */
	char *id;            /* owned; NULL if the ledger has no id for it */
	char label[16];      /* "" if it is not in the ledger */
	enum ledger_state state;
	int64_t pid;
	bool owner_runs; /* a dcode uses the sandbox; pid is its process id */
	char *note;      /* owned: note in the ledger; or NULL */
	bool held;       /* the user keeps the sandbox, and its time is not over
			  yet */
	int64_t ends;    /* Unix seconds: when it expires, as in struct
			  ledger_row */
};

/* Finds the sandbox name in the ledger, by label, short name, id, or unique
 * prefix. With --sandbox PROVIDER, an unknown name counts as an id of that
 * provider. Connects to the provider. ERR_NOT_FOUND with a hint. */
int target_open(struct target *t, struct app *app, const struct args *args,
		const char *name, struct error *err);
void target_close(struct target *t);
/* True if the ledger has a sandbox of that name, found as in target_open(). */
bool target_is_known(struct app *app, const char *name);
/* Attaches to the sandbox; starts it if it was stopped. Until dcode exits,
 * other dcode processes see it as in use. */
int target_attach(struct target *t, struct sandbox *sb, const struct stop *stop,
		  struct error *err);

/* Call after target_attach(). If that has started the sandbox, stops it again
 * with its previous expiry, so that it costs no more than before. If another
 * dcode uses it now, it keeps running. Prints on stderr what was done; a
 * failure is a warning. */
void target_stop_again(const struct target *t, struct app *app);

/* ERR_USAGE if the sandbox was not created by dcode. stops: the message is
 * about stopping it, otherwise about deleting it. */
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
