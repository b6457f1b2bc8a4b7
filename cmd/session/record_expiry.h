/* record_expiry.h - expires the records of deleted sandboxes. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_SESSION_RECORD_EXPIRY_H
#define CMD_SESSION_RECORD_EXPIRY_H

struct app;
struct stop;
struct workspace;

/* Deletes each LABEL.unsent (workspace.h), the list of files that were not
 * sent, whose sandbox is gone or unknown to the ledger. Ignores errors; the
 * next call tries again. */
void unsent_sweep(struct app *app);

/* At most once a day per tree: deletes the records (listings, lists, refs) of a
 * few sandboxes of w's tree. These sandboxes are gone according to the ledger,
 * their work was fetched, and they were not used for patches_days. Records of
 * work that was never fetched expire after twelve times as long. Costs one
 * stat() if not due, otherwise reads one directory. */
void records_sweep(struct app *app, const struct workspace *w);
/* If it is due, packs dcode's git repository for the current tree. Takes at
 * most half a minute. Does nothing after a signal. */
void records_pack(struct app *app);
/* Expires records and packs the repositories of all trees, whether due or
 * not. */
void records_tidy(struct app *app, const struct stop *stop);

#endif
