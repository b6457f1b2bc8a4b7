/* output.h - writes to a stream that nobody may be reading. */
/* SPDX-License-Identifier: MIT */
#ifndef UI_OUTPUT_H
#define UI_OUTPUT_H

#include <stdio.h>

#include "base/stop.h"
#include "base/str.h"

/* Writes all of data. Once stop (NULL: never) has ended, a reader gets a second
 * to make room; then -1 with ECANCELED. -1 with errno for other failures. */
int output_write(int fd, struct str data, const struct stop *stop);

/* Until output_release() everything printed on stderr obeys stop too, and is
 * dropped once nobody took it in time. Where both streams are the same
 * terminal, pipe or file, what is printed there begins on a line of its own:
 * whoever writes to standard output says in mid_line whether it has ended its
 * line. One per process. */
struct output_guard {
	const struct stop *stop; /* or NULL */
	bool given_up;
	bool shared;           /* both streams are the same file */
	_Atomic bool mid_line; /* standard output's last line has no end */
	FILE *plain;           /* stderr as it was */
};
void output_guard(struct output_guard *g, const struct stop *stop);
void output_release(struct output_guard *g);

#endif
