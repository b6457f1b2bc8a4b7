/* shared.h - moves the base of a workspace: what both sides share. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_SESSION_SHARED_H
#define CMD_SESSION_SHARED_H

#include "workspace/workspace.h"

/*
 * The base of label, which may be another than w's, moves from one commit to
 * another, and its listing with it. Where another dcode has moved it from there
 * meanwhile, what that one changed stays, and the rest is added. Repeating it
 * changes nothing.
 */
int shared_move(struct workspace *w, const char *label, const char *from,
		const char *to, const struct stop *stop, struct error *err);

/* A branch does not move the base: theirs, whose work stands in a commit on one
 * now, is remembered. */
int shared_set_branched(const struct workspace *w, const char *theirs,
			const struct stop *stop, struct error *err);
/* Whether something stands there. */
bool shared_has_branched(const struct workspace *w, const struct stop *stop);
/* Whether it is all of theirs. */
bool shared_is_branched(const struct workspace *w, const char *theirs,
			const struct stop *stop);

#endif
