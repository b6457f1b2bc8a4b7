/* record_expiry.h - expires the records of deleted sandboxes. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_SESSION_RECORD_EXPIRY_H
#define CMD_SESSION_RECORD_EXPIRY_H

struct app;
struct stop;
struct workspace;

/* Deletes each LABEL.unsent (workspace.h) whose sandbox is gone or unknown to
 * the ledger. Failures are retried by the next call. */
void unsent_sweep(struct app *app);

/* Once a day per tree, deletes the records (listings, lists, refs) of a few
 * sandboxes of w's tree that are gone according to the ledger, whose work was
 * fetched, and that were not used for patches_days. Records of unfetched work
 * expire after twelve times as long. Reads one directory if it is due;
 * otherwise costs one stat(). */
void records_sweep(struct app *app, const struct workspace *w);
/* Packs dcode's git repository for the current tree if that is due. Takes at
 * most half a minute; does nothing after a signal. */
void records_pack(struct app *app);
/* Sweeps and packs the records of every tree now. */
void records_tidy(struct app *app, const struct stop *stop);

#endif
