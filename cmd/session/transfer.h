/* transfer.h - --upload and --download around a run. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_SESSION_TRANSFER_H
#define CMD_SESSION_TRANSFER_H

#include "cmd/session/run.h"

/* Runs the uploads, in order, before the setup script and the first request.
 * Stops at the first failure. An upload that would replace a file is refused;
 * the others continue, then the run fails. */
int run_upload(struct run *r, struct sandbox *sb, const struct stop *stop,
	       struct error *err);
/* Runs the downloads after the last answer, while the sandbox exists. They have
 * their own time limit, which is shorter after an interruption. Each is tried
 * and reported on stderr. -1 if one is incomplete. */
int run_download(struct run *r, struct error *err);
/* Appends the result of each transfer as a JSON array; nothing without
 * transfers. */
void run_transfers_json(const struct run *r, struct buf *out);
/* Implements /upload [--force] LOCAL [REMOTE] and /download [--force] REMOTE
 * [LOCAL] of the chat. */
void run_transfer_words(struct run *r, bool uploads, int n, char **words);

#endif
