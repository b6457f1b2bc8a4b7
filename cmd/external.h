/* external.h - runs the user's editor or pager in the terminal. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_EXTERNAL_H
#define CMD_EXTERNAL_H

#include "cmd/app.h"

enum { EXTERNAL_MOST = 64 << 20 /* bytes of an edited text, at most */ };

struct external {
	struct app *app;
	int out, err; /* the terminal's descriptors, for the program's output */
};

/* Runs program, split into words as a shell does ("code --wait"), with file as
 * last argument. Returns its exit status, or -1. The working directory is /,
 * since editors and pagers read .exrc, .vimrc or .lessfilter of the current
 * directory. Until the program exits, Ctrl-C goes to it. */
int external_run(const struct external *x, const char *program,
		 const char *file, struct error *err);
/* Writes text to a file in the state directory, which only the user can read.
 * Returns its name, which the caller owns; NULL with err. */
char *external_file(struct app *app, const char *suffix, struct str text,
		    struct error *err);
/* Opens text in $VISUAL, $EDITOR or vi and stores the result in edited. Also
 * returns -1 if the editor exits with a status other than 0. */
int external_edit(const struct external *x, const char *suffix, struct str text,
		  struct buf *edited, struct error *err);
/* Edits text in place and preserves every byte: the last line ends with a line
 * feed only if it did before. False: text is unchanged; a failure has been
 * printed. */
bool external_edit_text(const struct external *x, struct buf *text);

#endif
