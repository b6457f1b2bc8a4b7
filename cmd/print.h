/* print.h - foreign text as it is shown: masked, and on one line. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_PRINT_H
#define CMD_PRINT_H

#include "cmd/app.h"

/* Appends it in one line, without secrets and control characters. */
void print_add_line(const struct app *app, struct buf *out, const char *text);
/* Appends "key":"text" without secrets. */
void print_add_member(const struct app *app, struct buf *out, const char *key,
		      const char *text);
/* A line on standard error: before and after are ours, text is foreign. */
void print_text(const struct app *app, const char *before, const char *text,
		const char *after);
/* A line on standard error of which any part may be foreign; nothing with
 * -q. */
void print_line(const struct app *app, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

#endif
