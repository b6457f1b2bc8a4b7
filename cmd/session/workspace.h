/* workspace.h - sends the user's tree into the sandbox of a run. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_SESSION_WORKSPACE_H
#define CMD_SESSION_WORKSPACE_H

#include "cmd/session/run.h"

struct app;

struct stop;

struct workspace;

/* Sends the user's tree into the sandbox, if --workspace or the user's answer
 * says so. If it was sent before, sends only what has changed. Calls decided
 * when the user has no question left. sb NULL: only asks what would be asked,
 * for a sandbox that is created later, and stores the answer. */
int run_workspace_fill(struct run *r, struct sandbox *sb,
		       void (*decided)(struct run *r), const struct stop *stop,
		       struct error *err);
/* For an unattended run whose sandbox starts empty: prints that, and how to
 * send the repository. Call before the first request. */
void run_workspace_remark(const struct run *r);
/* With --workspace repo: fails before the sandbox exists if the directory must
 * not be sent. */
int run_workspace_check(const struct run *r, struct error *err);

/* Deletes each LABEL.unsent (workspace.h), the list of files that were not
 * sent, whose sandbox is gone or unknown to the ledger. Ignores errors; the
 * next call tries again. */
void unsent_sweep(struct app *app);
/* If it is due, packs dcode's git repository for the current tree. Takes at
 * most half a minute. Does nothing after a signal. */
void records_pack(struct app *app);
/* Expires records and packs the repositories of all trees, whether due or
 * not. */
void records_tidy(struct app *app, const struct stop *stop);

#endif
