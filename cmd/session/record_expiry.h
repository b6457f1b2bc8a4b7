/* record_expiry.h - deletes the records of deleted sandboxes after a time. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_SESSION_RECORD_EXPIRY_H
#define CMD_SESSION_RECORD_EXPIRY_H

struct app;
struct stop;
struct workspace;

/* Deletes each LABEL.unsent (workspace.h) whose sandbox is gone, or that the
 * ledger does not know. What fails is tried again by the next one. */
void unsent_sweep(struct app *app);

/* Once a day for each tree, a few of them: takes away what is recorded of
 * sandboxes of w's tree that the ledger says are gone, whose work has come
 * back, and that were not used for patches_days: listings, lists, refs; work
 * that has not come back, after twelve times as long. Reads one directory when
 * it is due, else the time of a file. */
void records_sweep(struct app *app, const struct workspace *w);
/* Packs what dcode keeps of the tree here, where that is due: for half a minute
 * at most, and not after a signal. */
void records_pack(struct app *app);
/* Sweeps and packs what is kept of every tree, now. */
void records_tidy(struct app *app, const struct stop *stop);

#endif
