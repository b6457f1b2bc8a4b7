/* replay.h - carries out a plan, or takes it back. */
/* SPDX-License-Identifier: MIT */
#ifndef APPLY_REPLAY_H
#define APPLY_REPLAY_H

#include "apply/plan.h"

struct replay {
	const struct apply_plan *plan;
	const char *dir; /* the journal's: before/ID, after/ID */
	int root;        /* the tree's, opened */
	bool back;       /* from after to before */
	/* What is neither stays as it is and is reported; NULL: it is an
	 * error, ERR_BUSY. */
	void (*left)(void *arg, const char *path);
	void *arg;
};

/* Removals first, then directories, then files. What is done already is fine
 * when going back. */
int replay_run(const struct replay *r, struct error *err);
/* After a crash, before anything else: what was left beside the files. */
int replay_clean(const struct replay *r, struct error *err);

#endif
