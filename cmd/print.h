/* print.h - foreign text as it is shown: masked, and on one line. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_PRINT_H
#define CMD_PRINT_H

#include "cmd/app.h"
#include "term/theme.h"

/* Appends it in one line, without secrets and control characters. */
void print_add_line(const struct app *app, struct buf *out, const char *text);
/* Appends a name that a sandbox or a repository chose: without secrets, and
 * nothing hidden, so that what looks like another name is seen. */
void print_add_name(const struct app *app, struct buf *out, const char *name);
/* Appends "key":"text" without secrets, and "key_base64" where that is no
 * UTF-8. */
void print_add_member(const struct app *app, struct buf *out, const char *key,
		      const char *text);
/* A line on standard error: before and after are ours, text is foreign. */
void print_text(const struct app *app, const char *before, const char *text,
		const char *after);
/* The same with a name in the middle. */
void print_name(const struct app *app, const char *before, const char *name,
		const char *after);
/* A line on standard error of which any part may be foreign; nothing with
 * -q. */
void print_line(const struct app *app, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* A sign of ours: in ASCII where [ui] glyphs says so. */
const char *print_sign(const struct app *app, enum glyph sign);
/* True where [ui] glyphs = "ascii". */
bool print_is_ascii(const struct app *app);
/* A line of progress on standard error, cleaned, with its sign as above. */
void print_progress(const struct app *app, const char *line);

enum { PRINT_AGE = 24 };
/* "5m ago" of a time in Unix ms; s, m, h, d, mo, y. */
const char *print_age(int64_t ms, char room[PRINT_AGE]);

#endif
