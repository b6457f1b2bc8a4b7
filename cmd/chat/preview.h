/* preview.h - what a call that is asked about would do to a file. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_CHAT_PREVIEW_H
#define CMD_CHAT_PREVIEW_H

#include "cmd/session/run.h"

/*
 * For a tool that writes a file: reads it where the tools run, in one round
 * trip, and sets a->change, or a->file_note where there is nothing to compare.
 * Neither where it cannot be read. -1 only when stop ended it.
 */
int preview_read(struct run *r, struct approval *a, const struct stop *stop,
		 struct error *err);

#endif
