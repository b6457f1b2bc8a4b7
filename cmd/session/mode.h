/* mode.h - the approval modes: manual, auto-edit, plan, yolo. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_SESSION_MODE_H
#define CMD_SESSION_MODE_H

#include <stdbool.h>

/* Decides which calls on the user's own machine need approval. */
enum run_mode {
	RUN_MANUAL,    /* every call that may change something needs approval */
	RUN_AUTO_EDIT, /* as RUN_MANUAL, but edits of unprotected files in the
			  working directory need none */
	RUN_PLAN,      /* only tools that read: policy.c */
	RUN_YOLO,      /* no call needs approval, as with -y */
	N_RUN_MODES,
};

/* Returns "manual", "auto-edit", "plan" or "yolo". */
const char *mode_name(enum run_mode mode);
/* True if mode a allows more calls without a question than b. */
bool mode_allows_more(enum run_mode a, enum run_mode b);

#endif
