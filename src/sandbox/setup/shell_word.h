/* shell_word.h - what one word of a command does to the next ones. */
/* SPDX-License-Identifier: MIT */
#ifndef SANDBOX_SETUP_SHELL_WORD_H
#define SANDBOX_SETUP_SHELL_WORD_H

#include <stdbool.h>

#include "base/buf.h"

enum expecting { /* what the words of the present command mean */
		 WORDS,
		 COMMAND,     /* assignments, then the command's name */
		 VALUES,      /* export: NAME=value assigns */
		 DECLARED,    /* local: a bare NAME as well */
		 TARGETS,     /* read: each NAME */
		 ONE_TARGET,  /* for: the next word, if a NAME */
		 SECOND_WORD, /* getopts: the word after the next */
		 PRINTF,      /* -v makes the next one a target */
};

struct word {
	struct str text; /* its unquoted beginning */
	struct str name; /* the NAME that text begins with, or empty */
	bool whole;      /* nothing follows text in this word */
	bool assignment; /* NAME=, NAME+= or NAME[...]= */
};
struct word_effect {
	enum expecting next;
	bool assigns;   /* word.name is assigned */
	bool skip_next; /* the next word is an option's value */
	int cases;      /* +1 for case, -1 for esac */
};
struct word_effect word_effect(enum expecting now, const struct word *w);
/* The longest [A-Za-z_][A-Za-z0-9_]* at the front of s. */
struct str name_prefix(struct str s);

#endif
