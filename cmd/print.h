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
enum { PRINT_NAMES_MOST = 50 };
/* Prints a line for each name, and the number of those above
 * PRINT_NAMES_MOST. */
void print_names(const struct app *app, char *const *names, size_t n,
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

/* A column of a table on stdout. */
struct print_column {
	const char *head;
	int width; /* in cells; the last column gets the rest of a terminal */
	/* A terminal that is too narrow leaves out the columns with the highest
	 * rank; never those of rank 0. */
	int rank;
	bool right; /* aligned on the right */
};

enum { PRINT_COLUMNS = 16 };

struct print_table {
	const struct app *app;
	const struct print_column *columns;
	size_t n;
	/* Between print_table_open() and print_table_head() the caller may
	 * change both. width 0: as wide as the text. */
	int width[PRINT_COLUMNS];
	bool shown[PRINT_COLUMNS];
};
/* Initialises a table of n columns, at most PRINT_COLUMNS; borrows them. */
void print_table_open(struct print_table *t, const struct app *app,
		      const struct print_column *columns, size_t n);
/* Chooses the columns that fit and prints their heads. */
void print_table_head(struct print_table *t);
/* Prints a cell, masked and cleaned, padded, or cut with an ellipsis. mark: a
 * text of dcode's own that stays at its end. The caller ends the row. */
void print_table_cell(const struct print_table *t, size_t column,
		      const char *text, const char *mark);
/* Prints a line of a list on stdout, its rows wrapped between words below its
 * own indent. */
void print_item(struct str line);

enum { PRINT_AGE = 24 };
/* Formats the time since ms (Unix ms) as "5m ago"; units s, m, h, d, mo, y. */
const char *print_age(int64_t ms, char room[PRINT_AGE]);

#endif
