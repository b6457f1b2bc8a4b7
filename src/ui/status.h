/* status.h - the line below the editor: model, sandbox, place, tokens. */
/* SPDX-License-Identifier: MIT */
#ifndef UI_STATUS_H
#define UI_STATUS_H

#include "term/rows.h"
#include "term/theme.h"

struct status { /* texts are borrowed, or NULL: left out */
	const char *model;
	const char *sandbox;   /* "daytona 3f2a91c0", "this machine" */
	const char *state;     /* "stopped"; NULL: it runs */
	const char *mode;      /* what is asked about: "manual" */
	const char *directory; /* "~/src/dcode" */
	const char *branch;    /* of it */
	const char *cost;      /* of the run: "$0.42" */
	const char *hint;      /* takes precedence over all others */
	int64_t left_s;        /* until the sandbox ends; -1: not known */
	int64_t context;       /* tokens of the last request and its answer */
	int64_t window;        /* of the model; 0: not known */
	int64_t input;         /* tokens of the thread, the cached ones too */
	int64_t output;
	size_t queued; /* messages */
};

/* One row of at most columns cells. What does not fit is shortened first (a
 * model's provider, all but the last name of a directory, the words around a
 * number), then left out, what matters least first. */
void status_render(const struct status *s, const struct theme *theme,
		   size_t columns, struct rows *out);

/* When the text of left_s changes next, in seconds; left_s: 0 or more. */
int64_t status_left_changes(int64_t left_s);

#endif
