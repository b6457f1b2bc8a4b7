/* transfer.h - --upload and --download around a run. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_SESSION_TRANSFER_H
#define CMD_SESSION_TRANSFER_H

#include "cmd/session/run.h"

/* Runs the uploads in order, before the setup script and the first request.
 * Stops at the first failure. But if an upload is refused because it would
 * replace a file, runs the others, then returns -1. */
int run_upload(struct run *r, struct sandbox *sb, const struct stop *stop,
	       struct error *err);
/* Runs the downloads after the last answer, while the sandbox still exists.
 * They have a time limit of their own, which is shorter after an interrupted
 * run. Tries all of them and prints each result on stderr. -1 if one is
 * incomplete. */
int run_download(struct run *r, struct error *err);
/* Appends the result of each transfer as a JSON array; nothing without
 * transfers. */
void run_transfers_json(const struct run *r, struct buf *out);
/* Implements /upload [--force] LOCAL [REMOTE] and /download [--force] REMOTE
 * [LOCAL] of the chat. */
void run_transfer_words(struct run *r, bool uploads, int n, char **words);

#endif
