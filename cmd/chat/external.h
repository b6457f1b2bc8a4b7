/* external.h - the user's own programs, which take the terminal. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_CHAT_EXTERNAL_H
#define CMD_CHAT_EXTERNAL_H

#include "cmd/app.h"

enum { EXTERNAL_MOST = 64 << 20 /* bytes of a text that comes back */ };

struct external {
	struct app *app;
	int out, err; /* the terminal, for the program's output */
};

/* The words of program with the file behind them, as a shell reads them: "code
 * --wait". It starts in /: an editor or pager reads .exrc, .vimrc or
 * .lessfilter of the directory that it starts in. Its exit status, or -1.
 * Ctrl-C is the program's meanwhile. */
int external_run(const struct external *x, const char *program,
		 const char *file, struct error *err);
/* A file of the state directory, which is the user's alone. Owned name. */
char *external_file(struct app *app, const char *suffix, struct str text,
		    struct error *err);
/* text in $VISUAL, $EDITOR or vi; edited is what they leave. -1 also for a
 * status other than 0. */
int external_edit(const struct external *x, const char *suffix, struct str text,
		  struct buf *edited, struct error *err);
/* The same in place, for a text of which each byte counts: its last line is
 * ended only where it was before. False: it failed, which is said, or nothing
 * was changed. */
bool external_edit_text(const struct external *x, struct buf *text);

#endif
