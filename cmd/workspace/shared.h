/* shared.h - moves the base of a workspace: what both sides share. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_WORKSPACE_SHARED_H
#define CMD_WORKSPACE_SHARED_H

#include "workspace/workspace.h"

/* Makes commit the base of label, which may be another than w's, and its
 * listing that of this commit. Repeating it changes nothing. */
int shared_move(struct workspace *w, const char *label, const char *commit,
		const struct stop *stop, struct error *err);

#endif
