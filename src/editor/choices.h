/* choices.h - what a few typed letters choose: completion, and lists. */
/* SPDX-License-Identifier: MIT */
#ifndef EDITOR_CHOICES_H
#define EDITOR_CHOICES_H

/*
 * fuzzy_*() ranks items by typed letters. selection_list_*() is a list with a
 * filter above it, such as that of /model or of threads. complete_*() is the
 * popup below a draft that has a slash command, its argument or an @file
 * before the caret. Both draw rows and take keys; neither does any I/O: the
 * caller brings the items. Begin reading at complete_update().
 */
#include <stdbool.h>

#include "base/buf.h"
#include "editor/editor.h"
#include "term/keys.h"
#include "term/rows.h"

/* Something to choose; the texts are borrowed. */
struct fuzzy_item {
	struct str name;
	struct str alias;   /* other names, between blanks; may be empty */
	struct str args;    /* shown behind the name; neither is searched */
	struct str summary; /* shown beside */
};

/*
 * How well the letters, in their order but not side by side, are found in a
 * text: 0 not at all, more is better. Side by side, at the begin of words and
 * of the text they count more, and a short text more than a long one. Case is
 * ignored. Looks at the first 512 bytes.
 */
int fuzzy_score(struct str letters, struct str text);
/* Writes the indexes of the best items, at most max, and returns how many.
 * Equal ones, and all without letters, keep their order. */
size_t fuzzy_rank(struct str letters, const struct fuzzy_item *items, size_t n,
		  size_t *order, size_t max);

enum selection_result {
	SELECTION_NOTHING,
	SELECTION_CHANGED,   /* draw anew */
	SELECTION_CHOSEN,    /* Enter: selection_list_chosen() is it */
	SELECTION_CANCELLED, /* Esc, Ctrl+C */
};

enum { SELECTION_MAX = 1000, SELECTION_FILTER = 200 };

/* Zero-initialise, then selection_list_open(). */
struct selection_list {
	struct str title;               /* borrowed */
	const struct fuzzy_item *items; /* borrowed; SELECTION_MAX are seen */
	size_t n_items;
	struct buf filter;
	size_t order[SELECTION_MAX]; /* those that match, best first */
	size_t n;
	size_t selected; /* in order */
	size_t top;      /* the first one that is drawn */
	size_t page;     /* rows drawn last */
};

/* selected: the index of the item to begin at, or n. */
void selection_list_open(struct selection_list *l, struct str title,
			 const struct fuzzy_item *items, size_t n,
			 size_t selected);
/* Typed text filters; up, down, page up and down, home, end and Tab move. */
enum selection_result selection_list_event(struct selection_list *l,
					   const struct key_event *event);
/* The index of the chosen item. */
size_t selection_list_chosen(const struct selection_list *l);
/* Appends title, filter, the rows that fit into max_rows, and the keys; the
 * caret is in the filter. */
void selection_list_render(struct selection_list *l, size_t columns,
			   size_t max_rows, struct rows *rows,
			   size_t *caret_row, size_t *caret_column);
void selection_list_release(struct selection_list *l);

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
