/* complete.h - what a half-typed slash command or @file may become. */
/* SPDX-License-Identifier: MIT */
#ifndef EDITOR_COMPLETE_H
#define EDITOR_COMPLETE_H

#include <stdbool.h>

#include "editor/editor.h"
#include "editor/fuzzy.h"

enum {
	COMPLETE_ROWS = 10,
	COMPLETE_FILES = 20000,
	COMPLETE_BYTES = 4 << 20, /* of the names of files */
};

enum complete_kind {
	COMPLETE_NONE,
	COMPLETE_COMMAND,
	COMPLETE_FILE,
	COMPLETE_ARGUMENT, /* all that stands behind a command */
};

struct completer {
	/* Set by the caller, borrowed: the names with their slash. */
	const struct fuzzy_item *commands;
	size_t n_commands;
	/* Asks for the files; the answer is complete_set_files(), at once or
	 * when there is one. NULL: there are none. */
	void (*list_files)(void *context);
	/* Asks for what may stand behind a command ("/model"); the answer is
	 * complete_set_arguments(), or none. May be NULL. */
	void (*list_arguments)(void *context, struct str command);
	void *context;

	enum complete_kind kind; /* of what is shown */
	size_t token;            /* bytes of it before the caret */
	size_t order[COMPLETE_ROWS];
	size_t n;
	size_t selected;
	bool dismissed; /* by Esc, until another token is begun */
	bool asked;     /* for the files */
	bool moved;     /* up or down was pressed: Enter takes the choice */
	struct buf paths;
	struct fuzzy_item *files;
	size_t n_files;
	struct buf command; /* whose arguments were asked for */
	struct buf texts;   /* of them */
	struct fuzzy_item *arguments;
	size_t n_arguments;
};

/* Looks what stands before the caret: after each change of the draft. */
void complete_update(struct completer *c, struct editor *e);
/* The files that there are now, in place of those before: a path each, ended by
 * LF or NUL. What is more than the limits is dropped. Then complete_update().
 */
void complete_set_files(struct completer *c, struct str paths);
/* What may stand behind a command: a line each, the text to take, a tab, and
 * what is shown beside it. Then complete_update(). */
void complete_set_arguments(struct completer *c, struct str command,
			    struct str lines);
/* Forgets both, so that they are asked for when needed next. */
void complete_forget(struct completer *c);
/*
 * A key while something is shown: up and down choose, Tab and Enter take it
 * into the draft, Esc closes. False: the key is the editor's, also Enter after
 * a command that is typed in full, and behind one when nothing was chosen.
 */
bool complete_key(struct completer *c, struct editor *e, struct key key);
/* Appends a row for each choice, at most COMPLETE_ROWS, none when nothing is
 * shown. */
void complete_render(const struct completer *c, size_t columns, size_t max_rows,
		     struct rows *rows);
void complete_release(struct completer *c);

#endif
