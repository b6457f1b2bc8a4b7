/* obstacle.h - compares a plan with the tree, before anything is written. */
/* SPDX-License-Identifier: MIT */
#ifndef APPLY_OBSTACLE_H
#define APPLY_OBSTACLE_H

#include "apply/plan.h"

struct obstacle_report {
	/* Something at path that the merge has not seen is where the plan
	 * writes. */
	void (*blocked)(void *arg, const char *path);
	/* path is no longer as the merge has seen it. */
	void (*changed)(void *arg, const char *path);
	void *arg;
};

/*
 * Completes the plan: permissions and times of what is there, directories to
 * make and to drop. A change that is there already leaves the plan. perm: that
 * of a new program (0777 without the umask).
 */
int obstacle_check(struct apply_plan *p, int root, mode_t perm,
		   const struct obstacle_report *r, struct error *err);

/* The same for the directory at path alone, in whose place a file shall be:
 * all in it has to be removed by the plan. */
int obstacle_directory(struct apply_plan *p, int root, const char *path,
		       const struct obstacle_report *r, struct error *err);

#endif
