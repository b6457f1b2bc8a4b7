/* status.h - the line below the editor: model, sandbox, directory, tokens. */
/* SPDX-License-Identifier: MIT */
#ifndef UI_STATUS_H
#define UI_STATUS_H

#include "base/error.h"
#include "term/rows.h"
#include "term/theme.h"

/* The parts that [ui] status_line orders. */
enum status_name {
	STATUS_MODE,
	STATUS_MODEL,
	STATUS_SANDBOX,
	STATUS_DIRECTORY,
	STATUS_BRANCH,
	STATUS_COST,
	STATUS_CONTEXT,
	STATUS_TOKENS,
	STATUS_NAMES,
};

/* Which parts are shown, from left to right. */
struct status_order {
	unsigned char names[STATUS_NAMES]; /* enum status_name */
	size_t n;
};

/* Reads names such as "model". -1 with err: a name is unknown, or occurs twice.
 * order is then unchanged. */
int status_order_read(struct status_order *order, const char *const *names,
		      size_t n, struct error *err);

struct status { /* texts are borrowed; a NULL text is left out */
	const char *model;
	const char *sandbox; /* "daytona 3f2a91c0", "this machine" */
	const char *state;   /* "stopped"; NULL: running */
	const char *keys;    /* mode of the keys: "vi normal" */
	const char *mode; /* approval mode: "manual", "manual (no questions)" */
	bool unasked;     /* in this mode no call is asked about: highlighted */
	const char *directory; /* "~/src/dcode" */
	const char *branch;    /* git branch of the directory */
	const char *cost;      /* cost of the run: "$0.42" */
	const char *hint;      /* shown in preference to everything else */
	int64_t left_s;        /* seconds until the sandbox ends; -1: unknown */
	int64_t context;       /* tokens of the last request and its answer */
	int64_t window; /* the model's context window in tokens; 0: unknown */
	int64_t input;  /* tokens of the thread, cached ones included */
	int64_t output;
	size_t queued;                    /* messages in the queue */
	const struct status_order *order; /* NULL: all, as in status_name */
};

/* Renders one row of at most columns cells. If not everything fits, parts are
 * first shortened (a model's provider, all but the last name of a directory,
 * the words around a number), then left out; the least important ones first. */
void status_render(const struct status *s, const struct theme *theme,
		   size_t columns, struct rows *out);

/* Returns in how many seconds the displayed remaining time changes; left_s is 0
 * or more. */
int64_t status_left_changes(int64_t left_s);

#endif
