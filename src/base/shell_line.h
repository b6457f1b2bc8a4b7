/* shell_line.h - the simple commands of a shell's command line. */
/* SPDX-License-Identifier: MIT */
#ifndef BASE_SHELL_LINE_H
#define BASE_SHELL_LINE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

enum {
	SHELL_WORDS_MAX = 256, /* words of one command */
};

struct shell_word {
	char *text; /* owned, without its quotes; NULL after the last word */
	/* no shell expands a "~" or "$HOME" at its start */
	bool literal;
	bool output;  /* the output of a command ("$(...)") is a part of it */
	bool expands; /* a variable is replaced in it */
	/* '<': the next word is the file of a redirection; 'h': the command's
	 * input is shell_words.here; 0: a word */
	char mark;
};

/* One simple command. Release with shell_words_release(). */
struct shell_words {
	struct shell_word list[SHELL_WORDS_MAX + 1];
	size_t n;
	char *here;  /* text that "<<" or "<<<" gives it as input; owned */
	bool pipe;   /* its input is the output of the command before */
	bool is_cut; /* it may have more words */
};

/* What separates two commands. */
enum shell_operator {
	SHELL_NONE,
	SHELL_NEXT, /* ";" or a new line; also before the first command */
	SHELL_AND,
	SHELL_OR,
	SHELL_PIPE,
	SHELL_BACKGROUND,
};

/* A command line that is being read. Set rest, and inner to a buffer with a
 * limit, which the caller releases. */
struct shell_line {
	struct str rest;
	struct buf inner;           /* the commands in each "$(...)" */
	enum shell_operator before; /* the command that was read last */
	int group;                  /* open parentheses there */
	int lowest;          /* the least of them since the command before it */
	bool closed;         /* one was closed since then */
	const char *here_at; /* the line end before the text of a "<<" */
	struct str here_rest; /* what is behind that text */
};

/* Reads the next simple command into w, which must be empty. It may have no
 * words. The line is at its end if rest is empty. Redirections of output are
 * left out. */
void shell_line_next(struct shell_line *l, struct shell_words *w);

/* Appends the commands of each "$(...)", "`...`" and "<(...)" in a text to
 * inner, one a line. */
void shell_line_add_inner(struct str text, struct buf *inner);

/* Takes ownership of the word's text. */
void shell_words_add(struct shell_words *w, struct shell_word word);
void shell_words_release(struct shell_words *w);

#endif
