/* print.h - prints untrusted text without secrets and control characters. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_PRINT_H
#define CMD_PRINT_H

#include "cmd/app.h"
#include "term/theme.h"

/* Appends text as one line, without secrets and control characters. */
void print_add_line(const struct app *app, struct buf *out, const char *text);
/* Appends a name that a sandbox or repository has chosen, with secrets masked.
 * Attack: a name with invisible characters looks like another name. They are
 * shown as escapes. */
void print_add_name(const struct app *app, struct buf *out, const char *name);
/* Appends "key":"text" with secrets masked. If text is not UTF-8, also appends
 * "key_base64". */
void print_add_member(const struct app *app, struct buf *out, const char *key,
		      const char *text);
/* Prints a line on stderr. before and after are dcode's own text; text is
 * untrusted. */
void print_text(const struct app *app, const char *before, const char *text,
		const char *after);
/*
 * Prints a line on stderr with an untrusted name between before and after; see
 * print_add_name().
 */
void print_name(const struct app *app, const char *before, const char *name,
		const char *after);
/* Prints a line on stderr; arguments may be untrusted. Prints nothing with
 * -q. */
void print_line(const struct app *app, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Returns one of dcode's symbols, in ASCII if print_is_ascii(). */
const char *print_sign(const struct app *app, enum glyph sign);
/* True if [ui] glyphs is "ascii", or "auto" with a locale that is not UTF-8. */
bool print_is_ascii(const struct app *app);
/* Prints a line of progress on stderr without control characters. A check mark
 * at its start becomes ASCII if print_is_ascii(). */
void print_progress(const struct app *app, const char *line);

enum { PRINT_AGE = 24 };
/* Formats the time since ms (Unix ms) as "5m ago"; units s, m, h, d, mo, y. */
const char *print_age(int64_t ms, char room[PRINT_AGE]);

#endif
