/* unsent.h - the records of sandboxes that are gone go some time after them. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_WORKSPACE_UNSENT_H
#define CMD_WORKSPACE_UNSENT_H

struct app;
struct workspace;

/* Deletes each LABEL.unsent (workspace.h) whose sandbox is gone, or that the
 * ledger does not know. What fails is tried again by the next one. */
void unsent_sweep(struct app *app);

/* Once a day for each tree, a few of them: takes away what is recorded of
 * sandboxes of w's tree that the ledger says are gone, whose work has come
 * back, and that were not used for patches_days: listings, lists, refs. Reads
 * one directory when it is due, else the time of a file. */
void records_sweep(struct app *app, const struct workspace *w);

#endif
