/* transfer.h - --upload and --download around a run. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_SESSION_TRANSFER_H
#define CMD_SESSION_TRANSFER_H

#include "cmd/session/run.h"

/* Before the setup script and the first request: the uploads, in their order,
 * to the first that fails; one that would replace a file is refused, which is
 * an error once the others are there. */
int run_upload(struct run *r, struct sandbox *sb, const struct stop *stop,
	       struct error *err);
/*
 * After the last answer, while the sandbox is there: the downloads, within a
 * time of their own, which is shorter once the run was interrupted. Each is
 * tried. -1 when one did not come whole; what happened to each is on stderr.
 */
int run_download(struct run *r, struct error *err);
/* What became of each, as a JSON array; nothing without transfers. */
void run_transfers_json(const struct run *r, struct buf *out);
/* /upload [--force] LOCAL [REMOTE], /download [--force] REMOTE [LOCAL] of the
 * chat. */
void run_transfer_words(struct run *r, bool uploads, int n, char **words);

#endif
