/* wrote.h - what the tools of a run may have changed, as far as it is known. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_SESSION_WROTE_H
#define CMD_SESSION_WROTE_H

#include <stdbool.h>
#include <stddef.h>

enum { RUN_WROTE_NAMED = 5 };
struct run_wrote {
	bool any;      /* a tool was called that does not only read */
	bool commands; /* ... that runs commands */
	char *files[RUN_WROTE_NAMED]; /* owned: as the tools were told */
	size_t n;
	bool more; /* files than have room */
};

void run_wrote_release(struct run_wrote *w); /* run_wrote.c */

#endif
