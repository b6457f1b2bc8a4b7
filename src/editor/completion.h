/* completion.h - choosing with a few typed letters; the popup below a draft. */
/* SPDX-License-Identifier: MIT */
#ifndef EDITOR_COMPLETION_H
#define EDITOR_COMPLETION_H

/*
 * fuzzy_*() ranks items by typed letters. complete_*() is the popup below a
 * draft with a slash command, its argument or an @file before the caret. It
 * draws rows and handles keys. It does no I/O: the caller supplies the items.
 * Begin reading at complete_update().
 */
#include <stdbool.h>

#include "base/buf.h"
#include "editor/editor.h"
#include "term/keys.h"
#include "term/rows.h"

/* An item of a list; the texts are borrowed. */
struct fuzzy_item {
	struct str name;
	struct str alias;   /* other names, separated by spaces; may be empty */
	struct str args;    /* shown after the name; not searched */
	struct str summary; /* shown next to the name; not searched */
	/* A command that opens a list if it has no argument. Its arguments,
	 * such as ids, are offered only once one is begun. */
	bool opens_list;
	/* A command that changes something: Enter completes it, and only
	 * another Enter sends it. */
	bool acts;
	unsigned recent; /* of files: the larger, the later it was chosen */
	/* The following are for lists with columns (struct list_view). */
	struct str cells; /* texts of the columns, each followed by a tab */
	/* Index into list_view.groups; the items are in this order. */
	unsigned group;
};

/*
 * Rates how well text contains the letters in their order, with gaps allowed.
 * Returns 0 if it does not contain them; a higher value is better. Adjacent
 * letters and letters at the beginning of a word or of the text score higher;
 * so does a short text. Ignores case. Only the first 512 bytes are examined.
 */
int fuzzy_score(struct str letters, struct str text);
/* Writes the indexes of the best items, at most max, and returns their number.
 * Items with equal scores keep their order; so do all items if letters is
 * empty. */
size_t fuzzy_rank(struct str letters, const struct fuzzy_item *items, size_t n,
		  size_t *order, size_t max);

enum {
	COMPLETE_ROWS = 10,
	COMPLETE_MATCHES = 60, /* best choices that can be selected */
	COMPLETE_FILES = 20000,
	COMPLETE_BYTES = 4 << 20, /* bytes of all file names */
	COMPLETE_RECENT = 20,     /* files whose choice is remembered */
};

enum complete_kind {
	COMPLETE_NONE,
	COMPLETE_COMMAND,
	COMPLETE_FILE,
	COMPLETE_ARGUMENT, /* an argument of a command */
	COMPLETE_PATH,     /* a file in the user's own command, "!cat src" */
};

struct completer {
	/* Set by the caller; borrowed. The names include the slash. */
	const struct fuzzy_item *commands;
	size_t n_commands;
	/* Requests the list of files; see also `ignored`. The caller answers
	 * with complete_set_files(), now or later. NULL: no files. */
	void (*list_files)(void *context);
	/* Requests the arguments of a command ("/model"). The caller may answer
	 * with complete_set_arguments(). May be NULL. */
	void (*list_arguments)(void *context, struct str command);
	void *context;

	enum complete_kind kind; /* kind of the choices shown */
	size_t token; /* length in bytes of the text before the caret that a
			 choice replaces */
	size_t order[COMPLETE_MATCHES];
	size_t n;
	size_t selected;
	bool dismissed; /* Esc was pressed; stays closed until another token
			   begins */
	bool asked;     /* the files were requested */
	bool listed;    /* complete_set_files() was called since */
	/* The requested list includes files that git ignores, because no other
	 * file matches the word. False again for the next word. */
	bool ignored;
	/* Tab has inserted the selected choice: Tab, Up and Down replace it. */
	bool cycles;
	bool moved; /* Up or Down was pressed, so Enter takes the choice */
	/* What the last Enter that complete_key() handled has done. */
	enum complete_enter {
		COMPLETE_TOOK,    /* inserted the choice */
		COMPLETE_UNKNOWN, /* nothing: no command matches */
		COMPLETE_SEVERAL, /* nothing: several commands match */
	} enter;
	struct buf paths;
	struct buf recent; /* files that were chosen, the newest last */
	struct fuzzy_item *files;
	size_t n_files;
	struct buf command; /* the command whose arguments were requested */
	struct buf texts;   /* texts of the arguments */
	struct fuzzy_item *arguments;
	size_t n_arguments;
};

/* Updates the choices from the text before the caret. Call after every change
 * of the draft. */
void complete_update(struct completer *c, struct editor *e);
/* Replaces the list of files: paths, each ended by LF or NUL, those of a
 * directory one after the other. Directories are added. Excess entries are
 * dropped. Call complete_update() afterwards. */
void complete_set_files(struct completer *c, struct str paths);
/* Sets the arguments of a command. Each line is the text to insert, a tab, and
 * a description. Call complete_update() afterwards. */
void complete_set_arguments(struct completer *c, struct str command,
			    struct str lines);
/* Discards files and arguments; they are requested again when needed. */
void complete_forget(struct completer *c);
/*
 * Handles a key while choices are shown: Up and Down select, Tab and Enter
 * insert the choice, Esc closes. Tab again replaces a file or an argument by
 * the next choice. Enter inserts a command only if Up or Down chose it, or if
 * no other one begins with what is typed; see completer.enter. Returns false if
 * the editor must handle the key. That includes Enter after a completely typed
 * command, after one that it has inserted and that only shows something, and
 * after an argument if Up and Down were not used.
 */
bool complete_key(struct completer *c, struct editor *e, struct key key);
/* True if the caret is behind a word that completion may change: a command, its
 * argument or "@path", even if no choice is known yet. */
bool complete_is_begun(struct editor *e);
/* Appends one row for each choice, at most COMPLETE_ROWS. If there are more, a
 * row says which are shown ("4-13 of 43"). No rows if no choices are shown. */
void complete_render(const struct completer *c, size_t columns, size_t max_rows,
		     struct rows *rows);
void complete_release(struct completer *c);

#endif
